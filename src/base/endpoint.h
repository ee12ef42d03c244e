/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * endpoint.h - where a stream socket is: a path, or an address of this host.
 * Anyone hosted may include it.
 *
 * Every descriptor is non-blocking and close-on-exec.
 */
#ifndef VIADUCT_BASE_ENDPOINT_H
#define VIADUCT_BASE_ENDPOINT_H

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/defs.h"

struct endpoint {
	union {
		struct sockaddr any;
		struct sockaddr_un un;
		struct sockaddr_storage room;
	} at;
	socklen_t len;
};

/* Who may use a socket file. */
struct endpoint_owner {
	unsigned mode; /* 0: 0600 */
	bool set_owner;
	uid_t uid;
	gid_t gid;
};

/* 0, or -ENAMETOOLONG. */
int endpoint_path(struct endpoint *e, const char *path);

/* "127.0.0.1:5000", "[::1]:5000". 0; -EINVAL no such thing; -EACCES not an
 * address of the loopback interface. */
int endpoint_loopback(struct endpoint *e, const char *text);

/**
 * endpoint_listen() - a socket that listens there
 * @o: of the file; NULL for an address
 *
 * A file that a dead process left is replaced, anything else is not.
 *
 * Return: descriptor, -EADDRINUSE, or what the system said.
 */
int endpoint_listen(const struct endpoint *e, const struct endpoint_owner *o);

/* Removes the file of a socket that listened. */
void endpoint_remove(const struct endpoint *e);

/* Return: descriptor, maybe not connected yet: writable when it is, and
 * endpoint_connected() tells; or negative errno. */
int endpoint_connect(const struct endpoint *e);

/* 0, -EINPROGRESS, or why it will never be. */
int endpoint_connected(int fd);

/* The next one who connected to a listening socket; -EAGAIN: nobody. */
int endpoint_accept(int fd);

#endif
