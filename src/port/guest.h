/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guest.h - the port of a guest: a virtio network device on a switch. The
 * daemon, tests and benchmarks include it.
 *
 * The daemon gives guest_ops() and guest_device() to vhost, guest_port() to the
 * switch.
 */
#ifndef VIADUCT_PORT_GUEST_H
#define VIADUCT_PORT_GUEST_H

#include "base/loop.h"
#include "net/device.h"
#include "port/port.h"

#define GUEST_WAIT_NS 1000000u /* what wait_ns 0 stands for */

struct guest_conf {
	const char *name; /* lives as long as the port */
	struct net_conf net;
	uint64_t wait_ns; /* how long a full destination holds us up */
};

struct guest;

/* @l: the loop of the session that serves the guest. NULL and @err. */
struct guest *guest_new(const struct guest_conf *c, struct loop *l, int *err);

/* After the session and the switch have let go of it. NULL is fine. */
void guest_free(struct guest *g);

struct port *guest_port(struct guest *g);
struct net_device *guest_device(struct guest *g);
const struct device_ops *guest_ops(struct guest *g);

#endif
