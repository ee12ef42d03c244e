/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vswitch.h - a network: where a frame that came from one port goes. The daemon
 * includes it.
 *
 * Ports may run on different workers. A port's frames come in on its own
 * worker's thread; they go out of any port from there. Between workers there is
 * the table of ports (pointers, replaced whole), the table of stations
 * (mactable.h) and the destination's lock, which it takes itself.
 *
 * A port that is detached may be in use by another worker until that worker has
 * finished its turn: whoever detaches waits for one turn of every loop before
 * he closes the port.
 */
#ifndef VIADUCT_SWITCH_VSWITCH_H
#define VIADUCT_SWITCH_VSWITCH_H

#include "base/loop.h"
#include "port/port.h"
#include "switch/mactable.h"
#include "switch/vlan.h"

#define VSWITCH_PORTS 256u /* ports of one switch */
#define VSWITCH_ALLOW 16u  /* addresses that one port may be limited to */
#define VSWITCH_AGE_S 300u
#define VSWITCH_BURST 64u

struct vswitch;

struct vswitch_port_opts {
	struct vlan_port vlan;
	bool isolated;         /* exchanges nothing with other isolated ports */
	uint64_t rate_bits;    /* a second, from the port; 0: no limit */
	uint64_t rate_frames;  /* likewise; a super-frame counts its segments */
	uint64_t storm_frames; /* likewise, of frames that are flooded */
	unsigned nallow;       /* 0: any source address */
	uint8_t allow[VSWITCH_ALLOW][6];
};

void vswitch_port_opts_init(struct vswitch_port_opts *o); /* as it comes */

/* @age_s: how long a station is remembered that says nothing. */
struct vswitch *vswitch_new(uint32_t age_s, int *err);
/* Every port was detached. */
void vswitch_free(struct vswitch *sw);

/**
 * vswitch_attach() - frames of @p go into @sw and frames of others to @p
 * @l: the loop of the worker that calls p->input; its thread, or not running
 * Return: 0; -ENOSPC all places taken; -ENOMEM
 */
int vswitch_attach(struct vswitch *sw, struct port *p, struct loop *l,
                   const struct vswitch_port_opts *opts);

/* On the thread of the port's worker. From now on no frame enters from @p, and
 * after a turn of every loop none goes out of it: then vswitch_forget(). */
void vswitch_detach(struct vswitch *sw, struct port *p);

/* After a turn of every loop: the place of @p is free again. */
void vswitch_forget(struct vswitch *sw, struct port *p);

/* The stations, each with the name of its port. Any thread, with no attach or
 * detach at the same time. */
void vswitch_walk(struct vswitch *sw, uint32_t now_s,
                  void (*fn)(void *ctx, const struct mac_entry *e,
                             const char *port),
                  void *ctx);

#endif
