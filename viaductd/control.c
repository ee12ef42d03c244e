/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.c - the socket on which the daemon is asked.
 *
 * A client is read until its line is whole; then it is not read while its
 * answer is written. Nobody is waited for: one that never finishes its line or
 * never reads costs one of the places, and the oldest place is the next to go.
 */
#include "control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

struct client {
	struct control *control;
	struct loop_watch watch;
	uint64_t since; /* a number that grows; 0: the place is free */
	size_t in_len;
	char in[CONTROL_REQUEST];
	char *out; /* NULL: nothing to write */
	size_t out_len, out_at;
};

struct control {
	struct loop *loop;
	struct control_opts opts;
	struct endpoint at;
	struct loop_watch listener;
	uint64_t clients_ever;
	struct log_limit refused;
	struct client client[CONTROL_CLIENTS];
};

static void client_close(struct client *c)
{
	int fd = c->watch.fd;

	if (!c->since)
		return;
	loop_watch_remove(&c->watch);
	fd_close(&fd);
	free(c->out);
	c->out = NULL;
	c->since = 0;
}

/* False: closed. */
static bool client_write(struct client *c)
{
	ssize_t n = 0;

	while (c->out_at < c->out_len && n >= 0) {
		n = send(c->watch.fd, c->out + c->out_at,
		         c->out_len - c->out_at, MSG_NOSIGNAL);
		c->out_at += n > 0 ? (size_t)n : 0;
	}
	if (n < 0 && errno == EAGAIN)
		return !loop_watch_modify(&c->watch, EPOLLOUT);
	free(c->out);
	c->out = NULL;
	if (n < 0) {
		client_close(c);
		return false;
	}
	loop_watch_modify(&c->watch, EPOLLIN);
	return true;
}

/* False: closed. */
static bool client_answer(struct client *c, const char *line, size_t len)
{
	const struct control_opts *o = &c->control->opts;
	json_t *request = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	json_t *answer = NULL;
	size_t n = 0;
	char *text;

	if (json_is_object(request))
		answer = o->answer(o->ctx, request);
	else
		answer = json_pack("{s:s}", "error",
		                   "a request is a line with a JSON object");
	json_decref(request);
	text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
	json_decref(answer);
	if (text)
		n = strlen(text);
	c->out = realloc(text, n + 1);
	if (!c->out) {
		free(text);
		client_close(c);
		return false;
	}
	c->out[n] = '\n';
	c->out_len = n + 1;
	c->out_at = 0;
	return client_write(c);
}

/* Answer whole lines, one after the other. */
static void client_lines(struct client *c)
{
	char *end;
	size_t n;

	while (!c->out && (end = memchr(c->in, '\n', c->in_len))) {
		n = (size_t)(end - c->in);
		if (!client_answer(c, c->in, n))
			return;
		c->in_len -= n + 1;
		memmove(c->in, end + 1, c->in_len);
	}
	if (c->in_len == sizeof(c->in) && !c->out) {
		/* A line that long is no question. */
		c->in_len = 0;
		client_answer(c, "", 0);
	}
}

static void client_ready(struct loop_watch *w, uint32_t events)
{
	struct client *c = container_of(w, struct client, watch);
	ssize_t n;

	if (c->out) {
		if (!(events & EPOLLOUT) || !client_write(c))
			goto gone;
		client_lines(c);
		return;
	}
	n = recv(w->fd, c->in + c->in_len, sizeof(c->in) - c->in_len, 0);
	if (n > 0) {
		c->in_len += (size_t)n;
		client_lines(c);
		return;
	}
	if (n < 0 && errno == EAGAIN)
		return;
gone:
	client_close(c);
}

static bool peer_may_ask(struct control *c, int fd)
{
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t n = sizeof(who);
	unsigned suppressed;

	if (c->opts.anyone)
		return true;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) &&
	    (who.uid == 0 || who.uid == geteuid()))
		return true;
	if (log_limit_pass(&c->refused, &suppressed))
		log_warn("control", "refused uid=%u pid=%d suppressed=%u",
		         who.uid, (int)who.pid, suppressed);
	return false;
}

/* A free place, or that of the oldest. */
static struct client *place(struct control *c)
{
	struct client *oldest = &c->client[0];

	for (unsigned i = 1; i < CONTROL_CLIENTS; i++) {
		if (c->client[i].since < oldest->since)
			oldest = &c->client[i];
	}
	client_close(oldest);
	return oldest;
}

static void listener_ready(struct loop_watch *w, uint32_t events)
{
	struct control *c = container_of(w, struct control, listener);
	int fd = endpoint_accept(w->fd);
	struct client *client;

	(void)events;
	if (fd < 0)
		return;
	if (!peer_may_ask(c, fd)) {
		close(fd);
		return;
	}
	client = place(c);
	client->watch = (struct loop_watch){ .fn = client_ready };
	client->in_len = 0;
	if (loop_watch_add(c->loop, &client->watch, fd, EPOLLIN)) {
		close(fd);
		return;
	}
	client->control = c;
	client->since = ++c->clients_ever;
}

struct control *control_new(struct loop *l, const struct control_opts *o,
                            int *err)
{
	struct control *c = calloc(1, sizeof(*c));
	int fd;

	*err = -ENOMEM;
	if (!c)
		return NULL;
	c->loop = l;
	c->opts = *o;
	c->listener.fn = listener_ready;
	*err = endpoint_path(&c->at, o->path);
	fd = *err ? *err : endpoint_listen(&c->at, &o->owner);
	if (fd < 0) {
		*err = fd;
		free(c);
		return NULL;
	}
	*err = loop_watch_add(l, &c->listener, fd, EPOLLIN);
	if (!*err)
		return c;
	close(fd);
	endpoint_remove(&c->at);
	free(c);
	return NULL;
}

void control_free(struct control *c)
{
	int fd;

	if (!c)
		return;
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		client_close(&c->client[i]);
	fd = c->listener.fd;
	loop_watch_remove(&c->listener);
	fd_close(&fd);
	endpoint_remove(&c->at);
	free(c);
}
