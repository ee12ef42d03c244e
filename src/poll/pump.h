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
#include "poll/policy.h"

struct pump;

/* @q, whose device is set, must outlive the pump, which stands in q->pump.
 * Asleep until pump_start(). */
struct pump *pump_new(struct loop *l, struct vd_queue *q,
                      enum pump_policy policy, int *err);
void pump_free(struct pump *p);

/* vhost, under the queue's lock: the queue was started and has its kick
 * descriptor in q->kick_fd; look at what is there. / It stops. */
int pump_start(struct pump *p);
void pump_stop(struct pump *p);

/* A started queue has another descriptor in q->kick_fd (-1: poll the ring).
 * What came meanwhile is looked for. Call it before the old one is closed. */
int pump_set_kick(struct pump *p, int fd);

/* On demand: visited when the device asks, not for every kick. */
void pump_set_on_demand(struct pump *p, bool on_demand);

/* Visit soon. Loop thread only; others use loop_post(). */
void pump_wake(struct pump *p);

/* For on-demand queues: call queue_ready once when the driver makes more
 * available. The caller holds the queue's lock; any thread.
 * Return: true when there is more already and no kick will come. */
bool pump_wait_kick(struct pump *p);

#endif
