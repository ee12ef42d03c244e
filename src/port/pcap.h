/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcap.h - a port that writes what it is sent to a file, and sends what is in
 * another. The daemon includes it.
 *
 * The capture holds frames as they are on the switch: a super-frame is one
 * record, and a checksum that its sender left to do is not done. The replay
 * goes as fast as its destinations take it, once, and then the port is silent.
 */
#ifndef VIADUCT_PORT_PCAP_H
#define VIADUCT_PORT_PCAP_H

#include "base/loop.h"
#include "port/port.h"

struct pcap_port_opts {
	const char *name;
	const char *capture; /* file to write, NULL: none */
	const char *replay;  /* file to read, NULL: none */
	uint32_t snaplen;    /* bytes kept of a frame, 0: all */
};

/* Attach it before @l turns. Freed by its ops->close, on the loop's thread.
 * Errors as pcap_reader_open() and open() say them. */
struct port *pcap_port_new(struct loop *l, const struct pcap_port_opts *o,
                           int *err);

/* Was everything that was to be replayed sent? */
bool pcap_port_is_done(const struct port *p);

#endif
