/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * state.h - what a driver is made of. Only driver includes it.
 */
#ifndef VIADUCT_DRIVER_STATE_H
#define VIADUCT_DRIVER_STATE_H

#include <sys/un.h>

#include "driver/ctrlq.h"
#include "driver/link.h"
#include "driver/recvq.h"
#include "driver/sendq.h"

/* Each pair belongs to one thread at a time. */
struct pair {
	struct recvq rx;
	struct sendq tx cache_aligned;
	uint64_t waits;
} cache_aligned;

struct vd_driver {
	/* Set by open, then read-only. */
	struct vd_driver_opts opts; /* its strings point to the two below */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
	char tag[32];
	struct arena arena;
	struct vring *vring; /* receive, transmit, receive ... control */
	struct pair *pair;
	unsigned npairs;
	bool has_control;

	/* Control thread. */
	struct link link;
	struct ctrlq ctrl;
	int listen_fd; /* opts.server; else -1 */
	unsigned active_pairs;
	bool connected;
	int gone_for_good; /* why no attempt is made any more, or 0 */
	unsigned pause_ms; /* before the next attempt */
	uint64_t next_try_ns;
	uint64_t reconnects;
	uint64_t config_seen;
};

/* connect.c: the life of the connection. */
int driver_connect(struct vd_driver *d);
void driver_disconnect(struct vd_driver *d);
int driver_service(struct vd_driver *d);
bool driver_has_hung_up(const struct vd_driver *d);
int driver_tell_pairs(struct vd_driver *d);

static inline unsigned driver_nvrings(const struct vd_driver *d)
{
	return d->npairs * 2 + d->has_control;
}

#endif
