/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_device.c - the device end of a measurement.
 *
 * The child runs a loop with one back end a guest. The parent asks for counts
 * by writing to a pipe; the child's loop answers on another one. A child whose
 * parent is gone sees the pipe's end and leaves.
 */
#include "bench_device.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/order.h"
#include "port/guest.h"
#include "vhost/backend.h"

#define GUESTS_MAX 64u
#define WAIT_NS    UINT64_C(1000000000) /* nothing is dropped meanwhile */

struct bench_device {
	pid_t pid;
	int ask, answer;
	int fd[GUESTS_MAX];
};

/* In the child. */
struct side {
	struct bench_device_conf conf;
	struct loop *loop;
	struct loop_watch asked;
	struct loop_poller source;
	int answer;
	struct guest *guest[GUESTS_MAX];
	struct vhost_backend *back[GUESTS_MAX];
	struct frame frame[RING_BURST], *ptr[RING_BURST];
	struct seg seg[RING_BURST];
	uint64_t frames;
	unsigned next_size;
};

static struct side *side; /* of this process */

unsigned bench_mixed_size(unsigned i)
{
	static const unsigned size[] = { 66,  70, 594, 66, 78,  590,
		                         102, 66, 578, 70, 602, 1510 };

	return size[i % array_len(size)];
}

void bench_pin(int cpu)
{
	cpu_set_t set;

	if (cpu == BENCH_ANY_CPU)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* --- what is behind the ports ------------------------------------------- */

static unsigned on_input(struct port *p, struct frame *const *f, unsigned n,
                         unsigned flags)
{
	unsigned done = n;

	if (side->conf.role == BENCH_ECHO) {
		done = p->ops->send(p, f, n, flags);
		p->ops->flush(p);
	}
	side->frames += done;
	return done;
}

static void make_frame(struct frame *f, struct seg *behind, unsigned size)
{
	static uint8_t bytes[2048];

	*behind = (struct seg){ bytes, size - min_of(size, FRAME_HEAD) };
	*f = (struct frame){ .len = size,
		             .head_len = (uint8_t)min_of(size, FRAME_HEAD),
		             .head_at = FRAME_HEAD_ROOM,
		             .nseg = size > FRAME_HEAD,
		             .seg = behind };
	memset(f->room + FRAME_HEAD_ROOM, 0xff, 6);
	f->room[FRAME_HEAD_ROOM + 6] = 2;
	f->room[FRAME_HEAD_ROOM + 12] = 0x88;
	f->room[FRAME_HEAD_ROOM + 13] = 0xb5;
}

static bool on_source(struct loop_poller *poller)
{
	struct port *p = guest_port(side->guest[0]);

	(void)poller;
	for (unsigned i = 0; i < RING_BURST; i++)
		make_frame(&side->frame[i], &side->seg[i],
		           side->conf.size
		                   ? side->conf.size
		                   : bench_mixed_size(side->next_size++));
	side->frames += p->ops->send(p, side->ptr, RING_BURST, 0);
	p->ops->flush(p);
	return true;
}

/* --- counts ------------------------------------------------------------- */

static void add_queues(struct bench_device_count *c,
                       const struct vhost_backend *b)
{
	struct vhost_queue_info q;

	for (unsigned i = 0; i < 2; i++) {
		if (vhost_backend_queue_info((struct vhost_backend *)b, i, &q))
			continue;
		c->kicks += q.count.kicks;
		c->kicks_empty += q.count.kicks_empty;
		c->calls += q.count.calls;
		c->sleeps += q.count.sleeps;
	}
}

static void on_asked(struct loop_watch *w, uint32_t events)
{
	struct bench_device_count c = { .frames = side->frames };
	struct timespec ts;
	struct rusage ru;
	char byte;

	(void)events;
	if (read(w->fd, &byte, 1) != 1)
		_exit(0);
	for (unsigned i = 0; i < side->conf.guests; i++)
		add_queues(&c, side->back[i]);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	c.cpu_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	getrusage(RUSAGE_THREAD, &ru);
	c.wakeups = (uint64_t)ru.ru_nvcsw;
	if (write(side->answer, &c, sizeof(c)) != sizeof(c))
		_exit(1);
}

/* --- the child ---------------------------------------------------------- */

static int open_guest(unsigned i, int fd)
{
	struct guest_conf g = { .name = "bench",
		                .net = { .mac = { 2, 0, 0, 0, 1, (uint8_t)i },
		                         .pairs = 1 },
		                .wait_ns = WAIT_NS };
	struct vhost_backend_conf b = { .tag = "bench",
		                        .fd = fd,
		                        .policy = side->conf.policy };
	int err = 0;

	side->guest[i] = guest_new(&g, side->loop, &err);
	if (!side->guest[i])
		return err;
	guest_port(side->guest[i])->input = on_input;
	side->back[i] =
		vhost_backend_new(side->loop, guest_ops(side->guest[i]),
	                          guest_device(side->guest[i]), &b, &err);
	return side->back[i] ? 0 : err;
}

static int serve(const struct bench_device_conf *c, int ask, int *fd)
{
	int err = 0;

	bench_pin(c->cpu);
	side->loop = loop_new(&err);
	if (!side->loop)
		return err;
	for (unsigned i = 0; !err && i < c->guests; i++)
		err = open_guest(i, fd[i]);
	side->asked.fn = on_asked;
	if (!err)
		err = loop_watch_add(side->loop, &side->asked, ask, EPOLLIN);
	side->source.fn = on_source;
	if (!err && c->role == BENCH_SOURCE)
		loop_poller_add(side->loop, &side->source);
	return err ? err : loop_run(side->loop);
}

/* Never returns. */
static void child(const struct bench_device_conf *c, int ask, int answer,
                  int *fd)
{
	static struct side s;

	side = &s;
	s.conf = *c;
	s.answer = answer;
	for (unsigned i = 0; i < RING_BURST; i++)
		s.ptr[i] = &s.frame[i];
	signal(SIGPIPE, SIG_IGN);
	_exit(serve(c, ask, fd) ? 1 : 0);
}

/* --- the parent --------------------------------------------------------- */

static int open_sockets(struct bench_device *d, int *theirs, unsigned n)
{
	int pair[2];

	for (unsigned i = 0; i < n; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
			return -errno;
		d->fd[i] = pair[0];
		theirs[i] = pair[1];
	}
	return 0;
}

static int start(struct bench_device *d, const struct bench_device_conf *c,
                 int *theirs)
{
	int ask[2] = { -1, -1 }, answer[2] = { -1, -1 };
	int err = open_sockets(d, theirs, c->guests);

	if (!err && (pipe2(ask, O_CLOEXEC) || pipe2(answer, O_CLOEXEC)))
		err = -errno;
	d->ask = ask[1];
	d->answer = answer[0];
	if (!err) {
		fflush(NULL);
		d->pid = fork();
		err = d->pid < 0 ? -errno : 0;
	}
	if (!err && d->pid == 0) {
		fd_close(&ask[1]); /* so that it sees our end */
		for (unsigned i = 0; i < c->guests; i++)
			fd_close(&d->fd[i]);
		child(c, ask[0], answer[1], theirs);
	}
	fd_close(&ask[0]);
	fd_close(&answer[1]);
	for (unsigned i = 0; i < c->guests; i++)
		fd_close(&theirs[i]);
	return err;
}

struct bench_device *bench_device_start(const struct bench_device_conf *c,
                                        int *err)
{
	struct bench_device *d = calloc(1, sizeof(*d));
	int theirs[GUESTS_MAX];

	*err = -ENOMEM;
	if (!d)
		return NULL;
	for (unsigned i = 0; i < GUESTS_MAX; i++)
		d->fd[i] = theirs[i] = -1;
	d->ask = d->answer = -1;
	*err = c->guests > GUESTS_MAX ? -EINVAL : start(d, c, theirs);
	if (!*err)
		return d;
	bench_device_stop(d);
	return NULL;
}

int bench_device_fd(struct bench_device *d, unsigned guest)
{
	return fd_move(&d->fd[guest]);
}

void bench_device_stop(struct bench_device *d)
{
	if (!d)
		return;
	fd_close(&d->ask);
	if (d->pid > 0)
		waitpid(d->pid, NULL, 0);
	fd_close(&d->answer);
	for (unsigned i = 0; i < GUESTS_MAX; i++)
		fd_close(&d->fd[i]);
	free(d);
}

int bench_device_read(struct bench_device *d, struct bench_device_count *to)
{
	char byte = 0;

	if (write(d->ask, &byte, 1) != 1 ||
	    read(d->answer, to, sizeof(*to)) != sizeof(*to))
		return -EPIPE;
	return 0;
}
