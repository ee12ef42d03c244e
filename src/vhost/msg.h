/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * msg.h - vhost-user messages on a non-blocking socket. Only vhost includes it.
 *
 * A message may come byte by byte. Its descriptors ride with the first byte;
 * whoever keeps one takes it out with fd_move(), msg_drop() closes the rest. A
 * reply waits here until the socket takes it; there is room for one, and no
 * message is read while one waits, so a peer that does not read its replies
 * costs nothing but its own session.
 */
#ifndef VIADUCT_VHOST_MSG_H
#define VIADUCT_VHOST_MSG_H

#include "wire/vhost.h"

struct msg {
	uint32_t unused; /* so that the payload follows the header at once */
	struct vhost_user_hdr hdr;
	union vhost_user_payload body;
	unsigned nfds;
	int fd[VHOST_USER_FDS_MAX];
};

struct msg_io {
	int fd;      /* -1: closed */
	size_t got;  /* bytes of the message that is coming */
	size_t sent; /* bytes of the reply that is going */
	bool replying;
	struct msg in;
	struct msg out;
};

/* @fd is the io's from now on. */
void msg_io_open(struct msg_io *io, int fd);
void msg_io_close(struct msg_io *io);

/**
 * msg_read() - go on with the message that is coming
 *
 * Return: 1 it is whole, in io->in, its descriptors the caller's to drop; 0 not
 * yet; -ECONNRESET the peer is gone; -EPROTO a header that cannot be right, or
 * more descriptors than a message can have; or what recvmsg() said.
 */
int msg_read(struct msg_io *io);

/* Is one begun and not whole? */
static inline bool msg_is_coming(const struct msg_io *io)
{
	return io->got;
}

/**
 * msg_send() - put a reply on its way: hdr.size bytes of @m and its descriptors
 * Takes the descriptors out of @m. Call msg_flush() then.
 */
void msg_send(struct msg_io *io, struct msg *m);

/* 0 all is gone; 1 the socket is full; or a negative errno. */
int msg_flush(struct msg_io *io);

/* Close the descriptors that nobody took. */
void msg_drop(struct msg *m);

#endif
