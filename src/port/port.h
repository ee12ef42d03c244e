/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * port.h - a packet endpoint behind one small interface. switch, the daemon and
 * every kind of port include it.
 *
 * Into the switch: a port that has frames calls port->input (set when it is
 * attached) with a burst. Out of the switch: port_ops.send, then one
 * port_ops.flush for all the sends of a turn. Frames stay where they are until
 * somebody took them: both directions answer with how many, in order.
 *
 * When a destination is full, send answers less than it was given. The source
 * keeps the rest (a guest's own ring backs up, as with a real NIC), waits for a
 * bounded time, and then offers them again with SEND_LOSSY and SEND_WAITED:
 * what still does not fit is dropped and counted by the destination. From then
 * on, until it makes progress, the destination drops at once, so that one stuck
 * guest never slows the others.
 */
#ifndef VIADUCT_PORT_PORT_H
#define VIADUCT_PORT_PORT_H

#include "net/frame.h"

#define SEND_LOSSY  1u /* take all; drop and count what does not fit */
#define SEND_WAITED 2u /* with it: the wait is over, what is full is stuck */

struct port;

struct port_ops {
	const char *kind; /* "guest", "tap", "stream", "pcap", "null" */
	/**
	 * send() - take frames in order, not necessarily visible yet
	 * Any worker's thread; the port locks what needs it, once a call.
	 * Return: frames taken (or dropped and counted), from the first.
	 */
	unsigned (*send)(struct port *p, struct frame *const *f, unsigned n,
	                 unsigned flags);
	/* Make what was sent visible and notify, once a turn. */
	void (*flush)(struct port *p);
	void (*close)(struct port *p);
};

/* Each has one writer: in_*, bad, policy and rate the switch, on the source
 * port's thread; the rest the port, in send(), under its own lock. */
struct port_counters {
	uint64_t in_frames, in_bytes;   /* from the port into the switch */
	uint64_t out_frames, out_bytes; /* to the port */
	uint64_t drop_full;             /* destination full for too long */
	uint64_t drop_down;             /* not connected, not started */
	uint64_t drop_bad;              /* malformed: header, length, runt */
	uint64_t drop_policy;           /* VLAN, isolation, spoofing, own MAC */
	uint64_t drop_rate;             /* rate and storm limits */
	uint64_t drop_offload;          /* could not be segmented or summed */
};

struct port {
	const struct port_ops *ops;
	const char *name;
	uint64_t wait_ns; /* for a full destination; 0: the usual (offer.h) */

	/* Set by the switch on attach. */
	unsigned (*input)(struct port *p, struct frame *const *f, unsigned n,
	                  unsigned flags);
	void *sw;          /* struct switch */
	unsigned sw_index; /* slot in the switch's port table */

	struct port_counters count;
};

#endif
