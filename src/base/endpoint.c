/* SPDX-License-Identifier: BSD-2-Clause */
/* endpoint.c - where a stream socket is: a path, or an address of this host. */
#include "base/endpoint.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG 128

int endpoint_path(struct endpoint *e, const char *path)
{
	size_t n = strlen(path);

	if (n >= sizeof(e->at.un.sun_path))
		return -ENAMETOOLONG;
	memset(e, 0, sizeof(*e));
	e->at.un.sun_family = AF_UNIX;
	memcpy(e->at.un.sun_path, path, n + 1);
	e->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
	return 0;
}

static bool is_loopback(const struct sockaddr *a)
{
	const struct sockaddr_in6 *six = (const void *)a;
	const struct sockaddr_in *four = (const void *)a;

	if (a->sa_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* Cut "host:port" or "[host]:port" in two. */
static int text_split(const char *text, char *host, size_t room,
                      const char **port)
{
	const char *colon = strrchr(text, ':');
	size_t n;

	if (!colon || colon == text || !colon[1])
		return -EINVAL;
	n = (size_t)(colon - text);
	if (text[0] == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	} else if (memchr(text, ':', n)) {
		return -EINVAL; /* which of them? */
	}
	if (!n || n >= room)
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = '\0';
	*port = colon + 1;
	return 0;
}

int endpoint_loopback(struct endpoint *e, const char *text)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *found;
	const char *port;
	char host[64];
	int err = text_split(text, host, sizeof(host), &port);

	if (err)
		return err;
	if (getaddrinfo(host, port, &hints, &found))
		return -EINVAL;
	memset(e, 0, sizeof(*e));
	memcpy(&e->at, found->ai_addr, found->ai_addrlen);
	e->len = found->ai_addrlen;
	freeaddrinfo(found);
	return is_loopback(&e->at.any) ? 0 : -EACCES;
}

static int socket_new(const struct endpoint *e)
{
	int fd = socket(e->at.any.sa_family,
	                SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

/* Packets should not wait for company. */
static void set_nodelay(int fd)
{
	int on = 1;

	/* Not for unix sockets, which never wait: the error means nothing. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* Is it a socket file whose process is dead? */
static bool is_stale(const struct endpoint *e)
{
	struct stat st;
	int fd, err;

	if (lstat(e->at.un.sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	fd = endpoint_connect(e);
	if (fd < 0)
		return fd == -ECONNREFUSED;
	err = endpoint_connected(fd);
	close(fd);
	return err == -ECONNREFUSED;
}

static int file_hand_over(const char *path, const struct endpoint_owner *o)
{
	unsigned mode = o && o->mode ? o->mode : 0600;

	if (o && o->set_owner && chown(path, o->uid, o->gid))
		return -errno;
	return chmod(path, mode) ? -errno : 0;
}

static int bind_path(int fd, const struct endpoint *e,
                     const struct endpoint_owner *o)
{
	const char *path = e->at.un.sun_path;
	int err;

	/* Nobody else may use it before its owner is set. */
	if (fchmod(fd, 0600))
		return -errno;
	if (bind(fd, &e->at.any, e->len)) {
		if (errno != EADDRINUSE)
			return -errno;
		if (!is_stale(e))
			return -EADDRINUSE;
		if (unlink(path) || bind(fd, &e->at.any, e->len))
			return -errno;
	}
	err = file_hand_over(path, o);
	if (err)
		unlink(path);
	return err;
}

static int bind_address(int fd, const struct endpoint *e)
{
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return bind(fd, &e->at.any, e->len) ? -errno : 0;
}

int endpoint_listen(const struct endpoint *e, const struct endpoint_owner *o)
{
	int fd = socket_new(e), err;

	if (fd < 0)
		return fd;
	err = e->at.any.sa_family == AF_UNIX ? bind_path(fd, e, o)
	                                     : bind_address(fd, e);
	if (!err && listen(fd, BACKLOG)) {
		err = -errno;
		endpoint_remove(e);
	}
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

void endpoint_remove(const struct endpoint *e)
{
	if (e->at.any.sa_family == AF_UNIX)
		unlink(e->at.un.sun_path);
}

int endpoint_connect(const struct endpoint *e)
{
	int fd = socket_new(e), err;

	if (fd < 0)
		return fd;
	set_nodelay(fd);
	if (connect(fd, &e->at.any, e->len) && errno != EINPROGRESS) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int endpoint_connected(int fd)
{
	struct pollfd p = { fd, POLLOUT, 0 };
	socklen_t n = sizeof(int);
	int err = 0;

	if (poll(&p, 1, 0) == 0)
		return -EINPROGRESS;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n))
		return -errno;
	return -err;
}

int endpoint_accept(int fd)
{
	int peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (peer < 0)
		return -errno;
	set_nodelay(peer);
	return peer;
}
