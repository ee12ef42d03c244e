/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pump.h - when a queue is looked at. vhost includes it and makes one for each
 * queue; devices include it for the two words at the end.
 *
 * A pump watches the kick descriptor, turns kicks off while it visits
 * (device_ops.queue_ready) again and again, and when the ring is empty asks for
 * kicks, looks once more [D] and sleeps. Policies: notify (sleep at once), poll
 * (never sleep), adaptive (docs/polling.md).
 *
 * A queue that the device fills instead of drains (net's receive ring) is
 * visited only when the device asked: pump_wait_kick().
 */
#ifndef VIADUCT_POLL_PUMP_H
#define VIADUCT_POLL_PUMP_H

#include "base/loop.h"
#include "poll/device.h"

enum pump_policy { PUMP_NOTIFY, PUMP_POLL, PUMP_ADAPTIVE };

struct pump;

/* @q must outlive the pump. Starts asleep: pump_wake() for what is there. */
struct pump *pump_new(struct loop *l, struct vd_queue *q,
                      const struct device_ops *ops, void *ctx,
                      enum pump_policy policy, int *err);
void pump_free(struct pump *p);

/* The queue has a new kick descriptor (-1: poll it). */
int pump_set_kick(struct pump *p, int fd);

/* On demand: visited when the device asks, not for every kick. */
void pump_set_on_demand(struct pump *p, bool on_demand);

/* Visit soon. Loop thread only; others use loop_post(). */
void pump_wake(struct pump *p);

/* For on-demand queues: call queue_ready once when the driver makes more
 * available. Return: true when there is more already and no kick will come. */
bool pump_wait_kick(struct pump *p);

#endif
