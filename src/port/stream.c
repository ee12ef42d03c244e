/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.c - frames over a stream socket, each behind its length.
 *
 * The way of a frame, switch to peer:         peer to switch:
 *	stream_send    any worker, under the       conn_ready   readable
 *	               lock                         in_read     what there is
 *	 out_frame     done in software if need be  in_parse    whole frames are
 *	  out_append   length and bytes, copied                 offered where
 *	stream_flush   written in one piece                     they lie
 *
 * The socket belongs to the loop's thread. Senders write to it under the lock
 * only; the one who finds it full asks for an event when it is not, and until
 * then frames gather in the buffer, and after that in their senders' rings.
 */
#include "port/stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/order.h"
#include "net/segment.h"
#include "port/offer.h"

#define LEN_BYTES    4u
#define IN_BYTES     (4u * (LEN_BYTES + FRAME_LEN_MAX))
#define OUT_BYTES    (4u * (LEN_BYTES + FRAME_LEN_MAX))
#define READ_ROUNDS  4u
#define RETRY_MIN_NS 50000000ull   /* first try to connect again */
#define RETRY_MAX_NS 2000000000ull /* and never less often than this */

struct stream_port {
	struct port port;
	char *name;
	struct endpoint at;
	bool client;

	/* The loop's thread. */
	struct loop *loop;
	struct loop_watch listener; /* fd -1: none */
	struct loop_watch conn;
	struct loop_timer retry;
	uint64_t retry_ns;
	bool said; /* that the peer cannot be reached */
	bool connecting;
	struct offer offer;
	uint32_t in_at, in_end;
	uint8_t *in;
	struct frame frame[OFFER_BURST];
	struct seg seg[OFFER_BURST];

	pthread_mutex_t lock; /* what is below, and counters of sending */
	int fd;               /* of the peer, -1: none; changed by the loop */
	bool stuffed;         /* its socket was full: an event will come */
	bool reading;         /* we want to know when there is something */
	uint32_t out_at, out_end;
	uint8_t *out;
	struct segmenter segmenter;
};

/* Under the lock: ask for the events that are wanted now. */
static void conn_ask(struct stream_port *p)
{
	loop_watch_modify(&p->conn, (p->reading ? EPOLLIN : 0u) |
	                                    (p->stuffed ? EPOLLOUT : 0u));
}

static void conn_ask_reading(struct stream_port *p, bool on)
{
	pthread_mutex_lock(&p->lock);
	p->reading = on;
	conn_ask(p);
	pthread_mutex_unlock(&p->lock);
}

/* --- switch to peer, under the lock -------------------------------------- */

/* Write what gathered. */
static void out_write(struct stream_port *p)
{
	ssize_t n;

	while (p->out_at < p->out_end && !p->stuffed) {
		n = send(p->fd, p->out + p->out_at, p->out_end - p->out_at,
		         MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n >= 0) {
			p->out_at += (uint32_t)n;
		} else if (errno == EAGAIN || errno == ENOBUFS) {
			p->stuffed = true;
			conn_ask(p);
		} else if (errno != EINTR) {
			/* The peer is gone: the reader will see it. */
			p->out_at = p->out_end;
		}
	}
	if (p->out_at == p->out_end)
		p->out_at = p->out_end = 0;
}

/* Make room for @n bytes at the end of what gathered. */
static bool out_reserve(struct stream_port *p, uint32_t n)
{
	if (OUT_BYTES - p->out_end >= n)
		return true;
	if (OUT_BYTES - (p->out_end - p->out_at) < n)
		return false;
	memmove(p->out, p->out + p->out_at, p->out_end - p->out_at);
	p->out_end -= p->out_at;
	p->out_at = 0;
	return true;
}

static bool out_append(struct stream_port *p, const struct frame *f)
{
	uint8_t *to;

	if (!out_reserve(p, LEN_BYTES + f->len))
		return false;
	to = p->out + p->out_end;
	for (unsigned i = 0; i < LEN_BYTES; i++)
		to[i] = (uint8_t)(f->len >> (24 - 8 * i));
	frame_copy(f, 0, f->len, to + LEN_BYTES);
	p->out_end += LEN_BYTES + f->len;
	return true;
}

/* All pieces of a frame or none. Returns how many, 0: no room. */
static unsigned out_pieces(struct stream_port *p)
{
	uint32_t gathered = p->out_end - p->out_at;
	const struct frame *piece;
	unsigned n = 0;

	for (; (piece = segment_next(&p->segmenter)); n++) {
		if (!out_append(p, piece)) {
			p->out_end = p->out_at + gathered;
			return 0;
		}
	}
	return n;
}

/* False: no room now. A frame that cannot be finished is done too. */
static bool out_frame(struct stream_port *p, const struct frame *f)
{
	struct port_counters *c = &p->port.count;
	unsigned n;

	if (!segment_needed(f, 0)) {
		if (!out_append(p, f))
			return false;
		count_add(&c->out_frames, 1);
		count_add(&c->out_bytes, f->len);
		return true;
	}
	if (segment_start(&p->segmenter, f, 0) < 0) {
		count_add(&c->drop_offload, 1);
		return true;
	}
	n = out_pieces(p);
	if (n) {
		count_add(&c->out_frames, n);
		count_add(&c->out_bytes, f->len);
		return true;
	}
	if (p->out_end)
		return false;
	count_add(&c->drop_offload, 1); /* cut so fine that it never fits */
	return true;
}

static unsigned send_locked(struct stream_port *p, struct frame *const *f,
                            unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (out_frame(p, f[i]))
			continue;
		out_write(p);
		if (!out_frame(p, f[i]))
			return i;
	}
	return n;
}

static unsigned stream_send(struct port *port, struct frame *const *f,
                            unsigned n, unsigned flags)
{
	struct stream_port *p = container_of(port, struct stream_port, port);
	unsigned done = n;

	pthread_mutex_lock(&p->lock);
	if (p->fd < 0) {
		count_add(&port->count.drop_down, n);
	} else {
		done = send_locked(p, f, n);
		if (flags & SEND_LOSSY) {
			count_add(&port->count.drop_full, n - done);
			done = n;
		}
	}
	pthread_mutex_unlock(&p->lock);
	return done;
}

static void stream_flush(struct port *port)
{
	struct stream_port *p = container_of(port, struct stream_port, port);

	pthread_mutex_lock(&p->lock);
	if (p->fd >= 0)
		out_write(p);
	pthread_mutex_unlock(&p->lock);
}

/* --- peers come and go --------------------------------------------------- */

static void listener_ask(struct stream_port *p, bool on)
{
	if (p->listener.loop)
		loop_watch_modify(&p->listener, on ? EPOLLIN : 0);
}

/* Try again, less and less often. */
static void retry_later(struct stream_port *p)
{
	loop_timer_set(p->loop, &p->retry, p->retry_ns);
	p->retry_ns = min_of(2 * p->retry_ns, RETRY_MAX_NS);
}

static void conn_close(struct stream_port *p)
{
	pthread_mutex_lock(&p->lock);
	loop_watch_remove(&p->conn);
	fd_close(&p->fd);
	p->out_at = p->out_end = 0;
	p->stuffed = false;
	pthread_mutex_unlock(&p->lock);
	offer_fini(&p->offer);
	p->in_at = p->in_end = 0;
}

/* The peer went away, or spoke nonsense. */
static void conn_lost(struct stream_port *p, const char *why)
{
	log_info(p->name, "peer gone, %s", why);
	conn_close(p);
	listener_ask(p, true);
	if (p->client)
		retry_later(p);
}

static void conn_use(struct stream_port *p, int fd)
{
	p->connecting = false;
	p->said = false;
	p->retry_ns = RETRY_MIN_NS;
	pthread_mutex_lock(&p->lock);
	p->fd = fd;
	p->reading = true;
	conn_ask(p);
	pthread_mutex_unlock(&p->lock);
	log_info(p->name, "peer connected");
}

/* --- peer to switch ------------------------------------------------------ */

static uint32_t in_length(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	       (uint32_t)b[2] << 8 | b[3];
}

/* Whole frames that were read, as many as make a burst. Negative: nonsense. */
static int in_burst(struct stream_port *p)
{
	uint32_t len;
	int n = 0;

	while (n < (int)OFFER_BURST && p->in_end - p->in_at >= LEN_BYTES) {
		len = in_length(p->in + p->in_at);
		if (!len || len > FRAME_LEN_MAX)
			return n ? n : -EPROTO;
		if (p->in_end - p->in_at < LEN_BYTES + len)
			break;
		offer_frame_init(&p->frame[n], &p->seg[n],
		                 p->in + p->in_at + LEN_BYTES, len);
		p->offer.frame[n] = &p->frame[n];
		p->in_at += LEN_BYTES + len;
		n++;
	}
	return n;
}

/* Offer whole frames. False: they wait, or the peer is gone. */
static bool in_parse(struct stream_port *p)
{
	int n;

	while ((n = in_burst(p)) > 0) {
		if (!offer_put(&p->offer, (unsigned)n)) {
			conn_ask_reading(p, false);
			return false;
		}
	}
	if (n < 0) {
		conn_lost(p, "it sent a frame of impossible length");
		return false;
	}
	memmove(p->in, p->in + p->in_at, p->in_end - p->in_at);
	p->in_end -= p->in_at;
	p->in_at = 0;
	return true;
}

/* False: there is no more, or nobody to read from. */
static bool in_read(struct stream_port *p)
{
	ssize_t n = recv(p->fd, p->in + p->in_end, IN_BYTES - p->in_end, 0);

	if (n > 0) {
		p->in_end += (uint32_t)n;
		return in_parse(p);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	conn_lost(p, n ? "the connection broke" : "it closed the connection");
	return false;
}

static void stream_resumed(struct offer *o)
{
	struct stream_port *p = container_of(o, struct stream_port, offer);

	if (in_parse(p))
		conn_ask_reading(p, true);
}

/* --- events -------------------------------------------------------------- */

static void connect_done(struct stream_port *p)
{
	int fd = p->conn.fd, err = endpoint_connected(fd);

	if (err == -EINPROGRESS)
		return;
	if (!err) {
		conn_use(p, fd);
		return;
	}
	if (!p->said)
		log_info(p->name, "peer not there, trying on: %s",
		         strerror(-err));
	p->said = true;
	p->connecting = false;
	loop_watch_remove(&p->conn);
	fd_close(&fd);
	retry_later(p);
}

static void conn_ready(struct loop_watch *w, uint32_t events)
{
	struct stream_port *p = container_of(w, struct stream_port, conn);

	if (p->connecting) {
		connect_done(p);
		return;
	}
	if (events & EPOLLOUT) {
		pthread_mutex_lock(&p->lock);
		p->stuffed = false;
		conn_ask(p);
		out_write(p);
		pthread_mutex_unlock(&p->lock);
	}
	if (offer_is_waiting(&p->offer)) {
		/* Not reading, and yet: it is gone for good. */
		if (events & (EPOLLHUP | EPOLLERR))
			conn_lost(p, "the connection broke");
		return;
	}
	for (unsigned i = 0; i < READ_ROUNDS; i++) {
		if (!in_read(p))
			break;
	}
}

static void conn_try(struct stream_port *p)
{
	int fd = endpoint_connect(&p->at);

	if (fd >= 0) {
		p->connecting = true;
		if (!loop_watch_add(p->loop, &p->conn, fd, EPOLLOUT)) {
			connect_done(p);
			return;
		}
		fd_close(&fd);
		p->connecting = false;
	} else if (!p->said) {
		log_info(p->name, "peer not there, trying on: %s",
		         strerror(-fd));
		p->said = true;
	}
	retry_later(p);
}

static void retry_due(struct loop_timer *t)
{
	conn_try(container_of(t, struct stream_port, retry));
}

static void listener_ready(struct loop_watch *w, uint32_t events)
{
	struct stream_port *p = container_of(w, struct stream_port, listener);
	int fd = endpoint_accept(w->fd);

	(void)events;
	if (fd < 0)
		return;
	if (loop_watch_add(p->loop, &p->conn, fd, EPOLLIN)) {
		fd_close(&fd);
		return;
	}
	listener_ask(p, false); /* the next one waits until this one goes */
	conn_use(p, fd);
}

/* --- life ---------------------------------------------------------------- */

static void stream_close(struct port *port)
{
	struct stream_port *p = container_of(port, struct stream_port, port);
	int listen_fd = p->listener.fd, conn_fd = p->conn.fd;

	loop_timer_cancel(&p->retry);
	if (p->connecting) {
		loop_watch_remove(&p->conn);
		fd_close(&conn_fd);
	}
	conn_close(p);
	loop_watch_remove(&p->listener);
	if (listen_fd >= 0) {
		fd_close(&listen_fd);
		endpoint_remove(&p->at);
	}
	pthread_mutex_destroy(&p->lock);
	free(p->in);
	free(p->out);
	free(p->name);
	free(p);
}

static const struct port_ops stream_ops = { "stream", stream_send, stream_flush,
	                                    stream_close };

static int stream_listen(struct stream_port *p, const struct endpoint_owner *o)
{
	int fd = endpoint_listen(&p->at, o);

	if (fd < 0)
		return fd;
	p->listener.fd = fd;
	return loop_watch_add(p->loop, &p->listener, fd, EPOLLIN);
}

static int stream_start(struct stream_port *p, const struct endpoint_owner *o)
{
	p->in = malloc(IN_BYTES);
	p->out = malloc(OUT_BYTES);
	if (!p->name || !p->in || !p->out)
		return -ENOMEM;
	if (!p->client)
		return stream_listen(p, o);
	/* From the loop, so that frames have somewhere to go. */
	return loop_timer_set(p->loop, &p->retry, 0);
}

struct port *stream_port_new(struct loop *l, const struct stream_port_opts *o,
                             int *err)
{
	struct stream_port *p = calloc(1, sizeof(*p));

	*err = -ENOMEM;
	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	p->port.ops = &stream_ops;
	p->name = strdup(o->name);
	p->port.name = p->name;
	p->at = o->at;
	p->client = o->client;
	p->loop = l;
	p->fd = -1;
	p->retry_ns = RETRY_MIN_NS;
	p->listener.fd = p->conn.fd = -1;
	p->listener.fn = listener_ready;
	p->conn.fn = conn_ready;
	p->retry.fn = retry_due;
	offer_init(&p->offer, &p->port, l, stream_resumed);
	*err = stream_start(p, &o->owner);
	if (!*err)
		return &p->port;
	stream_close(&p->port);
	return NULL;
}

bool stream_port_is_connected(const struct port *port)
{
	struct stream_port *p =
		container_of((struct port *)port, struct stream_port, port);
	bool yes;

	pthread_mutex_lock(&p->lock);
	yes = p->fd >= 0;
	pthread_mutex_unlock(&p->lock);
	return yes;
}
