/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - frames over a stream socket, each behind its length: what QEMU's
 * "-netdev stream" and passt speak. The daemon includes it.
 *
 * The length is 4 bytes, big-endian. There are no headers, so nothing is left
 * undone for the peer: checksums and segmentation are done here. One peer at a
 * time; when it goes, the next may come, or we look for it again, for ever.
 */
#ifndef VIADUCT_PORT_STREAM_H
#define VIADUCT_PORT_STREAM_H

#include "base/endpoint.h"
#include "base/loop.h"
#include "port/port.h"

struct stream_port_opts {
	const char *name;
	struct endpoint at;
	struct endpoint_owner owner; /* of the socket file, server only */
	bool client;
};

/* Attach it before @l turns. Freed by its ops->close, on the loop's thread. */
struct port *stream_port_new(struct loop *l, const struct stream_port_opts *o,
                             int *err);

/* Has it a peer? Any thread. */
bool stream_port_is_connected(const struct port *p);

#endif
