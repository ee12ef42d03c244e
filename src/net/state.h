/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * state.h - what a network device is made of. Only device.c and ctrl.c include
 * it.
 */
#ifndef VIADUCT_NET_STATE_H
#define VIADUCT_NET_STATE_H

#include "net/ctrl.h"
#include "net/device.h"
#include "net/steer.h"

struct net_device {
	/* Set before start, then read-only. */
	struct device_ops ops;
	struct net_conf conf;
	struct net_events events;

	/* Loop thread. */
	struct virtio_net_config config;
	uint64_t features; /* negotiated */
	uint64_t started;  /* bit i: the receive queue of pair i */
	uint64_t enabled;
	struct rx_settings set;
	struct net_ctrl ctrl;

	/* See steer.h, rx.h, tx.h. */
	struct steer steer;
	struct net_rx *rx; /* conf.pairs of each */
	struct net_tx *tx;
};

/* d->set or the pairs in use changed: tell every receive queue. */
void device_apply(struct net_device *d);

#endif
