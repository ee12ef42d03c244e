/* SPDX-License-Identifier: BSD-2-Clause */
/* The clients: each subcommand is one test and ends with one result line. */
#include "rig.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_S	20.0	/* how long to wait for a server to appear */
#define SEED		0x5eed

static uint8_t buffer[CHUNK_MAX];

/* "64M" -> 67108864 */
static uint64_t number(const char *s)
{
	char *end;
	uint64_t n = strtoull(s, &end, 0);

	switch (*end) {
	case 'G': n <<= 10; /* fall through */
	case 'M': n <<= 10; /* fall through */
	case 'K': n <<= 10;
	}
	return n;
}

static int complain(const char *what, const char *spec, int err)
{
	printf("rig: %s %s: FAILED: %s\n", what, spec, strerror(-err));
	return 1;
}

static int send_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		p += n;
		len -= n;
	}
	return 0;
}

static int recv_all(int fd, void *data, size_t len)
{
	uint8_t *p = data;

	while (len) {
		ssize_t n = recv(fd, p, len, 0);

		if (n <= 0)
			return n ? -errno : -ECONNRESET;
		p += n;
		len -= n;
	}
	return 0;
}

static int open_request(const char *spec, const struct request *r)
{
	uint8_t head[REQUEST_BYTES];
	int err, fd = endpoint_connect(spec, PATIENCE_S);

	if (fd < 0)
		return fd;
	request_put(r, head);
	err = send_all(fd, head, sizeof(head));
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int send_pattern(int fd, const struct request *r, uint64_t *sent)
{
	uint64_t left = r->total - *sent;
	size_t len = left < r->size ? left : r->size;
	ssize_t n;

	pattern_fill(buffer, len, *sent, r->seed);
	n = send(fd, buffer, len, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	*sent += n;
	return 0;
}

static int recv_pattern(int fd, const struct request *r, struct verdict *v)
{
	uint64_t left = r->total - v->received;
	size_t room = left < sizeof(buffer) ? left : sizeof(buffer);
	ssize_t n = recv(fd, buffer, room, 0);
	uint64_t bad;

	if (n <= 0)
		return n && errno == EAGAIN ? 0 : n ? -errno : -ECONNRESET;
	bad = pattern_check(buffer, n, v->received, r->seed);
	if (bad != NO_FAULT && v->first_bad == NO_FAULT)
		v->first_bad = bad;
	v->received += n;
	return 0;
}

static int recv_verdict(int fd, struct verdict *v)
{
	uint8_t in[VERDICT_BYTES];
	int err = recv_all(fd, in, sizeof(in));

	return err ? err : verdict_get(v, in);
}

static int judge(const char *what, const struct request *r,
		 const struct verdict *v, double took)
{
	bool good = v->received == r->total && v->first_bad == NO_FAULT;

	printf("rig: %s bytes=%llu chunk=%u secs=%.3f MB/s=%.1f %s", what,
	       (unsigned long long)r->total, r->size, took,
	       r->total / took / 1e6, good ? "ok" : "FAILED");
	if (v->received != r->total)
		printf(" received=%llu", (unsigned long long)v->received);
	if (v->first_bad != NO_FAULT)
		printf(" first-wrong-byte=%llu",
		       (unsigned long long)v->first_bad);
	printf("\n");
	return !good;
}

/* One direction after the other, or both interleaved without ever blocking. */
static int move(int fd, const struct request *r, struct verdict *mine)
{
	bool in = r->op == OP_SOURCE || r->op == OP_BOTH;
	bool out = r->op != OP_SOURCE;
	uint64_t sent = 0;
	int err = 0;

	if (!in)
		mine->received = r->total;
	while (!err &&
	       ((out && sent < r->total) || mine->received < r->total)) {
		struct pollfd p = { .fd = fd };

		p.events = (out && sent < r->total ? POLLOUT : 0) |
			   (mine->received < r->total ? POLLIN : 0);
		if (poll(&p, 1, 30000) <= 0)
			return -ETIMEDOUT;
		if (p.revents & POLLOUT)
			err = send_pattern(fd, r, &sent);
		if (!err && p.revents & (POLLIN | POLLERR | POLLHUP) && in)
			err = recv_pattern(fd, r, mine);
		else if (!err && p.revents & POLLERR)
			err = -ECONNRESET;
	}
	return err;
}

/* send | recv | both | half ENDPOINT BYTES [CHUNK [SLEEP_MS_FIRST]] */
static int stream(const char *what, enum op op, int argc, char **argv)
{
	struct request r = { .op = op, .seed = SEED + getpid() };
	struct verdict mine = { .first_bad = NO_FAULT }, theirs;
	double start;
	int fd, err;

	r.total = number(argv[1]);
	r.size = argc > 2 ? number(argv[2]) : 65536;
	fd = open_request(argv[0], &r);
	if (fd < 0)
		return complain(what, argv[0], fd);
	if (argc > 3)
		usleep(number(argv[3]) * 1000);
	start = now_s();
	err = move(fd, &r, &mine);
	if (!err && op == OP_HALF && shutdown(fd, SHUT_WR))
		err = -errno;
	if (!err && op != OP_SOURCE)
		err = recv_verdict(fd, &theirs);
	if (err)
		return complain(what, argv[0], err);
	close(fd);
	if (op == OP_SOURCE || mine.first_bad != NO_FAULT)
		theirs = mine;
	return judge(what, &r, &theirs, now_s() - start);
}

/* refused ENDPOINT: the peer must say no, and say it soon. */
static int refused(int argc, char **argv)
{
	double start = now_s();
	int fd = endpoint_connect(argv[0], 0);
	double took = now_s() - start;
	bool good = fd == -ECONNREFUSED || fd == -ECONNRESET;

	(void)argc;
	printf("rig: refused %s %s after %.3f s %s\n", argv[0],
	       fd < 0 ? strerror(-fd) : "ACCEPTED", took,
	       good ? "ok" : "FAILED");
	if (fd >= 0)
		close(fd);
	return !good;
}

/* churn ENDPOINT COUNT: connect, exchange one message, close, again. */
static int churn(int argc, char **argv)
{
	struct request r = { .op = OP_ECHO, .size = 64 };
	unsigned count = number(argv[1]);
	double start = now_s();
	uint8_t in[64], out[64];

	(void)argc;
	for (unsigned i = 0; i < count; i++) {
		int err, fd = open_request(argv[0], &r);

		if (fd < 0)
			return complain("churn", argv[0], fd);
		pattern_fill(out, sizeof(out), i * 64, SEED);
		err = send_all(fd, out, sizeof(out));
		if (!err)
			err = recv_all(fd, in, sizeof(in));
		if (!err && memcmp(in, out, sizeof(in)))
			err = -EILSEQ;
		close(fd);
		if (err)
			return complain("churn", argv[0], err);
	}
	printf("rig: churn connections=%u per-s=%.0f ok\n", count,
	       count / (now_s() - start));
	return 0;
}

/* records ENDPOINT COUNT [MAX]: SOCK_SEQPACKET keeps every boundary. */
static int records(int argc, char **argv)
{
	struct request r = { .op = OP_ECHO, .size = 1 };
	unsigned count = number(argv[1]);
	size_t max = argc > 2 ? number(argv[2]) : 65536;
	static uint8_t in[CHUNK_MAX];
	double start = now_s();
	int fd = open_request(argv[0], &r);

	if (fd < 0)
		return complain("records", argv[0], fd);
	for (unsigned i = 0; i < count; i++) {
		size_t len = 1 + (i * 7919u) % max;
		ssize_t n;

		pattern_fill(buffer, len, i, SEED);
		n = send(fd, buffer, len, MSG_NOSIGNAL | MSG_EOR);
		if (n != (ssize_t)len)
			return complain("records", argv[0], -errno);
		n = recv(fd, in, sizeof(in), 0);
		if (n != (ssize_t)len || memcmp(in, buffer, len)) {
			printf("rig: records %u: sent %zu got %zd FAILED\n", i,
			       len, n);
			return 1;
		}
	}
	close(fd);
	printf("rig: records count=%u max=%zu per-s=%.0f ok\n", count, max,
	       count / (now_s() - start));
	return 0;
}

/* Sends one datagram until it has come back whole. */
static int udp_one(int fd, size_t len, unsigned *again)
{
	static uint8_t in[CHUNK_MAX];

	pattern_fill(buffer, len, len, SEED);
	for (int try = 0; try < 10; try++, ++*again) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (send(fd, buffer, len, 0) < 0)
			return -errno;
		while (poll(&p, 1, 500) > 0) {
			ssize_t n = recv(fd, in, sizeof(in), 0);

			if (n == (ssize_t)len)
				return memcmp(in, buffer, len) ? -EILSEQ : 0;
			if (n < 0)	/* nobody listens yet */
				usleep(300000);
		}
	}
	return -ETIMEDOUT;
}

/* udpsweep ENDPOINT FROM TO [STEP]: every payload length, byte for byte. */
static int udpsweep(int argc, char **argv)
{
	size_t from = number(argv[1]), to = number(argv[2]);
	size_t step = argc > 3 ? number(argv[3]) : 1;
	int fd = endpoint_connect(argv[0], PATIENCE_S);
	unsigned again = 0, count = 0;
	double start = now_s();

	if (fd < 0)
		return complain("udpsweep", argv[0], fd);
	for (size_t len = from; len <= to; len += step, count++) {
		int err = udp_one(fd, len, &again);

		if (err) {
			printf("rig: udpsweep length=%zu\n", len);
			return complain("udpsweep", argv[0], err);
		}
	}
	close(fd);
	printf("rig: udpsweep lengths=%zu..%zu step=%zu count=%u resent=%u"
	       " secs=%.2f ok\n", from, to, step, count, again,
	       now_s() - start);
	return 0;
}

/* quit ENDPOINT: ends a server; it may be gone before its answer arrives. */
static int quit(int argc, char **argv)
{
	struct request r = { .op = OP_QUIT, .size = 1 };
	struct verdict v;
	int fd = open_request(argv[0], &r);

	(void)argc;
	if (fd < 0)
		return complain("quit", argv[0], fd);
	recv_verdict(fd, &v);
	close(fd);
	return 0;
}

int rr(int argc, char **argv);

static int do_send(int c, char **v) { return stream("send", OP_SINK, c, v); }
static int do_recv(int c, char **v) { return stream("recv", OP_SOURCE, c, v); }
static int do_both(int c, char **v) { return stream("both", OP_BOTH, c, v); }
static int do_half(int c, char **v) { return stream("half", OP_HALF, c, v); }

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	int args;
	const char *usage;
} commands[] = {
	{ "send", do_send, 2, "ENDPOINT BYTES [CHUNK [SLEEP_MS]]" },
	{ "recv", do_recv, 2, "ENDPOINT BYTES [CHUNK [SLEEP_MS]]" },
	{ "both", do_both, 2, "ENDPOINT BYTES [CHUNK [SLEEP_MS]]" },
	{ "half", do_half, 2, "ENDPOINT BYTES [CHUNK [SLEEP_MS]]" },
	{ "rr", rr, 4, "ENDPOINT CONNECTIONS BYTES SECONDS [BURST [MAX_MS]]" },
	{ "churn", churn, 2, "ENDPOINT COUNT" },
	{ "records", records, 2, "ENDPOINT COUNT [MAX]" },
	{ "udpsweep", udpsweep, 3, "ENDPOINT FROM TO [STEP]" },
	{ "refused", refused, 1, "ENDPOINT" },
	{ "quit", quit, 1, "ENDPOINT" },
};

int client(int argc, char **argv)
{
	size_t n = sizeof(commands) / sizeof(*commands);

	for (size_t i = 0; argc > 1 && i < n; i++)
		if (!strcmp(argv[1], commands[i].name) &&
		    argc - 2 >= commands[i].args)
			return commands[i].run(argc - 2, argv + 2);
	printf("usage: rig serve SECONDS ENDPOINT...\n");
	for (size_t i = 0; i < n; i++)
		printf("       rig %s %s\n", commands[i].name,
		       commands[i].usage);
	return 2;
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "serve"))
		return serve(argc - 3, argv + 3, atof(argv[2]));
	return client(argc, argv);
}
