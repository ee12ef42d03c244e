/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sock.h - a vhost-user socket: whole messages with their descriptors, each
 * within a deadline. Only driver includes it.
 *
 * The peer is not trusted: a message may come byte by byte, or stop in the
 * middle, or bring descriptors that nobody asked for. Descriptors move: who
 * keeps one takes it out of the message, sock_msg_drop() closes the rest.
 *
 * While it waits for the peer's answer a socket also listens to a side channel,
 * because a peer may ask there before it answers here.
 */
#ifndef VIADUCT_DRIVER_SOCK_H
#define VIADUCT_DRIVER_SOCK_H

#include "base/defs.h"
#include "wire/vhost.h"

struct sock {
	int fd; /* non-blocking; -1: closed */
	int side_fd;
	void (*side_fn)(struct sock *s); /* side_fd is readable */
};

struct sock_msg {
	struct vhost_user_hdr hdr;
	union vhost_user_payload body;
	unsigned nfds;
	int fd[VHOST_USER_FDS_MAX];
};

/**
 * sock_connect() - connect to a unix socket, once
 * @deadline_ns: on the monotonic clock; a full backlog is waited for
 * Return: a non-blocking descriptor, or negative errno.
 */
int sock_connect(const char *path, uint64_t deadline_ns);

/**
 * sock_listen() - make a socket that a back end can connect to
 * A stale socket file, one where nobody listens any more, is replaced.
 * Return: a non-blocking descriptor, or negative errno (-EADDRINUSE: somebody
 * else listens).
 */
int sock_listen(const char *path);

/* The next back end that connects: a descriptor, -ETIMEDOUT or another. */
int sock_accept(int listen_fd, uint64_t deadline_ns);

/**
 * sock_send() / sock_recv() - one whole message
 * sock_send() leaves the message's descriptors open and the caller's.
 *
 * Return: 0; -ETIMEDOUT; -ECONNRESET the peer is gone; -EPROTO (receiving) a
 * header that cannot be right or lost descriptors; or what the system said.
 * After any error the stream is out of step: close it.
 */
int sock_send(struct sock *s, const struct sock_msg *m, uint64_t deadline_ns);
int sock_recv(struct sock *s, struct sock_msg *m, uint64_t deadline_ns);

/* Close the descriptors that nobody took. */
void sock_msg_drop(struct sock_msg *m);

#endif
