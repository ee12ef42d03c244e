/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.c - one front end: from its socket to the table and back.
 *
 *   socket readable -> msg_read -> table_handle -> msg_send -> msg_flush
 *
 * Nothing waits here. A message that was begun has to be whole, and a reply has
 * to be read, within a few seconds; an idle front end may be idle for ever. A
 * visit to a socket that never ends is bounded.
 */
#include "vhost/session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/fd.h"

#define MESSAGE_TIMEOUT_NS (5 * UINT64_C(1000000000))
#define MESSAGES_A_VISIT   32u

static const char *reason(int err)
{
	switch (err) {
	case -ECONNRESET:
	case -EPIPE:
		return "front end hung up";
	case -EPROTO:
		return "front end broke the protocol";
	case -ECANCELED:
		return "back end stops";
	case -ETIMEDOUT:
		return "message begun and never ended";
	default:
		return strerror(-err);
	}
}

static bool is_an_end(int err)
{
	return err == -ECONNRESET || err == -EPIPE || err == -ECANCELED;
}

/* --- the socket --------------------------------------------------------- */

/* Handle the message in s.io.in. 0, or a negative errno to close with. */
static int handle_one(struct vhost_backend *b)
{
	struct msg_io *io = &b->s.io;
	int err;

	b->messages++;
	b->s.heard = true;
	err = table_handle(b, &io->in);
	if (err > 0)
		msg_send(io, &io->in);
	msg_drop(&io->in);
	return min_of(err, 0);
}

/* 0 for now, or a negative errno to close with. */
static int session_go_on(struct vhost_backend *b)
{
	struct msg_io *io = &b->s.io;
	int err;

	for (unsigned n = 0; n < MESSAGES_A_VISIT; n++) {
		err = msg_flush(io);
		if (err)
			return min_of(err, 0);
		err = msg_read(io);
		if (err <= 0)
			return err;
		err = handle_one(b);
		if (err)
			return err;
	}
	return min_of(msg_flush(io), 0);
}

/* Wait for what comes next: a byte, or room for a reply. */
static int session_wait(struct vhost_backend *b)
{
	struct session *s = &b->s;

	if (!s->io.replying && !msg_is_coming(&s->io))
		loop_timer_cancel(&s->timeout);
	else if (!s->timeout.at_ns)
		loop_timer_set(b->loop, &s->timeout, MESSAGE_TIMEOUT_NS);
	return loop_watch_modify(&s->watch,
	                         s->io.replying ? EPOLLOUT : EPOLLIN);
}

static void on_socket(struct loop_watch *w, uint32_t events)
{
	struct vhost_backend *b =
		container_of(w, struct vhost_backend, s.watch);
	int err;

	(void)events;
	err = session_go_on(b);
	if (!err)
		err = session_wait(b);
	if (err)
		session_close(b, err);
}

static void on_timeout(struct loop_timer *t)
{
	session_close(container_of(t, struct vhost_backend, s.timeout),
	              -ETIMEDOUT);
}

/* --- life --------------------------------------------------------------- */

int session_open(struct vhost_backend *b, int fd)
{
	struct session *s = &b->s;
	int err;

	memset(s, 0, sizeof(*s));
	msg_io_open(&s->io, fd);
	channel_init(&s->channel, b->loop);
	s->watch.fn = on_socket;
	s->timeout.fn = on_timeout;
	err = loop_watch_add(b->loop, &s->watch, fd, EPOLLIN);
	if (err) {
		msg_io_close(&s->io);
		return err;
	}
	b->sessions++;
	log_info(b->tag, "front end connected");
	if (b->ops->connected)
		b->ops->connected(b->ctx);
	return 0;
}

void session_close(struct vhost_backend *b, int err)
{
	struct session *s = &b->s;

	if (!session_is_open(b))
		return;
	log_line(is_an_end(err) ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, b->tag,
	         "session over: %s", reason(err));
	vrings_forget(b);
	loop_watch_remove(&s->watch);
	loop_timer_cancel(&s->timeout);
	channel_set(&s->channel, -1);
	msg_io_close(&s->io);
	mem_put(s->mem);
	s->mem = NULL;
	log_area_free(s->log);
	s->log = NULL;
	inflight_area_free(s->inflight);
	s->inflight = NULL;
	s->has_features = false;
	s->features = s->protocol_features = 0;
	s->status = 0;
	b->device.features = 0;
	if (b->ops->disconnected)
		b->ops->disconnected(b->ctx);
	backend_session_over(b);
}

bool session_is_stale(const struct vhost_backend *b)
{
	struct pollfd p = { .fd = b->s.io.fd };

	return poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR);
}
