/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.c - <viaduct/driver.h>: bursts and waiting, one pair at a time.
 *
 * With VD_CALLS_NAPI the device may interrupt only while somebody waits:
 * vd_driver_wait() asks, looks once more [D], sleeps in poll(), and takes the
 * wish back when it woke. Bursts in between cost no system call.
 */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "driver/clock.h"
#include "driver/state.h"

#define SERVICE_NS (10 * CLOCK_NS_PER_MS) /* while polling */
#define SPINS      64u                    /* between two looks at the clock */

int vd_driver_send(struct vd_driver *d, unsigned pair,
                   const struct vd_packet *p, unsigned n)
{
	if (unlikely(!d->connected))
		return -ENOTCONN;
	return sendq_burst(&d->pair[pair].tx, p, n);
}

int vd_driver_flush(struct vd_driver *d, unsigned pair)
{
	if (!d->connected)
		return -ENOTCONN;
	sendq_flush(&d->pair[pair].tx);
	return 0;
}

int vd_driver_pending(struct vd_driver *d, unsigned pair)
{
	struct sendq *t = &d->pair[pair].tx;
	int err;

	if (!d->connected)
		return -ENOTCONN;
	err = sendq_reap(t);
	return err ? err : (int)t->q.ring.outstanding;
}

int vd_driver_receive(struct vd_driver *d, unsigned pair, struct vd_packet *p,
                      unsigned n)
{
	if (unlikely(!d->connected))
		return -ENOTCONN;
	return recvq_burst(&d->pair[pair].rx, p, n);
}

void vd_driver_release(struct vd_driver *d, unsigned pair)
{
	if (d->connected)
		recvq_release(&d->pair[pair].rx);
}

/* --- waiting ----------------------------------------------------------- */

/* What of @what is there, or -EBADMSG. */
static int look(struct pair *p, unsigned what)
{
	unsigned there = 0;

	if (p->rx.q.ring.fault || p->tx.q.ring.fault)
		return -EBADMSG;
	if (what & VD_WAIT_RECEIVE && recvq_has_work(&p->rx))
		there |= VD_WAIT_RECEIVE;
	if (what & VD_WAIT_SEND) {
		if (!sendq_has_room(&p->tx))
			sendq_reap(&p->tx);
		if (sendq_has_room(&p->tx))
			there |= VD_WAIT_SEND;
	}
	return (int)there;
}

/* Ask for interrupts, then look once more. */
static int arm(struct pair *p, unsigned what)
{
	if (what & VD_WAIT_RECEIVE)
		drv_call_enable(&p->rx.q.ring, 1);
	if (what & VD_WAIT_SEND)
		drv_call_enable(&p->tx.q.ring, p->tx.q.ring.outstanding / 2);
	return look(p, what);
}

static void disarm(struct pair *p)
{
	if (p->rx.calls_always)
		return;
	drv_call_disable(&p->rx.q.ring);
	drv_call_disable(&p->tx.q.ring);
}

int vd_driver_arm(struct vd_driver *d, unsigned pair, unsigned what)
{
	struct pair *p = &d->pair[pair];
	int there;

	if (!d->connected)
		return -ENOTCONN;
	netq_drain_calls(&p->rx.q);
	netq_drain_calls(&p->tx.q);
	there = arm(p, what);
	if (there)
		disarm(p);
	return there;
}

int vd_driver_call_fd(const struct vd_driver *d, unsigned pair, unsigned what)
{
	const struct pair *p = &d->pair[pair];

	return what == VD_WAIT_SEND ? p->tx.q.vr->call_fd : p->rx.q.vr->call_fd;
}

/* Somebody looks after the connection: here, or when all threads are out. */
static int look_after(struct vd_driver *d)
{
	if (!d->opts.manual_service)
		return driver_service(d);
	return driver_has_hung_up(d) ? -ENOTCONN : 1;
}

/* Sleep until an interrupt, news from the device, or @ns. Negative: the device
 * is gone and manual_service leaves it at that. */
static int sleep_on(struct vd_driver *d, struct pair *p, uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u),
		              (long)(ns % 1000000000u) };
	struct pollfd f[] = {
		{ .fd = p->rx.q.vr->call_fd, .events = POLLIN },
		{ .fd = p->tx.q.vr->call_fd, .events = POLLIN },
		{ .fd = d->link.front.sock.fd, .events = POLLIN },
		{ .fd = d->opts.manual_service ? -1 : d->link.front.back_fd,
		  .events = POLLIN },
	};
	int err = 0;

	count_add(&p->waits, 1);
	if (ppoll(f, array_len(f), &t, NULL) <= 0)
		return 0;
	if (f[0].revents)
		netq_drain_calls(&p->rx.q);
	if (f[1].revents)
		netq_drain_calls(&p->tx.q);
	if (f[2].revents || f[3].revents)
		err = look_after(d);
	return d->opts.manual_service ? min_of(err, 0) : 0;
}

/* Nobody is there: wait for the next attempt. */
static void sleep_away(struct vd_driver *d, uint64_t ns)
{
	uint64_t now = clock_ns();
	uint64_t pause = d->next_try_ns > now ? d->next_try_ns - now : 0;

	if (d->gone_for_good)
		pause = ns;
	pause = min_of(max_of(pause, CLOCK_NS_PER_MS), ns);
	nanosleep(&(struct timespec){ (time_t)(pause / 1000000000u),
	                              (long)(pause % 1000000000u) },
	          NULL);
}

static int wait_once(struct vd_driver *d, struct pair *p, unsigned what,
                     uint64_t ns)
{
	uint64_t owed_ns;
	int there = arm(p, what);

	if (!there) {
		owed_ns = sendq_kick_when_due(&p->tx);
		if (owed_ns)
			ns = min_of(ns, owed_ns);
		there = sleep_on(d, p, ns);
		if (!d->connected)
			return 0;
		if (!there)
			there = look(p, what);
	}
	disarm(p);
	return there;
}

static int poll_for(struct vd_driver *d, struct pair *p, unsigned what,
                    uint64_t ns)
{
	uint64_t end = clock_ns() + min_of(ns, SERVICE_NS);
	int there;

	do {
		for (unsigned i = 0; i < SPINS; i++) {
			there = look(p, what);
			if (there)
				return there;
			cpu_relax();
		}
		sendq_kick_when_due(&p->tx);
	} while (clock_ns() < end);
	there = look_after(d);
	return d->opts.manual_service ? min_of(there, 0) : 0;
}

int vd_driver_wait(struct vd_driver *d, unsigned pair, unsigned what,
                   int timeout_ms)
{
	struct pair *p = &d->pair[pair];
	uint64_t end = timeout_ms < 0 ? UINT64_MAX
	                              : clock_ns() + (uint64_t)timeout_ms *
	                                                     CLOCK_NS_PER_MS;
	int there;

	for (;;) {
		uint64_t now;

		there = d->connected ? look(p, what) : 0;
		if (there)
			return there;
		if (!d->connected && d->opts.manual_service)
			return -ENOTCONN;
		now = clock_ns();
		if (now >= end)
			break;
		if (!d->connected)
			sleep_away(d, end - now);
		else if (p->tx.policy.calls == VD_CALLS_NEVER)
			there = poll_for(d, p, what, end - now);
		else
			there = wait_once(d, p, what, end - now);
		if (there)
			return there;
		if (!d->connected && driver_service(d) < 0 && d->gone_for_good)
			break;
	}
	return d->connected ? 0 : -ENOTCONN;
}
