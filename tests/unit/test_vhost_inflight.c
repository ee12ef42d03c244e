/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vhost_inflight.c - the record of what a device holds: made, brought
 * back, refused; and a successor that takes up what was left.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "peer.h"

static const uint64_t layouts[] = {
	VIRTIO_F_VERSION_1,
	VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX,
	VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED,
	VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED | VIRTIO_F_EVENT_IDX,
};

static bool get(struct peer *p, uint16_t queues, uint16_t size,
                struct peer_msg *m)
{
	struct vhost_user_inflight i = { .num_queues = queues,
		                         .queue_size = size };

	peer_send(p, VHOST_USER_GET_INFLIGHT_FD, &i, sizeof(i), NO_FDS);
	return peer_receive(p, m);
}

static int set(struct peer *p, const struct vhost_user_inflight *i, int fd)
{
	return peer_ask(p, VHOST_USER_SET_INFLIGHT_FD, i, sizeof(*i),
	                (struct peer_fds){ &fd, 1 });
}

static void test_made(void **state)
{
	(void)state;
	for (unsigned i = 0; i < array_len(layouts); i++) {
		unsigned before;
		struct peer_msg m;
		struct stat st;
		struct peer p;

		peer_open(&p);
		peer_negotiate(&p, layouts[i]);
		before = peer_open_fds();
		for (unsigned n = 1; n <= PEER_QUEUES; n++) {
			assert_true(get(&p, n, 128, &m));
			assert_int_equal(m.hdr.size, sizeof(m.body.inflight));
			assert_int_equal(m.nfds, 1);
			assert_int_equal(fstat(m.fd[0], &st), 0);
			assert_true(m.body.inflight.mmap_size >= n * 128u * 16);
			assert_int_equal(st.st_size, m.body.inflight.mmap_size);
			assert_int_equal(ftruncate(m.fd[0], 0), -1);
			assert_int_equal(set(&p, &m.body.inflight, m.fd[0]), 0);
			close(m.fd[0]);
		}
		assert_int_equal(peer_open_fds(), before);
		peer_close(&p);
	}
}

/* Asked for too much, the session is over: there is no other way to say no. */
static void test_made_refused(void **state)
{
	static const uint16_t bad[][2] = {
		{ 0, 128 },         { PEER_QUEUES + 1, 128 },
		{ 0xffff, 0xffff }, { 1, 0 },
		{ 1, 32769 },       { 1, 0xffff }
	};

	(void)state;
	for (unsigned i = 0; i < array_len(bad); i++) {
		struct peer_msg m;
		struct peer p;

		peer_open(&p);
		peer_negotiate(&p, layouts[0]);
		assert_false(get(&p, bad[i][0], bad[i][1], &m));
		peer_close(&p);
	}
}

static void test_brought_refused(void **state)
{
	struct vhost_user_inflight good, x;
	struct peer_msg m;
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_negotiate(&p, layouts[0]);
	assert_true(get(&p, 2, 16, &m));
	good = m.body.inflight;
	x = good;
	x.mmap_size = good.mmap_size + 1; /* behind the file's end */
	assert_int_equal(set(&p, &x, m.fd[0]), 1);
	x.mmap_size = UINT64_MAX;
	assert_int_equal(set(&p, &x, m.fd[0]), 1);
	x.mmap_size = 0;
	assert_int_equal(set(&p, &x, m.fd[0]), 1);
	x = good;
	x.mmap_offset = UINT64_MAX - 7;
	assert_int_equal(set(&p, &x, m.fd[0]), 1);
	x.mmap_offset = 4;
	x.mmap_size -= 64;
	assert_int_equal(set(&p, &x, m.fd[0]), 1);
	x = good;
	x.num_queues = PEER_QUEUES + 1;
	assert_int_equal(set(&p, &x, m.fd[0]), 1);
	x = good;
	x.queue_size = 0;
	assert_int_equal(set(&p, &x, m.fd[0]), 1);
	close(m.fd[0]);
	peer_close(&p);
}

static int start(struct peer *p, unsigned index, uint32_t size)
{
	peer_ask_state(p, VHOST_USER_SET_VRING_NUM, index, size);
	peer_set_addr(p, index, 0);
	return peer_ask_fd(p, VHOST_USER_SET_VRING_KICK, index, -1);
}

/* More queues, or larger ones, than there is memory for: no start, no write. */
static void test_too_small(void **state)
{
	static const struct {
		uint16_t queues, size;
		uint64_t less;
		unsigned index;
		uint32_t ring;
		int code;
	} cases[] = { { 2, 64, 0, 1, 64, 0 },   { 2, 64, 0, 1, 32, 0 },
		      { 2, 64, 0, 2, 64, 1 },   { 2, 64, 0, 0, 128, 1 },
		      { 2, 64, 64, 1, 64, 1 },  { 2, 64, 64, 0, 64, 0 },
		      { 1, 64, 1000, 0, 64, 1 } };

	(void)state;
	for (unsigned i = 0; i < array_len(cases); i++) {
		struct vhost_user_inflight x;
		struct peer_msg m;
		struct peer p;

		peer_open(&p);
		peer_negotiate(&p, layouts[0]);
		peer_set_memory(&p);
		assert_true(get(&p, cases[i].queues, cases[i].size, &m));
		x = m.body.inflight;
		x.mmap_size -= cases[i].less;
		assert_int_equal(set(&p, &x, m.fd[0]), 0);
		close(m.fd[0]);
		assert_int_equal(start(&p, cases[i].index, cases[i].ring),
		                 cases[i].code);
		assert_int_equal(peer_queue(&p, cases[i].index).started,
		                 !cases[i].code);
		peer_close(&p);
	}
}

/* Not while rings keep their records in the old one. */
static void test_not_while_running(void **state)
{
	struct peer_msg m;
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_run(&p, layouts[0], 0, 16);
	assert_true(get(&p, 1, 16, &m));
	assert_int_equal(set(&p, &m.body.inflight, m.fd[0]), 1);
	close(m.fd[0]);
	peer_echo(&p, 0, 3);
	peer_close(&p);
}

/* --- a successor -------------------------------------------------------- */

/* Takes everything and gives every third chain back. */
static int hold(void *ctx, struct vd_queue *q)
{
	struct burst *b = &q->burst;
	int n;

	(void)ctx;
	b->n = b->nseg = 0;
	n = ring_take_any(&q->ring, b, 16);
	for (int i = 0; i < n; i += 3)
		ring_give_any(&q->ring, b, &b->chain[i], 0);
	if (n > 0)
		queue_flush(q);
	return n;
}

/* A new back end for the old guest: connection, memory and ring as they were.
 */
static void succeed(struct peer *p, const struct vhost_user_inflight *i, int fd)
{
	struct vhost_backend_conf c = { .tag = "next" };
	int s[2], err;

	fd_close(&p->fd);
	vhost_backend_free(p->b);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s),
	                 0);
	c.fd = s[0];
	p->fd = s[1];
	p->b = vhost_backend_new(p->loop, &p->dev.ops, &p->dev, &c, &err);
	assert_non_null(p->b);
	peer_negotiate(p, p->features & ~VHOST_USER_F_PROTOCOL_FEATURES);
	peer_set_memory(p);
	assert_int_equal(set(p, i, fd), 0);
	peer_ask_state(p, VHOST_USER_SET_VRING_NUM, 0, 64);
	peer_set_addr(p, 0, 0);
	assert_int_equal(peer_ask_fd(p, VHOST_USER_SET_VRING_CALL, 0,
	                             p->ring[0].call),
	                 0);
	assert_int_equal(peer_ask_fd(p, VHOST_USER_SET_VRING_KICK, 0,
	                             p->ring[0].kick),
	                 0);
}

static void test_successor(void **state)
{
	(void)state;
	for (unsigned i = 0; i < array_len(layouts); i++) {
		int (*answer)(void *, struct vd_queue *);
		struct drv_done done[32];
		struct peer_msg m;
		struct peer p;
		int n, all;

		peer_open(&p);
		answer = p.dev.ops.queue_ready;
		p.dev.ops.queue_ready = hold;
		peer_negotiate(&p, layouts[i] & ~VIRTIO_F_IN_ORDER);
		peer_set_memory(&p);
		assert_true(get(&p, 1, 64, &m));
		assert_int_equal(set(&p, &m.body.inflight, m.fd[0]), 0);
		peer_setup_ring(&p, 0, 64);
		for (unsigned k = 0; k < 12; k++)
			peer_offer(&p, 0, 8, 16);
		peer_turn(&p);
		all = drv_reap(&p.ring[0].drv, done, 32);
		assert_in_range(all, 1, 11); /* some are held */

		p.dev.ops.queue_ready = answer;
		succeed(&p, &m.body.inflight, m.fd[0]);
		for (unsigned k = 0; k < 20; k++)
			peer_turn(&p);
		while ((n = drv_reap(&p.ring[0].drv, done, 32)) > 0) {
			for (int k = 0; k < n; k++)
				assert_int_equal(done[k].written, 16);
			all += n;
		}
		assert_int_equal(n, 0);
		assert_int_equal(all, 12); /* each once */
		peer_echo(&p, 0, 200);
		close(m.fd[0]);
		peer_close(&p);
	}
}

/* Stopped with nothing in flight: the driver may start its ring anew. */
static void test_fresh_after_stop(void **state)
{
	(void)state;
	for (unsigned i = 0; i < array_len(layouts); i++) {
		struct peer_msg m;
		struct peer p;

		peer_open(&p);
		peer_negotiate(&p, layouts[i]);
		peer_set_memory(&p);
		assert_true(get(&p, 1, 64, &m));
		assert_int_equal(set(&p, &m.body.inflight, m.fd[0]), 0);
		close(m.fd[0]);
		for (unsigned k = 0; k < 5; k++) {
			peer_setup_ring(&p, 0, 64);
			peer_echo(&p, 0, 100 + k);
			peer_get_base(&p, 0);
		}
		peer_close(&p);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made),
		cmocka_unit_test(test_made_refused),
		cmocka_unit_test(test_brought_refused),
		cmocka_unit_test(test_too_small),
		cmocka_unit_test(test_not_while_running),
		cmocka_unit_test(test_successor),
		cmocka_unit_test(test_fresh_after_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
