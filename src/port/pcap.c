/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcap.c - a port that writes what it is sent to a file, and sends what is in
 * another.
 *
 * Replay: a poller reads a burst into an arena and offers it to the switch
 * (offer.h). It polls only until the file is at its end.
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
#include "port/offer.h"
#include "port/pcapfile.h"

#define ARENA     (4u * FRAME_LEN_MAX)
#define NS_SECOND 1000000000ull

struct pcap_port;

struct replay {
	struct pcap_port *owner;
	struct pcap_reader reader;
	struct loop *loop;
	struct loop_poller poller;
	bool polled, done;

	struct offer offer;
	struct frame frame[OFFER_BURST];
	struct seg seg[OFFER_BURST];
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

/* Read the next burst. Returns its frames, 0 at the end. */
static unsigned replay_fill(struct pcap_port *p, struct replay *r)
{
	uint32_t used = 0;
	unsigned n = 0;
	int len = 0;

	while (n < OFFER_BURST && ARENA - used >= FRAME_LEN_MAX) {
		len = pcap_reader_next(&r->reader, r->arena + used,
		                       FRAME_LEN_MAX);
		if (len <= 0)
			break;
		offer_frame_init(&r->frame[n], &r->seg[n], r->arena + used,
		                 (uint32_t)len);
		used += (uint32_t)len;
		r->offer.frame[n] = &r->frame[n];
		n++;
	}
	if (len < 0)
		log_warn(p->name, "replay ended early, the file is damaged");
	return n;
}

/* One burst. False: it waits, or that was all. */
static bool replay_step(struct pcap_port *p, struct replay *r)
{
	unsigned n = replay_fill(p, r);

	if (n)
		return offer_put(&r->offer, n);
	log_info(p->name, "replay done frames=%llu",
	         (unsigned long long)p->port.count.in_frames);
	r->done = true;
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

static void replay_resumed(struct offer *o)
{
	replay_poll_set(container_of(o, struct replay, offer), true);
}

static void replay_free(struct replay *r)
{
	if (!r)
		return;
	replay_poll_set(r, false);
	offer_fini(&r->offer);
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
	offer_init(&r->offer, &p->port, l, replay_resumed);
	p->replay = r;
	replay_poll_set(r, true);
	return 0;
}

static int capture_open(struct pcap_port *p, const char *path)
{
	/* A pipe is not waited for: neither for a reader nor for a slow one. */
	int fd = open(path,
	              O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK,
	              0600);
	int err;

	if (fd < 0)
		return -errno;
	p->file = fdopen(fd, "wb");
	if (!p->file) {
		err = -errno;
		close(fd);
		return err;
	}
	err = pcap_write_header(p->file, p->snaplen);
	return err || fflush(p->file) ? -EIO : 0;
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
