/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop.c - one thread's event loop.
 *
 * A turn: pollers, then events, then posted work, then timers that are due.
 * It sleeps in epoll only when no poller wants to be called again. While one
 * does, the descriptors are looked at every few microseconds only, because a
 * look is a system call and a visit to a ring is none.
 *
 * Timers stand in a binary heap. Posted work comes through one list under a
 * lock and an eventfd that is written when the list was empty.
 */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/order.h"

#define EVENTS_A_ROUND 64
#define NS_A_MS        1000000u
#define NS_A_S         1000000000u
#define WAIT_NS_MOST   (3600 * (int64_t)NS_A_S)
#define PEEK_NS        8000u /* between looks at descriptors while polling */

struct post {
	void (*fn)(void *ctx);
	void *ctx;
	struct post *next;
};

struct loop {
	/* Loop thread. */
	int epoll_fd;
	uint64_t now_ns;
	uint64_t peeked_ns;
	struct loop_poller *pollers;
	struct loop_poller *poller_next; /* the one to call after this */
	bool busy; /* a poller wants the next turn at once */
	struct loop_timer **heap;
	unsigned ntimers, heap_room;
	struct epoll_event events[EVENTS_A_ROUND];
	int nevents, event_next;
	bool coarse; /* the system waits in milliseconds only */
	struct loop_watch alarm; /* a timerfd, for loop_fd() */

	/* Any thread. */
	struct loop_watch wake;
	le16 stopped;
	pthread_mutex_t lock; /* posts, last_post */
	struct post *posts;
	struct post **last_post;
};

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* --- watches ----------------------------------------------------------- */

int loop_watch_add(struct loop *l, struct loop_watch *w, int fd,
                   uint32_t events)
{
	struct epoll_event e = { .events = events, .data = { .ptr = w } };

	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &e))
		return -errno;
	w->fd = fd;
	w->loop = l;
	return 0;
}

int loop_watch_modify(struct loop_watch *w, uint32_t events)
{
	struct epoll_event e = { .events = events, .data = { .ptr = w } };

	if (!w->loop)
		return -ENOENT;
	if (epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_MOD, w->fd, &e))
		return -errno;
	return 0;
}

void loop_watch_remove(struct loop_watch *w)
{
	struct loop *l = w->loop;

	if (!l)
		return;
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	for (int i = l->event_next; i < l->nevents; i++) {
		if (l->events[i].data.ptr == w)
			l->events[i].data.ptr = NULL;
	}
	w->loop = NULL;
}

static void run_events(struct loop *l)
{
	while (l->event_next < l->nevents) {
		struct epoll_event e = l->events[l->event_next++];
		struct loop_watch *w = e.data.ptr;

		if (w)
			w->fn(w, e.events);
	}
	l->event_next = l->nevents = 0;
}

/* --- timers: a heap with the earliest first ------------------------------ */

static void heap_put(struct loop *l, unsigned slot, struct loop_timer *t)
{
	l->heap[slot] = t;
	t->slot = slot;
}

static void heap_rise(struct loop *l, unsigned slot, struct loop_timer *t)
{
	while (slot) {
		unsigned up = (slot - 1) / 2;

		if (l->heap[up]->at_ns <= t->at_ns)
			break;
		heap_put(l, slot, l->heap[up]);
		slot = up;
	}
	heap_put(l, slot, t);
}

static void heap_sink(struct loop *l, unsigned slot, struct loop_timer *t)
{
	for (;;) {
		unsigned down = 2 * slot + 1;

		if (down + 1 < l->ntimers &&
		    l->heap[down + 1]->at_ns < l->heap[down]->at_ns)
			down++;
		if (down >= l->ntimers || l->heap[down]->at_ns >= t->at_ns)
			break;
		heap_put(l, slot, l->heap[down]);
		slot = down;
	}
	heap_put(l, slot, t);
}

static int heap_grow(struct loop *l)
{
	unsigned room = l->heap_room ? 2 * l->heap_room : 16;
	struct loop_timer **heap;

	if (l->ntimers < l->heap_room)
		return 0;
	heap = realloc(l->heap, room * sizeof(struct loop_timer *));
	if (!heap)
		return -ENOMEM;
	l->heap = heap;
	l->heap_room = room;
	return 0;
}

int loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t delay_ns)
{
	int err;

	loop_timer_cancel(t);
	err = heap_grow(l);
	if (err)
		return err;
	t->loop = l;
	t->at_ns = clock_ns() + delay_ns;
	heap_rise(l, l->ntimers++, t);
	return 0;
}

void loop_timer_cancel(struct loop_timer *t)
{
	struct loop *l = t->loop;
	struct loop_timer *last;
	unsigned slot = t->slot;

	if (!t->at_ns)
		return;
	t->at_ns = 0;
	last = l->heap[--l->ntimers];
	if (last == t)
		return;
	if (slot && l->heap[(slot - 1) / 2]->at_ns > last->at_ns)
		heap_rise(l, slot, last);
	else
		heap_sink(l, slot, last);
}

/* One that sets itself again with no delay waits for the next turn. */
static void run_timers(struct loop *l)
{
	while (l->ntimers && l->heap[0]->at_ns <= l->now_ns) {
		struct loop_timer *t = l->heap[0];

		loop_timer_cancel(t);
		t->fn(t);
	}
}

/* --- pollers ----------------------------------------------------------- */

void loop_poller_add(struct loop *l, struct loop_poller *p)
{
	if (p->loop)
		return;
	p->loop = l;
	l->busy = true;
	p->prev = NULL;
	p->next = l->pollers;
	if (p->next)
		p->next->prev = p;
	l->pollers = p;
}

void loop_poller_remove(struct loop_poller *p)
{
	struct loop *l = p->loop;

	if (!l)
		return;
	if (l->poller_next == p)
		l->poller_next = p->next;
	if (p->prev)
		p->prev->next = p->next;
	else
		l->pollers = p->next;
	if (p->next)
		p->next->prev = p->prev;
	p->loop = NULL;
}

static void run_pollers(struct loop *l)
{
	bool again = false;

	l->busy = false;
	for (struct loop_poller *p = l->pollers; p; p = l->poller_next) {
		l->poller_next = p->next;
		again |= p->fn(p);
	}
	l->busy |= again && l->pollers;
}

bool loop_is_busy(const struct loop *l)
{
	return l->busy;
}

/* --- posted work ------------------------------------------------------- */

int loop_post(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	struct post *p = malloc(sizeof(*p));
	bool was_empty;

	if (!p)
		return -ENOMEM;
	*p = (struct post){ fn, ctx, NULL };
	pthread_mutex_lock(&l->lock);
	was_empty = !l->posts;
	*l->last_post = p;
	l->last_post = &p->next;
	pthread_mutex_unlock(&l->lock);
	if (was_empty)
		fd_event_signal(l->wake.fd);
	return 0;
}

static struct post *take_posts(struct loop *l)
{
	struct post *p;

	pthread_mutex_lock(&l->lock);
	p = l->posts;
	l->posts = NULL;
	l->last_post = &l->posts;
	pthread_mutex_unlock(&l->lock);
	return p;
}

static void on_wake(struct loop_watch *w, uint32_t events)
{
	struct loop *l = container_of(w, struct loop, wake);
	struct post *p, *next;

	(void)events;
	fd_event_drain(w->fd);
	for (p = take_posts(l); p; p = next) {
		next = p->next;
		p->fn(p->ctx);
		free(p);
	}
}

/* --- turns ------------------------------------------------------------- */

uint64_t loop_now_ns(struct loop *l)
{
	return l->now_ns;
}

/* How long may epoll wait? -1: for ever. */
static int64_t wait_ns(struct loop *l, int most_ms)
{
	int64_t most = most_ms < 0 ? WAIT_NS_MOST : most_ms * (int64_t)NS_A_MS;
	uint64_t ns;

	if (!l->ntimers)
		return most_ms < 0 ? -1 : most;
	if (l->heap[0]->at_ns <= l->now_ns)
		return 0;
	ns = l->heap[0]->at_ns - l->now_ns;
	return ns > (uint64_t)most ? most : (int64_t)ns;
}

/* To the nanosecond where the system can; where it cannot, rounded up, so that
 * a timer is never early. */
static int wait_events(struct loop *l, int64_t ns)
{
	struct timespec ts = { ns / NS_A_S, ns % NS_A_S };
	int n;

	if (!l->coarse) {
		n = epoll_pwait2(l->epoll_fd, l->events, EVENTS_A_ROUND,
		                 ns < 0 ? NULL : &ts, NULL);
		if (n >= 0 || (errno != ENOSYS && errno != EPERM))
			return n;
		l->coarse = true;
	}
	return epoll_wait(l->epoll_fd, l->events, EVENTS_A_ROUND,
	                  ns < 0 ? -1 : (int)((ns + NS_A_MS - 1) / NS_A_MS));
}

static void on_alarm(struct loop_watch *w, uint32_t events)
{
	(void)events;
	fd_event_drain(w->fd); /* what was due runs at the end of this turn */
}

int loop_fd(struct loop *l)
{
	int fd, err;

	if (l->alarm.loop)
		return l->epoll_fd;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	l->alarm.fn = on_alarm;
	err = loop_watch_add(l, &l->alarm, fd, EPOLLIN);
	if (err) {
		fd_close(&fd);
		return err;
	}
	fd_event_signal(l->wake.fd); /* the next turn sets it */
	return l->epoll_fd;
}

/* The other loop cannot see our timers and pollers: it sees descriptors. */
static void set_alarm(struct loop *l)
{
	uint64_t at = l->ntimers ? l->heap[0]->at_ns : 0;
	struct itimerspec when = {
		.it_value = { (time_t)(at / 1000000000u),
		              (long)(at % 1000000000u) },
	};

	timerfd_settime(l->alarm.fd, TFD_TIMER_ABSTIME, &when, NULL);
	if (l->busy)
		fd_event_signal(l->wake.fd);
}

int loop_turn(struct loop *l, int timeout_ms)
{
	int n;

	l->now_ns = clock_ns();
	run_pollers(l);
	if (l->busy && l->now_ns - l->peeked_ns < PEEK_NS)
		goto timers;
	n = wait_events(l, l->busy ? 0 : wait_ns(l, timeout_ms));
	if (n < 0 && errno != EINTR)
		return -errno;
	l->now_ns = l->peeked_ns = clock_ns();
	l->nevents = n < 0 ? 0 : n;
	run_events(l);
timers:
	run_timers(l);
	if (l->alarm.loop)
		set_alarm(l);
	return 0;
}

int loop_run(struct loop *l)
{
	int err = 0;

	while (!err && !ld16_acq(&l->stopped))
		err = loop_turn(l, -1);
	st16(&l->stopped, 0);
	return err;
}

void loop_stop(struct loop *l)
{
	st16_rel(&l->stopped, 1);
	fd_event_signal(l->wake.fd);
}

struct loop *loop_new(int *err)
{
	struct loop *l = calloc(1, sizeof(*l));
	int fd;

	*err = -ENOMEM;
	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	l->last_post = &l->posts;
	l->wake.fd = -1;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		*err = -errno;
		goto fail;
	}
	l->now_ns = clock_ns();
	fd = *err = fd_event_new();
	if (fd < 0)
		goto fail;
	l->wake.fn = on_wake;
	*err = loop_watch_add(l, &l->wake, fd, EPOLLIN);
	if (!*err)
		return l;
	fd_close(&fd);
fail:
	loop_free(l);
	return NULL;
}

/* What was posted and did not run is dropped. */
void loop_free(struct loop *l)
{
	struct post *p, *next;

	if (!l)
		return;
	for (p = take_posts(l); p; p = next) {
		next = p->next;
		free(p);
	}
	if (l->alarm.loop)
		fd_close(&l->alarm.fd);
	fd_close(&l->wake.fd);
	fd_close(&l->epoll_fd);
	pthread_mutex_destroy(&l->lock);
	free(l->heap);
	free(l);
}
