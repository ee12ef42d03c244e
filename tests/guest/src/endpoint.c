/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints by name.
 *
 *   tcp:HOST:PORT        udp:HOST:PORT      IPv4; empty HOST listens on all
 *   tcp6:HOST:PORT                          the same for IPv6
 *   vsock:CID:PORT       seqpacket:CID:PORT empty CID listens on all, host is 2
 *   unix:PATH            unixseq:PATH       a host's end of guest-to-host vsock
 *   hybrid:PATH:PORT     host-to-guest vsock through a unix socket:
 *                        "CONNECT PORT\n" is answered by "OK n\n"
 */
#include "rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <linux/vm_sockets.h>

struct endpoint {
	int family;
	int type;
	int hybrid_port;	/* 0 unless "hybrid:" */
	socklen_t length;
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		struct sockaddr_vm vm;
	} addr;
};

double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool endpoint_is_seqpacket(const char *spec)
{
	return has_prefix(spec, "seqpacket:") || has_prefix(spec, "unixseq:");
}

bool endpoint_is_udp(const char *spec)
{
	return has_prefix(spec, "udp:");
}

/* Splits "HOST:PORT" at its last colon; returns the port or -1. */
static long split_port(const char *s, char *host, size_t size)
{
	const char *colon = strrchr(s, ':');
	char *end;
	long port;

	if (!colon || (size_t)(colon - s) >= size)
		return -1;
	memcpy(host, s, colon - s);
	host[colon - s] = 0;
	port = strtol(colon + 1, &end, 10);
	return *end || end == colon + 1 ? -1 : port;
}

static int parse_inet(struct endpoint *e, const char *host, long port)
{
	e->family = AF_INET;
	e->length = sizeof(e->addr.in);
	e->addr.in.sin_family = AF_INET;
	e->addr.in.sin_port = htons(port);
	if (!*host)
		return 0;
	return inet_pton(AF_INET, host, &e->addr.in.sin_addr) == 1 ?
		0 : -EINVAL;
}

static int parse_inet6(struct endpoint *e, const char *host, long port)
{
	e->family = AF_INET6;
	e->length = sizeof(e->addr.in6);
	e->addr.in6.sin6_family = AF_INET6;
	e->addr.in6.sin6_port = htons(port);
	if (!*host)
		return 0;
	return inet_pton(AF_INET6, host, &e->addr.in6.sin6_addr) == 1 ?
		0 : -EINVAL;
}

static int parse_vsock(struct endpoint *e, const char *cid, long port)
{
	e->family = AF_VSOCK;
	e->length = sizeof(e->addr.vm);
	e->addr.vm.svm_family = AF_VSOCK;
	e->addr.vm.svm_port = port;
	e->addr.vm.svm_cid = *cid ? strtoul(cid, NULL, 10) : VMADDR_CID_ANY;
	return 0;
}

static int parse_unix(struct endpoint *e, const char *path)
{
	e->family = AF_UNIX;
	e->length = sizeof(e->addr.un);
	e->addr.un.sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(e->addr.un.sun_path))
		return -ENAMETOOLONG;
	strcpy(e->addr.un.sun_path, path);
	return 0;
}

static int parse(const char *spec, struct endpoint *e)
{
	const char *colon = strchr(spec, ':');
	char host[sizeof(e->addr.un.sun_path)];
	long port;

	memset(e, 0, sizeof(*e));
	e->type = endpoint_is_seqpacket(spec) ? SOCK_SEQPACKET :
		  endpoint_is_udp(spec) ? SOCK_DGRAM : SOCK_STREAM;
	if (!colon)
		return -EINVAL;
	if (has_prefix(spec, "unix:") || has_prefix(spec, "unixseq:"))
		return parse_unix(e, colon + 1);
	port = split_port(colon + 1, host, sizeof(host));
	if (port < 0)
		return -EINVAL;
	if (has_prefix(spec, "tcp:") || has_prefix(spec, "udp:"))
		return parse_inet(e, host, port);
	if (has_prefix(spec, "tcp6:"))
		return parse_inet6(e, host, port);
	if (has_prefix(spec, "vsock:") || has_prefix(spec, "seqpacket:"))
		return parse_vsock(e, host, port);
	if (!has_prefix(spec, "hybrid:"))
		return -EINVAL;
	e->hybrid_port = port;
	return parse_unix(e, host);
}

/* Reads byte by byte: what follows the newline belongs to the peer. */
static int hybrid_handshake(int fd, int port)
{
	char line[64];
	size_t n = snprintf(line, sizeof(line), "CONNECT %d\n", port);

	if (send(fd, line, n, MSG_NOSIGNAL) != (ssize_t)n)
		return -EPIPE;
	for (n = 0; n < sizeof(line) - 1; n++) {
		if (recv(fd, line + n, 1, 0) != 1)
			return -ECONNRESET;
		if (line[n] == '\n')
			return has_prefix(line, "OK ") ? 0 : -EPROTO;
	}
	return -EPROTO;
}

static int connect_once(const struct endpoint *e)
{
	int fd = socket(e->family, e->type | SOCK_CLOEXEC, 0);
	int one = 1, err;

	if (fd < 0)
		return -errno;
	if (connect(fd, &e->addr.any, e->length) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	if ((e->family == AF_INET || e->family == AF_INET6) &&
	    e->type == SOCK_STREAM)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	err = e->hybrid_port ? hybrid_handshake(fd, e->hybrid_port) : 0;
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

int endpoint_connect(const char *spec, double patience_s)
{
	struct endpoint e;
	double end = now_s() + patience_s;
	int fd = parse(spec, &e);

	if (fd < 0)
		return fd;
	while ((fd = connect_once(&e)) < 0 && now_s() < end)
		usleep(100000);
	return fd;
}

int endpoint_listen(const char *spec)
{
	struct endpoint e;
	int one = 1, fd = parse(spec, &e);

	if (fd < 0)
		return fd;
	if (e.family == AF_UNIX)
		unlink(e.addr.un.sun_path);
	fd = socket(e.family, e.type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, &e.addr.any, e.length) < 0 ||
	    (e.type != SOCK_DGRAM && listen(fd, 512) < 0)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}
