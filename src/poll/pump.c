/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pump.c - when a queue is looked at.
 *
 *            kick, pump_wake                 the ring is empty
 *   ASLEEP ------------------> AWAKE -----------------------------> ASLEEP
 *      ^                        |  ^      kicks asked for, looked
 *      |                        |  |      once more [D]
 *      |   QUEUE_STALLED        v  | pump_wake
 *      +--- broken, stopped    STALLED
 *
 * An awake pump is a poller of the loop: each turn of the loop is one bounded
 * visit to each, so queues take turns. Kicks are refused while it is awake, and
 * one that comes nevertheless is emptied and forgotten: a visit follows.
 *
 * Adaptive: while it has paid lately (policy.h), an empty ring is looked at
 * for as long as a sleep and a wake-up cost before sleeping; else the pump
 * sleeps at once. A silent queue costs nothing.
 *
 * A front end that gives no kick descriptor is polled; when nothing comes, in
 * steps of a millisecond.
 */
#include "poll/pump.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "base/order.h"
#include "poll/cost.h"

#define NAP_NS       1000000u /* between looks at a silent ring without kicks */
#define EMPTY_EVENTS 16u      /* a descriptor that cries wolf is let go */

enum pump_state { ASLEEP, AWAKE, STALLED };

struct pump {
	struct loop *loop;
	struct vd_queue *q;
	const struct device_ops *ops;
	void *ctx;
	enum pump_policy policy;

	/* Loop thread. */
	struct loop_watch watch;
	struct loop_poller poller;
	struct loop_timer nap;
	enum pump_state state;
	bool running;   /* between pump_start and pump_stop */
	bool on_demand; /* set before traffic */
	bool kicked;    /* no visit since the kick */
	bool fresh;     /* first visit since it woke */
	unsigned empty_events;
	struct policy expect;

	/* Under the queue's lock. */
	bool waiting; /* on demand: a kick is awaited */
};

/* --- falling asleep and waking up --------------------------------------- */

static void kicks_refuse(struct pump *p)
{
	vd_queue_lock(p->q);
	if (p->q->started)
		ring_kick_disable_any(&p->q->ring);
	vd_queue_unlock(p->q);
}

/* Ask for kicks and look again: true when there is nothing, sleep now. */
static bool kicks_ask(struct pump *p)
{
	bool more = false;

	vd_queue_lock(p->q);
	if (queue_is_visitable(p->q)) {
		more = ring_kick_enable_any(&p->q->ring);
		if (more)
			ring_kick_disable_any(&p->q->ring);
	}
	vd_queue_unlock(p->q);
	return !more;
}

static void set_state(struct pump *p, enum pump_state s)
{
	if (s == AWAKE)
		loop_poller_add(p->loop, &p->poller);
	else
		loop_poller_remove(&p->poller);
	p->state = s;
}

void pump_wake(struct pump *p)
{
	loop_timer_cancel(&p->nap);
	if (!p->running || p->state == AWAKE)
		return;
	p->fresh = true;
	set_state(p, AWAKE);
}

static bool may_sleep(const struct pump *p)
{
	return p->policy != PUMP_POLL && p->q->kick_fd >= 0;
}

static bool go_to_sleep(struct pump *p)
{
	if (may_sleep(p) && !kicks_ask(p))
		return true;
	count_add(&p->q->ring.count.sleeps, 1);
	policy_sleeps(&p->expect);
	set_state(p, ASLEEP);
	if (!may_sleep(p))
		loop_timer_set(p->loop, &p->nap, NAP_NS);
	return false;
}

/* --- visits ------------------------------------------------------------- */

static void note_find(struct pump *p)
{
	policy_found(&p->expect, loop_now_ns(p->loop));
	count_add(&p->q->ring.count.polls_hit, 1);
}

static bool found_nothing(struct pump *p)
{
	count_add(&p->q->ring.count.polls_miss, 1);
	if (p->kicked)
		count_add(&p->q->ring.count.kicks_empty, 1);
	p->kicked = false;
	if (!policy_look_on(&p->expect, loop_now_ns(p->loop)))
		return go_to_sleep(p);
	cpu_relax();
	return true;
}

/* On demand: one visit a wake-up; the device says when it wants another. */
static bool visit_once(struct pump *p)
{
	int n;

	set_state(p, ASLEEP);
	n = p->ops->queue_ready(p->ctx, p->q);
	if (n == -EBADMSG) {
		vd_queue_lock(p->q);
		queue_fault_report(p->q);
		vd_queue_unlock(p->q);
	}
	return false;
}

static bool visit(struct loop_poller *poller)
{
	struct pump *p = container_of(poller, struct pump, poller);
	int n;

	if (p->on_demand)
		return visit_once(p);
	if (p->fresh)
		kicks_refuse(p);
	p->fresh = false;
	n = p->ops->queue_ready(p->ctx, p->q);
	if (!p->running) /* stopped from inside */
		return false;
	if (n > 0) {
		p->kicked = false;
		note_find(p);
		return true;
	}
	if (n == 0)
		return found_nothing(p);
	if (n == -EBADMSG)
		queue_fault_report(p->q);
	set_state(p, n == QUEUE_STALLED ? STALLED : ASLEEP);
	return false;
}

/* --- kicks -------------------------------------------------------------- */

/* Was one awaited? Then refuse more until the device waits again. */
static bool demand_take(struct pump *p)
{
	bool was;

	vd_queue_lock(p->q);
	was = p->waiting && queue_is_visitable(p->q);
	p->waiting = false;
	if (was)
		ring_kick_disable_any(&p->q->ring);
	vd_queue_unlock(p->q);
	return was;
}

/* A stalled queue waits for its device, a broken one for a new start. */
static bool can_go_on(const struct pump *p)
{
	return p->state == ASLEEP && !p->q->ring.fault;
}

static void on_kick(struct loop_watch *w, uint32_t events)
{
	struct pump *p = container_of(w, struct pump, watch);

	(void)events;
	if (queue_kick_drain(p->q)) {
		p->empty_events = 0;
		p->kicked = true;
	} else if (++p->empty_events == EMPTY_EVENTS) {
		log_warn(p->q->device->tag,
		         "kick descriptor is ready for ever queue=%u",
		         p->q->index);
		loop_watch_remove(w);
	}
	if (p->on_demand ? demand_take(p) : can_go_on(p))
		pump_wake(p);
}

static void on_nap_over(struct loop_timer *t)
{
	pump_wake(container_of(t, struct pump, nap));
}

bool pump_wait_kick(struct pump *p)
{
	if (!queue_is_visitable(p->q))
		return false;
	if (ring_kick_enable_any(&p->q->ring)) {
		ring_kick_disable_any(&p->q->ring);
		return true;
	}
	p->waiting = true;
	return false;
}

int pump_set_kick(struct pump *p, int fd)
{
	int err = 0;

	loop_watch_remove(&p->watch);
	p->empty_events = 0;
	/* A ring without kicks is polled, whatever was said. */
	p->expect.kind =
		fd < 0 && p->policy == PUMP_NOTIFY ? PUMP_ADAPTIVE : p->policy;
	if (fd >= 0)
		err = loop_watch_add(p->loop, &p->watch, fd, EPOLLIN);
	return err;
}

void pump_set_on_demand(struct pump *p, bool on_demand)
{
	p->on_demand = on_demand;
}

/* --- life --------------------------------------------------------------- */

int pump_start(struct pump *p)
{
	int err;

	policy_init(&p->expect, p->policy, cost_of_sleep_ns());
	err = pump_set_kick(p, p->q->kick_fd);
	if (err)
		return err;
	ring_kick_disable_any(&p->q->ring);
	p->running = true;
	p->kicked = false;
	pump_wake(p);
	return 0;
}

void pump_stop(struct pump *p)
{
	p->running = p->waiting = false;
	loop_watch_remove(&p->watch);
	loop_timer_cancel(&p->nap);
	set_state(p, ASLEEP);
}

struct pump *pump_new(struct loop *l, struct vd_queue *q,
                      enum pump_policy policy, int *err)
{
	struct pump *p = calloc(1, sizeof(*p));

	*err = p ? 0 : -ENOMEM;
	if (!p)
		return NULL;
	p->loop = l;
	p->q = q;
	p->ops = q->device->ops;
	p->ctx = q->device->ctx;
	p->policy = policy;
	cost_of_sleep_ns(); /* measured before there is traffic */
	p->watch.fn = on_kick;
	p->poller.fn = visit;
	p->nap.fn = on_nap_over;
	q->pump = p;
	return p;
}

void pump_free(struct pump *p)
{
	if (!p)
		return;
	pump_stop(p);
	p->q->pump = NULL;
	free(p);
}
