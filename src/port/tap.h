/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tap.h - the host's network as a port: a tap interface, by name or given. The
 * daemon includes it.
 *
 * Frames come and go with a virtio header of 12 bytes: what the kernel or a
 * guest left undone (checksums, segmentation) passes through undone.
 */
#ifndef VIADUCT_PORT_TAP_H
#define VIADUCT_PORT_TAP_H

#include "base/loop.h"
#include "port/port.h"

struct tap_port_opts {
	const char *name;
	const char *ifname; /* made when there is none; or NULL and ... */
	int fd;             /* an open tap, with IFF_VNET_HDR; it moves */
	unsigned mtu;       /* 0: as it is */
	bool plain;         /* no io_uring */
};

/* Attach it before @l turns. Freed by its ops->close, on the loop's thread.
 * -EPROTOTYPE: the descriptor is no tap with IFF_VNET_HDR. */
struct port *tap_port_new(struct loop *l, const struct tap_port_opts *o,
                          int *err);

const char *tap_port_ifname(const struct port *p);
/* Does it read and write through io_uring? */
bool tap_port_is_batched(const struct port *p);

#endif
