/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The front end against a back end that was scripted: its answer lies in the
 * socket before the question is asked. Right answers, refusals, and every way
 * for an answer to be wrong, short, late or missing.
 */
#include "driver/front.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

#define TIMEOUT_MS 50u
#define REPLY      (VHOST_USER_VERSION | VHOST_USER_F_REPLY)

struct bench {
	struct front f;
	int peer; /* the back end's end of the socket */
};

static int setup(void **state)
{
	static struct bench b;
	int pair[2];

	*state = &b;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	fd_set_nonblock(pair[0]);
	front_open(&b.f, pair[0], TIMEOUT_MS, "test");
	b.peer = pair[1];
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	front_close(&b->f);
	fd_close(&b->peer);
	return 0;
}

static void answer_fds(struct bench *b, struct vhost_user_hdr h,
                       const void *body, const int *fds, unsigned nfds)
{
	struct sock s = { .fd = b->peer, .side_fd = -1 };
	struct sock_msg m = { .hdr = h, .nfds = nfds };

	memcpy(&m.body, body, h.size);
	for (unsigned i = 0; i < nfds; i++)
		m.fd[i] = fds[i];
	assert_int_equal(sock_send(&s, &m, UINT64_MAX), 0);
}

static void answer(struct bench *b, uint32_t request, uint32_t flags,
                   uint32_t size, const void *body)
{
	answer_fds(b, (struct vhost_user_hdr){ request, flags, size }, body,
	           NULL, 0);
}

static void answer_u64(struct bench *b, uint32_t request, uint64_t value)
{
	answer(b, request, REPLY, sizeof(value), &value);
}

/* What the front end sent. */
static void question(struct bench *b, struct sock_msg *m)
{
	struct sock s = { .fd = b->peer, .side_fd = -1 };

	assert_int_equal(sock_recv(&s, m, UINT64_MAX), 0);
	assert_int_equal(m->hdr.flags & VHOST_USER_VERSION_MASK,
	                 VHOST_USER_VERSION);
	assert_false(m->hdr.flags & VHOST_USER_F_REPLY);
}

static void negotiate(struct bench *b, uint64_t protocol)
{
	struct sock_msg m;

	assert_int_equal(front_set_u64(&b->f, VHOST_USER_SET_PROTOCOL_FEATURES,
	                               protocol),
	                 0);
	question(b, &m);
	assert_int_equal(m.body.u64, protocol);
	assert_false(m.hdr.flags & VHOST_USER_F_NEED_REPLY);
}

static void test_number(void **state)
{
	struct bench *b = *state;
	struct sock_msg m;
	uint64_t v;

	answer_u64(b, VHOST_USER_GET_FEATURES, 0x1234567890abcdef);
	assert_int_equal(front_get_u64(&b->f, VHOST_USER_GET_FEATURES, &v), 0);
	assert_true(v == 0x1234567890abcdef);
	question(b, &m);
	assert_int_equal(m.hdr.request, VHOST_USER_GET_FEATURES);
	assert_int_equal(m.hdr.size, 0);
	assert_true(front_is_open(&b->f));
}

static void test_ack_only_when_negotiated(void **state)
{
	struct bench *b = *state;
	struct sock_msg m;

	assert_int_equal(front_tell(&b->f, VHOST_USER_SET_OWNER), 0);
	question(b, &m);
	assert_false(m.hdr.flags & VHOST_USER_F_NEED_REPLY);

	negotiate(b, VHOST_USER_PROTOCOL_F_REPLY_ACK);
	answer_u64(b, VHOST_USER_SET_VRING_NUM, 0);
	assert_int_equal(front_set_vring(&b->f, VHOST_USER_SET_VRING_NUM, 3,
	                                 256),
	                 0);
	question(b, &m);
	assert_true(m.hdr.flags & VHOST_USER_F_NEED_REPLY);
	assert_int_equal(m.body.state.index, 3);
	assert_int_equal(m.body.state.num, 256);
}

static void test_refusal_keeps_the_session(void **state)
{
	struct bench *b = *state;

	negotiate(b, VHOST_USER_PROTOCOL_F_REPLY_ACK);
	answer_u64(b, VHOST_USER_SET_VRING_NUM, 1);
	assert_int_equal(front_set_vring(&b->f, VHOST_USER_SET_VRING_NUM, 0,
	                                 256),
	                 -EREMOTEIO);
	assert_true(front_is_open(&b->f));
	answer_u64(b, VHOST_USER_SET_VRING_NUM, 0);
	assert_int_equal(front_set_vring(&b->f, VHOST_USER_SET_VRING_NUM, 0,
	                                 256),
	                 0);
}

/* A row an answer that cannot be right. */
static const struct {
	const char *what;
	uint32_t request, flags, size;
} wrong[] = {
	{ "other message", VHOST_USER_SET_FEATURES, REPLY, 8 },
	{ "no such message", 99, REPLY, 8 },
	{ "no reply flag", VHOST_USER_GET_FEATURES, VHOST_USER_VERSION, 8 },
	{ "version 0", VHOST_USER_GET_FEATURES, VHOST_USER_F_REPLY, 8 },
	{ "version 2", VHOST_USER_GET_FEATURES, VHOST_USER_F_REPLY | 2, 8 },
	{ "empty", VHOST_USER_GET_FEATURES, REPLY, 0 },
	{ "four bytes", VHOST_USER_GET_FEATURES, REPLY, 4 },
	{ "twelve bytes", VHOST_USER_GET_FEATURES, REPLY, 12 },
};

static void test_wrong_answers(void **state)
{
	struct bench *b = *state;
	static const uint8_t zero[64];
	uint64_t v;

	for (size_t i = 0; i < array_len(wrong); i++) {
		answer(b, wrong[i].request, wrong[i].flags, wrong[i].size,
		       zero);
		if (front_get_u64(&b->f, VHOST_USER_GET_FEATURES, &v) !=
		    -EPROTO)
			fail_msg("%s: accepted", wrong[i].what);
		assert_false(front_is_open(&b->f));
		assert_int_equal(front_get_u64(&b->f, VHOST_USER_GET_FEATURES,
		                               &v),
		                 -ENOTCONN);
		teardown(state);
		setup(state);
	}
}

static void test_absurd_size(void **state)
{
	struct bench *b = *state;
	struct vhost_user_hdr h = { VHOST_USER_GET_FEATURES, REPLY,
		                    0xffffffff };
	uint64_t v;

	assert_int_equal(write(b->peer, &h, sizeof(h)), sizeof(h));
	assert_int_equal(front_get_u64(&b->f, VHOST_USER_GET_FEATURES, &v),
	                 -EPROTO);
}

static void test_no_answer(void **state)
{
	struct bench *b = *state;
	uint64_t v;

	assert_int_equal(front_get_u64(&b->f, VHOST_USER_GET_FEATURES, &v),
	                 -ETIMEDOUT);
	assert_false(front_is_open(&b->f));
}

/* The answer ends after each of its bytes: then silence, or a closed socket. */
static void test_short_answers(void **state)
{
	struct bench *b = *state;
	struct {
		struct vhost_user_hdr h;
		uint8_t v[8];
	} a = { { VHOST_USER_GET_FEATURES, REPLY, 8 }, { 0 } };

	for (size_t n = 0; n < sizeof(a); n++) {
		uint64_t v;
		bool gone = n % 4; /* silence costs time: not always */

		if (n)
			assert_int_equal(write(b->peer, &a, n), (ssize_t)n);
		if (gone)
			fd_close(&b->peer);
		assert_int_equal(front_get_u64(&b->f, VHOST_USER_GET_FEATURES,
		                               &v),
		                 gone ? -ECONNRESET : -ETIMEDOUT);
		assert_false(front_is_open(&b->f));
		teardown(state);
		setup(state);
	}
}

static unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_stray_descriptors_are_closed(void **state)
{
	struct bench *b = *state;
	int fds[VHOST_USER_FDS_MAX];
	unsigned before = open_fds();

	for (unsigned n = 1; n <= VHOST_USER_FDS_MAX; n++) {
		uint64_t v = 7;

		for (unsigned i = 0; i < n; i++)
			fds[i] = b->peer;
		answer_fds(b,
		           (struct vhost_user_hdr){ VHOST_USER_GET_FEATURES,
		                                    REPLY, 8 },
		           &v, fds, n);
		assert_int_equal(front_get_u64(&b->f, VHOST_USER_GET_FEATURES,
		                               &v),
		                 -EPROTO);
		teardown(state);
		setup(state);
		assert_int_equal(open_fds(), before);
	}
}

static void test_inflight_descriptor(void **state)
{
	struct bench *b = *state;
	struct vhost_user_inflight i = { .num_queues = 2, .queue_size = 64 };
	struct vhost_user_inflight got = { 4096, 0, 2, 64, 0 };
	struct sock_msg m;
	int fd = -1;

	/* Both lengths that peers use. */
	for (uint32_t size = 20; size <= 24; size += 4) {
		answer_fds(b,
		           (struct vhost_user_hdr){ VHOST_USER_GET_INFLIGHT_FD,
		                                    REPLY, size },
		           &got, &b->peer, 1);
		assert_int_equal(front_get_inflight(&b->f, &i, &fd), 0);
		assert_int_equal(i.mmap_size, 4096);
		fd_close(&fd);
		question(b, &m);
	}
	/* An answer without its descriptor is no answer. */
	answer(b, VHOST_USER_GET_INFLIGHT_FD, REPLY, 24, &got);
	assert_int_equal(front_get_inflight(&b->f, &i, &fd), -EPROTO);
	assert_int_equal(fd, -1);
}

static void test_vring_base(void **state)
{
	struct bench *b = *state;
	struct vhost_user_vring_state s = { 1, 77 };
	uint32_t base;

	answer(b, VHOST_USER_GET_VRING_BASE, REPLY, sizeof(s), &s);
	assert_int_equal(front_get_vring_base(&b->f, 1, &base), 0);
	assert_int_equal(base, 77);
	/* The base of another ring. */
	answer(b, VHOST_USER_GET_VRING_BASE, REPLY, sizeof(s), &s);
	assert_int_equal(front_get_vring_base(&b->f, 0, &base), -EPROTO);
	assert_false(front_is_open(&b->f));
}

static void test_config(void **state)
{
	struct bench *b = *state;
	struct vhost_user_config c = { .offset = 0, .size = 6 };
	uint8_t mac[6];

	memcpy(c.bytes, "\x52\x54\x00\x01\x02\x03", 6);
	answer(b, VHOST_USER_GET_CONFIG, REPLY, 18, &c);
	assert_int_equal(front_get_config(&b->f, mac, 0, 6), 0);
	assert_memory_equal(mac, c.bytes, 6);

	/* An empty payload is how a back end says no. */
	answer(b, VHOST_USER_GET_CONFIG, REPLY, 0, &c);
	assert_int_equal(front_get_config(&b->f, mac, 0, 6), -EREMOTEIO);
	assert_true(front_is_open(&b->f));

	/* More, less, or another place than was asked for. */
	answer(b, VHOST_USER_GET_CONFIG, REPLY, 16, &c);
	assert_int_equal(front_get_config(&b->f, mac, 0, 6), -EPROTO);
	assert_int_equal(front_get_config(&b->f, mac, 0, 257), -E2BIG);
}

static void test_descriptor_or_none(void **state)
{
	struct bench *b = *state;
	struct sock_msg m;

	assert_int_equal(front_set_vring_fd(&b->f, VHOST_USER_SET_VRING_KICK, 5,
	                                    0),
	                 0);
	question(b, &m);
	assert_int_equal(m.body.u64, 5);
	assert_int_equal(m.nfds, 1);
	sock_msg_drop(&m);

	assert_int_equal(front_set_vring_fd(&b->f, VHOST_USER_SET_VRING_CALL, 5,
	                                    -1),
	                 0);
	question(b, &m);
	assert_int_equal(m.body.u64, 5 | VHOST_USER_VRING_NOFD);
	assert_int_equal(m.nfds, 0);
}

static void test_memory(void **state)
{
	struct bench *b = *state;
	struct vhost_user_region r[9] = { { 0x1000, 0x1000, 0x10000, 0 },
		                          { 0x2000, 0x1000, 0x11000, 4096 } };
	struct sock_msg m;

	assert_int_equal(front_set_memory(&b->f, r, 2, 0), 0);
	question(b, &m);
	assert_int_equal(m.hdr.request, VHOST_USER_SET_MEM_TABLE);
	assert_int_equal(m.hdr.size, 8 + 2 * 32);
	assert_int_equal(m.nfds, 2);
	assert_int_equal(m.body.mem.nregions, 2);
	assert_memory_equal(m.body.mem.region, r, 2 * 32);
	sock_msg_drop(&m);
	assert_int_equal(front_set_memory(&b->f, r, 9, 0), -E2BIG);

	/* With memory slots: one message a region, never more than there are
	 * slots. */
	negotiate(b, VHOST_USER_PROTOCOL_F_CONFIGURE_MEM_SLOTS);
	answer_u64(b, VHOST_USER_GET_MAX_MEM_SLOTS, 2);
	assert_int_equal(front_set_memory(&b->f, r, 2, 0), 0);
	question(b, &m);
	assert_int_equal(m.hdr.request, VHOST_USER_GET_MAX_MEM_SLOTS);
	for (int i = 0; i < 2; i++) {
		question(b, &m);
		assert_int_equal(m.hdr.request, VHOST_USER_ADD_MEM_REG);
		assert_int_equal(m.nfds, 1);
		assert_memory_equal(&m.body.mem_reg.region, &r[i], 32);
		sock_msg_drop(&m);
	}
	answer_u64(b, VHOST_USER_GET_MAX_MEM_SLOTS, 1);
	assert_int_equal(front_set_memory(&b->f, r, 2, 0), -E2BIG);
}

/* The back end asks on its own channel before it answers on ours. */
static void test_back_channel(void **state)
{
	struct bench *b = *state;
	struct vhost_user_hdr h = { VHOST_USER_BACKEND_CONFIG_CHANGE_MSG,
		                    VHOST_USER_VERSION |
		                            VHOST_USER_F_NEED_REPLY,
		                    0 };
	struct sock_msg m;
	struct sock back = { .side_fd = -1 };
	uint64_t v;

	assert_int_equal(front_open_back(&b->f), 0);
	question(b, &m);
	assert_int_equal(m.hdr.request, VHOST_USER_SET_BACKEND_REQ_FD);
	assert_int_equal(m.nfds, 1);
	back.fd = m.fd[0];

	assert_int_equal(write(back.fd, &h, sizeof(h)), sizeof(h));
	h.request = 77;
	assert_int_equal(write(back.fd, &h, sizeof(h)), sizeof(h));
	/* No answer on the main channel: both are served while it waits. */
	assert_int_equal(front_get_u64(&b->f, VHOST_USER_GET_FEATURES, &v),
	                 -ETIMEDOUT);
	assert_int_equal(b->f.config_changes, 1);
	assert_int_equal(sock_recv(&back, &m, UINT64_MAX), 0);
	assert_int_equal(m.hdr.request, VHOST_USER_BACKEND_CONFIG_CHANGE_MSG);
	assert_int_equal(m.body.u64, 0);
	assert_int_equal(sock_recv(&back, &m, UINT64_MAX), 0);
	assert_int_equal(m.hdr.request, 77);
	assert_int_not_equal(m.body.u64, 0);
	close(back.fd);
}

static void test_peer_gone_before_the_question(void **state)
{
	struct bench *b = *state;

	fd_close(&b->peer);
	assert_int_equal(front_tell(&b->f, VHOST_USER_SET_OWNER), -ECONNRESET);
	assert_false(front_is_open(&b->f));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_number),
		T(test_ack_only_when_negotiated),
		T(test_refusal_keeps_the_session),
		T(test_wrong_answers),
		T(test_absurd_size),
		T(test_no_answer),
		T(test_short_answers),
		T(test_stray_descriptors_are_closed),
		T(test_inflight_descriptor),
		T(test_vring_base),
		T(test_config),
		T(test_descriptor_or_none),
		T(test_memory),
		T(test_back_channel),
		T(test_peer_gone_before_the_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
