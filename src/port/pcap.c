/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcap.c - a port that writes what it is sent to a file, and sends what is in
 * another.
 *
 * Replay: a poller reads a burst into an arena and offers it; what a full
 * destination leaves is offered again a millisecond later, and a hundred times
 * at most before it is lost.
 */
#include "port/pcap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/order.h"
#include "port/pcapfile.h"

#define BURST     32u
#define ARENA     (4u * FRAME_LEN_MAX)
#define RETRY_NS  1000000u
#define PATIENCE  100u
#define NS_SECOND 1000000000ull

struct pcap_port;

struct replay {
	struct pcap_port *owner;
	struct pcap_reader reader;
	struct loop *loop;
	struct loop_poller poller;
	struct loop_timer timer;
	bool polled, done;

	unsigned n, at; /* frames of the burst, those that were taken */
	unsigned tries;
	struct frame frame[BURST];
	struct frame *frames[BURST];
	struct seg seg[BURST];
	uint8_t arena[ARENA];
};

struct pcap_port {
	struct port port;
	char *name;
	struct replay *replay;

	pthread_mutex_t lock; /* what is below, and the counters of sending */
	FILE *file;
	uint32_t snaplen;
};

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * NS_SECOND + (uint64_t)t.tv_nsec;
}

/* The disk is full, or the reader of a pipe went away: once. */
static void capture_end(struct pcap_port *p)
{
	log_error(p->name, "capture ended, the file cannot be written");
	fclose(p->file);
	p->file = NULL;
}

static unsigned capture(struct pcap_port *p, struct frame *const *f, unsigned n)
{
	uint64_t now = wall_ns(), bytes = 0;
	unsigned i = 0;

	for (; p->file && i < n; i++) {
		if (pcap_write_frame(p->file, f[i], p->snaplen, now)) {
			capture_end(p);
			break;
		}
		bytes += f[i]->len;
	}
	count_add(&p->port.count.out_frames, i);
	count_add(&p->port.count.out_bytes, bytes);
	return i;
}

static unsigned pcap_send(struct port *port, struct frame *const *f, unsigned n,
                          unsigned flags)
{
	struct pcap_port *p = container_of(port, struct pcap_port, port);
	unsigned done;

	(void)flags;
	pthread_mutex_lock(&p->lock);
	done = capture(p, f, n);
	count_add(&port->count.drop_down, n - done);
	pthread_mutex_unlock(&p->lock);
	return n;
}

static void pcap_flush(struct port *port)
{
	struct pcap_port *p = container_of(port, struct pcap_port, port);

	pthread_mutex_lock(&p->lock);
	if (p->file && fflush(p->file))
		capture_end(p);
	pthread_mutex_unlock(&p->lock);
}

/* Read the next burst. False: there is none. */
static bool replay_fill(struct pcap_port *p, struct replay *r)
{
	uint32_t used = 0;
	int len = 0;

	r->n = r->at = r->tries = 0;
	while (r->n < BURST && ARENA - used >= FRAME_LEN_MAX) {
		struct frame *f = &r->frame[r->n];
		uint8_t *b = r->arena + used;

		len = pcap_reader_next(&r->reader, b, FRAME_LEN_MAX);
		if (len <= 0)
			break;
		*f = (struct frame){ .len = (uint32_t)len,
			             .head_at = FRAME_HEAD_ROOM,
			             .nseg = 1,
			             .seg = &r->seg[r->n] };
		f->head_len = (uint8_t)min_of(f->len, FRAME_HEAD);
		memcpy(f->room + f->head_at, b, f->head_len);
		r->seg[r->n] =
			(struct seg){ b + f->head_len, f->len - f->head_len };
		used += f->len;
		r->frames[r->n++] = f;
	}
	if (len < 0)
		log_warn(p->name, "replay ended early, the file is damaged");
	return r->n;
}

static bool replay_step(struct pcap_port *p, struct replay *r)
{
	unsigned flags = r->tries >= PATIENCE ? SEND_LOSSY : 0;

	if (r->at == r->n && !replay_fill(p, r)) {
		log_info(p->name, "replay done frames=%llu",
		         (unsigned long long)p->port.count.in_frames);
		r->done = true;
		return false;
	}
	r->at +=
		p->port.input(&p->port, r->frames + r->at, r->n - r->at, flags);
	if (r->at == r->n)
		return true;
	r->tries++;
	loop_timer_set(r->loop, &r->timer, RETRY_NS);
	return false;
}

static void replay_poll_set(struct replay *r, bool on)
{
	if (on && !r->polled)
		loop_poller_add(r->loop, &r->poller);
	if (!on && r->polled)
		loop_poller_remove(&r->poller);
	r->polled = on;
}

static bool replay_poll(struct loop_poller *poller)
{
	struct replay *r = container_of(poller, struct replay, poller);

	if (replay_step(r->owner, r))
		return true;
	replay_poll_set(r, false);
	return false;
}

static void replay_again(struct loop_timer *timer)
{
	replay_poll_set(container_of(timer, struct replay, timer), true);
}

static void replay_free(struct replay *r)
{
	if (!r)
		return;
	replay_poll_set(r, false);
	loop_timer_cancel(&r->timer);
	pcap_reader_close(&r->reader);
	free(r);
}

static int replay_new(struct pcap_port *p, struct loop *l, const char *path)
{
	struct replay *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	err = pcap_reader_open(&r->reader, path);
	if (err) {
		free(r);
		return err;
	}
	r->owner = p;
	r->loop = l;
	r->poller.fn = replay_poll;
	r->timer.fn = replay_again;
	p->replay = r;
	replay_poll_set(r, true);
	return 0;
}

static int capture_open(struct pcap_port *p, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int err;

	if (fd < 0)
		return -errno;
	p->file = fdopen(fd, "wb");
	if (!p->file) {
		err = -errno;
		close(fd);
		return err;
	}
	return pcap_write_header(p->file, p->snaplen);
}

static void pcap_close(struct port *port)
{
	struct pcap_port *p = container_of(port, struct pcap_port, port);

	replay_free(p->replay);
	if (p->file)
		fclose(p->file);
	pthread_mutex_destroy(&p->lock);
	free(p->name);
	free(p);
}

static const struct port_ops pcap_ops = { "pcap", pcap_send, pcap_flush,
	                                  pcap_close };

struct port *pcap_port_new(struct loop *l, const struct pcap_port_opts *o,
                           int *err)
{
	struct pcap_port *p = calloc(1, sizeof(*p));

	*err = -ENOMEM;
	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	p->snaplen = o->snaplen ? o->snaplen : PCAP_SNAPLEN;
	p->port.ops = &pcap_ops;
	p->name = strdup(o->name);
	p->port.name = p->name;
	if (p->name)
		*err = 0;
	if (!*err && o->capture)
		*err = capture_open(p, o->capture);
	if (!*err && o->replay)
		*err = replay_new(p, l, o->replay);
	if (!*err)
		return &p->port;
	pcap_close(&p->port);
	return NULL;
}

bool pcap_port_is_done(const struct port *port)
{
	const struct pcap_port *p =
		container_of(port, const struct pcap_port, port);

	return !p->replay || p->replay->done;
}
