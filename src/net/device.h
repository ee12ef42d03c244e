/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.h - a virtio network device: queues, features, configuration. The
 * guest port includes it and binds it to the rest of the world; vhost knows it
 * as device_ops.
 *
 * Vrings: 0 receive, 1 transmit, 2 receive, 3 transmit ... and behind the last
 * pair the control queue, when the front end leaves it to us. tx is the
 * guest's transmit, rx the guest's receive.
 *
 * All functions are called on the loop thread of the device's session, except
 * net_send() and net_flush(): any thread.
 *
 * Spec: virtio 1.3, 5.1 Network Device.
 */
#ifndef VIADUCT_NET_DEVICE_H
#define VIADUCT_NET_DEVICE_H

#include "net/rx.h"
#include "net/tx.h"
#include "poll/device.h"

#define NET_PAIRS_MAX 64u

struct net_conf {
	uint8_t mac[6];        /* all zero: the driver makes one up */
	uint16_t mtu;          /* 0: not said */
	unsigned pairs;        /* 1 .. NET_PAIRS_MAX */
	uint64_t features_off; /* not offered */
};

/* What the device asks of the port that it is bound to. */
struct net_events {
	void *ctx;
	net_input *input;
	net_dropped *dropped;
	/* A transmit queue stops: forget its stall. */
	void (*tx_stopped)(void *ctx, struct net_tx *tx);
	/* The guest was moved: say where it is now. */
	void (*announce)(void *ctx, struct frame *f);
};

struct net_device;

struct net_device *net_device_new(const struct net_conf *c,
                                  const struct net_events *e, int *err);
void net_device_free(struct net_device *d);

/* For vhost; the context is the device. Lives as long as the device. */
const struct device_ops *net_device_ops(const struct net_device *d);

/**
 * net_send() - write frames to the guest, not visible before net_flush()
 * Return: how many are done with, from the first: written or dropped.
 */
unsigned net_send(struct net_device *d, struct frame *const *f, unsigned n,
                  unsigned flags, struct rx_result *result);
void net_flush(struct net_device *d);

#endif
