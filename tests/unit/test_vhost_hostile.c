/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vhost_hostile.c - a front end that does everything wrong: any message,
 * in any state, of any size, with any descriptors, in any pieces. Nothing
 * crashes, leaks, blocks or asserts, and the next front end is served.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "peer.h"

static uint32_t rnd(void)
{
	static uint32_t x = 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	return x ^= x << 5;
}

static char path[64];

/* A back end that listens, so that a lost session can be replaced. */
static void open_server(struct peer *p)
{
	struct vhost_backend_conf c = { .tag = "test", .path = path };

	snprintf(path, sizeof(path), "/tmp/viaduct-test-%d.sock", getpid());
	peer_open_conf(p, &c);
}

static void reconnect(struct peer *p)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	fd_replace(&p->fd, -1);
	peer_turn(p);
	strcpy(to.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	p->fd = fd;
	assert_true(peer_is_connected(p));
}

/* --- states ------------------------------------------------------------- */

enum { FRESH, NEGOTIATED, MAPPED, RUNNING, STOPPED, LOGGING, STATES };

static void bring_to(struct peer *p, unsigned state)
{
	reconnect(p);
	if (state >= NEGOTIATED)
		peer_negotiate(p,
		               VIRTIO_F_VERSION_1 |
		                       (state & 1 ? VIRTIO_F_RING_PACKED : 0));
	if (state >= MAPPED)
		assert_int_equal(peer_set_memory(p), 0);
	if (state >= RUNNING)
		peer_setup_ring(p, 1, 16);
	if (state == STOPPED)
		peer_get_base(p, 1);
	if (state == LOGGING)
		peer_ask_u64(p, VHOST_USER_SET_FEATURES,
		             p->features | VHOST_F_LOG_ALL);
}

static void drain(struct peer *p)
{
	char sink[4096];
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct iovec iov = { sink, sizeof(sink) };

	for (;;) {
		struct msghdr h = { .msg_iov = &iov,
			            .msg_iovlen = 1,
			            .msg_control = control.bytes,
			            .msg_controllen = sizeof(control) };
		struct cmsghdr *c;
		int fd;

		if (recvmsg(p->fd, &h, MSG_DONTWAIT) <= 0)
			return;
		c = CMSG_FIRSTHDR(&h);
		if (c) {
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
			close(fd);
		}
	}
}

/* Numbers that have hurt somebody. */
static uint64_t nasty(void)
{
	static const uint64_t n[] = {
		0,          1,         2,          15,
		16,         255,       256,        0xffff,
		0x10000,    0x10001,   0x7fffffff, 0x80000000,
		0xffffffff, PEER_UVA,  PEER_GPA,   PEER_MEM_BYTES,
		1ull << 63, UINT64_MAX
	};

	return rnd() % 4 ? n[rnd() % array_len(n)]
	                 : (uint64_t)rnd() << 32 | rnd();
}

static void fill_nasty(union vhost_user_payload *b)
{
	uint64_t word[sizeof(*b) / 8];

	for (unsigned i = 0; i < array_len(word); i++) {
		word[i] = nasty();
		if (rnd() % 2)
			word[i] = (word[i] << 32) | (uint32_t)nasty();
	}
	memcpy(b, word, sizeof(word));
}

/* The kinds of descriptors that come along. */
static void some_fds(struct peer *p, int *fd)
{
	fd[0] = p->memfd;
	fd[1] = fd_event_new();
	fd[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
	fd[3] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fd[4] = open("/tmp", O_RDONLY | O_CLOEXEC);
	fd[5] = fd_event_new();
	fd[6] = open("/dev/zero", O_RDWR | O_CLOEXEC);
	fd[7] = dup(p->memfd);
	fd[8] = fd_event_new();
}

static void check_alive(struct peer *p)
{
	peer_turn(p);
	drain(p);
	if (!peer_is_connected(p))
		reconnect(p);
}

/* Every message number in every state, with 0 to 9 descriptors and sizes from
 * nothing to more than there is. */
static void test_every_message(void **state)
{
	static const uint32_t sizes[] = { 0,   1,   7,   8,   9,  12,
		                          16,  20,  24,  32,  40, 41,
		                          264, 268, 272, 273, ~0u };
	unsigned before;
	struct peer p;
	int fd[9];

	(void)state;
	open_server(&p);
	for (unsigned s = 0; s < STATES; s++) {
		bring_to(&p, s);
		some_fds(&p, fd);
		before = peer_open_fds();
		for (uint32_t request = 0; request <= 60; request++) {
			for (unsigned n = 0; n <= 9; n++) {
				union vhost_user_payload b;
				uint32_t size = sizes[rnd() % 17];

				fill_nasty(&b);
				peer_send(&p, request, &b, size,
				          (struct peer_fds){ fd, n });
				check_alive(&p);
			}
		}
		reconnect(&p);
		for (unsigned i = 1; i < 9; i++)
			close(fd[i]);
		assert_in_range(peer_open_fds(), before - 8 - 9, before - 8);
	}
	bring_to(&p, RUNNING);
	peer_echo(&p, 1, 10);
	peer_close(&p);
}

/* Messages of the right shape with wrong contents, many in one session. */
static void test_right_shape(void **state)
{
	static const struct {
		uint32_t request, size;
		unsigned fds;
	} shapes[] = {
		{ VHOST_USER_SET_FEATURES, 8, 0 },
		{ VHOST_USER_SET_MEM_TABLE, 40, 1 },
		{ VHOST_USER_SET_MEM_TABLE, 72, 2 },
		{ VHOST_USER_SET_LOG_BASE, 16, 1 },
		{ VHOST_USER_SET_VRING_NUM, 8, 0 },
		{ VHOST_USER_SET_VRING_ADDR, 40, 0 },
		{ VHOST_USER_SET_VRING_BASE, 8, 0 },
		{ VHOST_USER_SET_VRING_KICK, 8, 1 },
		{ VHOST_USER_SET_VRING_CALL, 8, 1 },
		{ VHOST_USER_SET_VRING_ERR, 8, 1 },
		{ VHOST_USER_SET_VRING_ENABLE, 8, 0 },
		{ VHOST_USER_SET_PROTOCOL_FEATURES, 8, 0 },
		{ VHOST_USER_GET_CONFIG, 20, 0 },
		{ VHOST_USER_SET_CONFIG, 20, 0 },
		{ VHOST_USER_ADD_MEM_REG, 40, 1 },
		{ VHOST_USER_REM_MEM_REG, 40, 0 },
		{ VHOST_USER_SET_STATUS, 8, 0 },
		{ VHOST_USER_NET_SET_MTU, 8, 0 },
		{ VHOST_USER_SET_BACKEND_REQ_FD, 0, 1 },
		{ VHOST_USER_RESET_DEVICE, 0, 0 },
		{ VHOST_USER_GET_INFLIGHT_FD, 24, 0 },
		{ VHOST_USER_SET_INFLIGHT_FD, 24, 1 },
	};
	unsigned before;
	struct peer p;
	int fd[9];

	(void)state;
	open_server(&p);
	before = peer_open_fds();
	bring_to(&p, RUNNING);
	some_fds(&p, fd);
	for (unsigned i = 0; i < 30000; i++) {
		unsigned k = rnd() % array_len(shapes), at = rnd() % 8;
		struct vhost_user_hdr h = { shapes[k].request,
			                    VHOST_USER_VERSION |
			                            VHOST_USER_F_NEED_REPLY,
			                    shapes[k].size };
		char bytes[sizeof(h) + sizeof(union vhost_user_payload)];

		memcpy(bytes, &h, sizeof(h));
		fill_nasty((void *)(bytes + sizeof(h)));
		if (rnd() % 2) /* an index that exists */
			memset(bytes + sizeof(h), 0, 8);
		if (rnd() % 8 == 0)
			peer_offer(&p, 1, 8, 8), bring_to(&p, RUNNING);
		peer_put(&p, bytes, sizeof(h) + h.size,
		         (struct peer_fds){ fd + at,
		                            min_of(shapes[k].fds, 9 - at) });
		check_alive(&p);
	}
	for (unsigned i = 1; i < 9; i++)
		close(fd[i]);
	bring_to(&p, RUNNING);
	peer_echo(&p, 1, 10);
	reconnect(&p);
	fd_close(&p.fd);
	peer_turn(&p);
	assert_in_range(peer_open_fds(), before, before + 3); /* kick.. */
	peer_close(&p);
}

/* Bytes that are no messages at all. */
static void test_noise(void **state)
{
	struct peer p;

	(void)state;
	open_server(&p);
	reconnect(&p);
	for (unsigned i = 0; i < 3000; i++) {
		uint32_t noise[64];

		for (unsigned j = 0; j < 64; j++)
			noise[j] = rnd() >> (rnd() % 32);
		noise[1] = rnd() % 2 ? VHOST_USER_VERSION : noise[1];
		peer_put(&p, noise, 1 + rnd() % sizeof(noise), NO_FDS);
		check_alive(&p);
	}
	bring_to(&p, RUNNING);
	peer_echo(&p, 1, 10);
	peer_close(&p);
}

/* --- pieces ------------------------------------------------------------- */

static void put_in_pieces(struct peer *p, const void *bytes, size_t n,
                          struct peer_fds f)
{
	for (size_t i = 0; i < n; i++) {
		peer_put(p, (const char *)bytes + i, 1, i ? NO_FDS : f);
		loop_turn(p->loop, 0);
	}
}

static void test_byte_by_byte(void **state)
{
	struct {
		struct vhost_user_hdr h;
		char body[sizeof(struct vhost_user_mem_table)];
	} m = { { VHOST_USER_SET_MEM_TABLE,
		  VHOST_USER_VERSION | VHOST_USER_F_NEED_REPLY,
		  VHOST_USER_MEM_TABLE_BYTES(1) },
		{ 0 } };
	struct vhost_user_mem_table t = {
		.nregions = 1,
		.region = { { PEER_GPA, PEER_MEM_BYTES, PEER_UVA, 0 } }
	};
	struct vhost_info info;
	struct peer_msg reply;
	struct peer p;

	(void)state;
	peer_open(&p);
	memcpy(m.body, &t, sizeof(t));
	for (unsigned i = 0; i < 20; i++) {
		put_in_pieces(&p, &m, sizeof(m.h) + m.h.size,
		              (struct peer_fds){ &p.memfd, 1 });
		assert_true(peer_receive(&p, &reply));
		assert_int_equal(reply.body.u64, 0);
	}
	vhost_backend_info(p.b, &info);
	assert_int_equal(info.mem_regions, 1);
	assert_int_equal(info.messages, 20);
	peer_close(&p);
}

/* Many messages in one write, cut anywhere. */
static void test_run_together(void **state)
{
	struct vhost_user_hdr one = { VHOST_USER_GET_FEATURES,
		                      VHOST_USER_VERSION, 0 };
	char many[200 * sizeof(one)];
	struct peer_msg reply;
	struct peer p;
	size_t at = 0;

	(void)state;
	peer_open(&p);
	for (unsigned i = 0; i < 200; i++)
		memcpy(many + i * sizeof(one), &one, sizeof(one));
	while (at < sizeof(many)) {
		size_t n = 1 + rnd() % 100;

		n = min_of(n, sizeof(many) - at);
		peer_put(&p, many + at, n, NO_FDS);
		at += n;
		if (rnd() % 3 == 0)
			peer_turn(&p);
	}
	for (unsigned i = 0; i < 200; i++) {
		assert_true(peer_receive(&p, &reply));
		assert_int_equal(reply.hdr.request, VHOST_USER_GET_FEATURES);
	}
	peer_close(&p);
}

/* Descriptors in the middle of a message are nobody's: closed, session over. */
static void test_late_fds(void **state)
{
	struct vhost_user_hdr h = { VHOST_USER_GET_FEATURES, VHOST_USER_VERSION,
		                    0 };
	unsigned before;
	struct peer p;

	(void)state;
	open_server(&p);
	reconnect(&p);
	before = peer_open_fds();
	for (unsigned i = 0; i < 50; i++) {
		peer_put(&p, &h, 4, NO_FDS);
		peer_turn(&p);
		peer_put(&p, (char *)&h + 4, 8,
		         (struct peer_fds){ &p.memfd, 1 });
		assert_false(peer_is_connected(&p));
		reconnect(&p);
	}
	assert_int_equal(peer_open_fds(), before);
	peer_close(&p);
}

/* A front end that asks and never reads: it waits, others do not. */
static void test_never_reads(void **state)
{
	struct vhost_user_hdr h = { VHOST_USER_GET_FEATURES, VHOST_USER_VERSION,
		                    0 };
	struct vhost_info info;
	struct peer_msg reply;
	unsigned sent = 0, got = 0;
	struct peer p;

	(void)state;
	peer_open(&p);
	while (send(p.fd, &h, sizeof(h), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
		sent++;
		loop_turn(p.loop, 0);
	}
	vhost_backend_info(p.b, &info);
	assert_true(info.messages < sent);
	while (got < sent && peer_receive(&p, &reply))
		got++;
	assert_int_equal(got, sent);
	peer_close(&p);
}

/* --- widths ------------------------------------------------------------- */

/* An index is checked in the width that it has. */
static void test_indices(void **state)
{
	static const uint32_t request[] = { VHOST_USER_SET_VRING_NUM,
		                            VHOST_USER_SET_VRING_BASE,
		                            VHOST_USER_SET_VRING_ENABLE };
	static const uint32_t index[] = { PEER_QUEUES, 0xff,       0x100,
		                          0x10000,     0x10001,    0x10003,
		                          0x80000000,  0xffffffff, 0x1000000 };
	int fd = fd_event_new();
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_negotiate(&p, VIRTIO_F_VERSION_1);
	for (unsigned i = 0; i < array_len(index); i++) {
		struct vhost_user_vring_addr a = { .index = index[i] };

		for (unsigned r = 0; r < array_len(request); r++)
			assert_int_equal(peer_ask_state(&p, request[r],
			                                index[i], 1),
			                 1);
		assert_int_equal(peer_ask(&p, VHOST_USER_SET_VRING_ADDR, &a,
		                          sizeof(a), NO_FDS),
		                 1);
	}
	for (uint32_t r = VHOST_USER_SET_VRING_KICK;
	     r <= VHOST_USER_SET_VRING_ERR; r++) {
		assert_int_equal(peer_ask_fd(&p, r, PEER_QUEUES, fd), 1);
		assert_int_equal(peer_ask_fd(&p, r, 0x200, fd), 1);
		assert_int_equal(peer_ask_fd(&p, r, 0x10000, fd), 1);
		assert_int_equal(peer_ask_fd(&p, r, 1ull << 32, fd), 1);
		/* "no descriptor", and yet one */
		assert_int_equal(peer_ask_fd(&p, r, VHOST_USER_VRING_NOFD, fd),
		                 1);
	}
	assert_true(peer_is_connected(&p));
	for (unsigned i = 0; i < PEER_QUEUES; i++)
		assert_int_equal(peer_queue(&p, i).size, 0);
	close(fd);
	peer_close(&p);
}

/* Queue sizes against the layout, before and after it is known. */
static void test_sizes(void **state)
{
	static const struct {
		uint32_t size;
		bool split, packed;
	} sizes[] = { { 0, 0, 0 },     { 1, 1, 1 },         { 2, 1, 1 },
		      { 3, 0, 1 },     { 255, 0, 1 },       { 256, 1, 1 },
		      { 32768, 1, 1 }, { 32769, 0, 0 },     { 65536, 0, 0 },
		      { ~0u, 0, 0 },   { 0x10000100, 0, 0 } };
	struct peer p;

	(void)state;
	for (unsigned packed = 0; packed < 2; packed++) {
		peer_open(&p);
		peer_negotiate(&p, VIRTIO_F_VERSION_1 |
		                           (packed ? VIRTIO_F_RING_PACKED : 0));
		for (unsigned i = 0; i < array_len(sizes); i++) {
			bool legal = packed ? sizes[i].packed : sizes[i].split;

			assert_int_equal(
				peer_ask_state(&p, VHOST_USER_SET_VRING_NUM, 0,
			                       sizes[i].size),
				!legal);
		}
		peer_close(&p);
	}
}

/* Descriptors that cannot signal, or would raise a signal in us. */
static void test_wrong_fds(void **state)
{
	int null = open("/dev/null", O_RDWR), dir = open("/", O_RDONLY);
	int s[2], pipes[2];
	struct peer p;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	assert_int_equal(pipe(pipes), 0);
	peer_open(&p);
	for (uint32_t r = VHOST_USER_SET_VRING_KICK;
	     r <= VHOST_USER_SET_VRING_ERR; r++) {
		assert_int_equal(peer_ask_fd(&p, r, 0, null), 1);
		assert_int_equal(peer_ask_fd(&p, r, 0, dir), 1);
		assert_int_equal(peer_ask_fd(&p, r, 0, p.memfd), 1);
		assert_int_equal(peer_ask_fd(&p, r, 0, s[0]), 1);
	}
	assert_int_equal(peer_ask_fd(&p, VHOST_USER_SET_VRING_KICK, 0,
	                             pipes[0]),
	                 0);
	assert_int_equal(peer_ask_fd(&p, VHOST_USER_SET_VRING_CALL, 0,
	                             pipes[1]),
	                 1);
	peer_close(&p);
	close(null);
	close(dir);
	close(s[0]);
	close(s[1]);
	close(pipes[0]);
	close(pipes[1]);
}

/* A ring that the driver breaks is told on its error descriptor; the others
 * and the session go on. */
static void test_broken_ring(void **state)
{
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_run(&p, VIRTIO_F_VERSION_1, 0, 16);
	peer_setup_ring(&p, 1, 16);
	peer_echo(&p, 0, 3);
	p.mem[0x4000 + 2] = 0xff; /* available index */
	fd_event_signal(p.ring[0].kick);
	peer_turn(&p);
	assert_string_equal(peer_queue(&p, 0).fault, "bad-jump");
	assert_true(fd_event_drain(p.ring[0].err));
	peer_echo(&p, 1, 20);
	assert_int_equal(peer_get_base(&p, 0), 3);
	peer_setup_ring(&p, 0, 16);
	assert_string_equal(peer_queue(&p, 0).fault, "none");
	peer_echo(&p, 0, 3);
	peer_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_message),
		cmocka_unit_test(test_right_shape),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_run_together),
		cmocka_unit_test(test_late_fds),
		cmocka_unit_test(test_never_reads),
		cmocka_unit_test(test_indices),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_wrong_fds),
		cmocka_unit_test(test_broken_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
