/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * echo.h - a network device that sends every packet back on the pair it came
 * from, served by our back end in a thread of its own. The tests of the driver
 * end include it.
 *
 * It uses as many receive buffers as a packet needs (one only, without
 * mergeable buffers) and gives a packet back before the next one. A packet that
 * finds no room is counted, not kept.
 */
#ifndef VIADUCT_TESTS_ECHO_H
#define VIADUCT_TESTS_ECHO_H

#include <pthread.h>

#include "base/loop.h"
#include "vhost/backend.h"
#include "wire/net.h"

#define ECHO_PAIRS 4u

struct echo {
	struct device_ops ops;
	struct loop *loop;
	struct vhost_backend *b;
	pthread_t thread;
	uint64_t features;
	struct vd_queue *queue[2 * ECHO_PAIRS];
	uint64_t packets, no_room; /* read them after echo_stop() */
};

/* Serve @path. @features: to offer. */
void echo_start(struct echo *e, const char *path, uint64_t features,
                enum pump_policy policy);
void echo_stop(struct echo *e);

#endif
