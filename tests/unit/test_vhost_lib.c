/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vhost_lib.c - <viaduct/device.h> and <viaduct/queue.h>: chains held and
 * given back in any order, devices that leave chains where they are, and the
 * caller's own loop.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/fd.h"
#include "peer.h"

struct dev {
	struct vd_queue *q;
	struct vd_chain held[VD_CHAINS_MAX + 1];
	unsigned n, readies, starts, stops, connects;
	bool echo; /* give all back at once, 0x5a in it */
	bool lazy; /* take nothing */
	int last;  /* what take answered */
};

static void put(struct vd_queue *q, const struct vd_chain *c)
{
	for (unsigned i = 0; i < c->nin; i++)
		memset(c->in[i].iov_base, 0x5a, c->in[i].iov_len);
	assert_int_equal(vd_queue_give(q, c, c->in_len), 0);
}

static void ready(void *ctx, struct vd_queue *q)
{
	struct dev *d = ctx;
	struct vd_chain c;

	d->readies++;
	d->q = q;
	if (d->lazy)
		return;
	while ((d->last = vd_queue_take(q, &c)) > 0) {
		if (d->echo)
			put(q, &c);
		else
			d->held[d->n++] = c;
	}
	vd_queue_flush(q);
}

static void start(void *ctx, struct vd_queue *q)
{
	((struct dev *)ctx)->starts++;
	((struct dev *)ctx)->q = q;
}

static void stop(void *ctx, struct vd_queue *q)
{
	(void)q;
	((struct dev *)ctx)->stops++;
}

static void connected(void *ctx)
{
	((struct dev *)ctx)->connects++;
}

static int get_config(void *ctx, void *to, size_t off, size_t len)
{
	(void)ctx;
	memset(to, 7, len);
	return off + len <= 8 ? 0 : -EINVAL;
}

static const struct vd_device_ops ops = {
	.size = sizeof(ops),
	.features = VIRTIO_BIT(5),
	.queues = 2,
	.config_size = 8,
	.connected = connected,
	.queue_start = start,
	.queue_stop = stop,
	.queue_ready = ready,
	.get_config = get_config,
};

static unsigned reap(struct peer *p)
{
	struct drv_done done[128];
	int n = drv_reap(&p->ring[0].drv, done, 128);

	assert_true(n >= 0);
	return (unsigned)n;
}

static void open_running(struct peer *p, struct dev *d, uint32_t size)
{
	peer_open_lib(p, &ops, d);
	peer_run(p, VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX, 0, size);
	peer_turn(p);
	assert_int_equal(d->starts, 1);
	assert_int_equal(d->connects, 1);
}

static void test_echo(void **state)
{
	struct dev d = { .echo = true };
	struct peer p;

	(void)state;
	open_running(&p, &d, 64);
	peer_echo(&p, 0, 1000);
	assert_int_equal(vd_queue_index(d.q), 0);
	assert_string_equal(vd_queue_fault(d.q), "none");
	peer_close(&p);
	assert_int_equal(d.stops, 1);
}

/* Held as long as one likes, given back from the last to the first. */
static void test_hold(void **state)
{
	struct dev d = { 0 };
	struct peer p;

	(void)state;
	open_running(&p, &d, 256);
	for (unsigned i = 0; i < 40; i++)
		peer_offer(&p, 0, 8, 16);
	peer_turn(&p);
	assert_int_equal(d.n, 40);
	assert_int_equal(reap(&p), 0);
	assert_int_equal(d.held[7].out_len, 8);
	assert_int_equal(d.held[7].in_len, 16);
	assert_int_equal(d.held[7].nin, 1);
	assert_int_equal(vd_queue_give(d.q, &d.held[3], 17), -EINVAL);
	while (d.n)
		put(d.q, &d.held[--d.n]);
	assert_int_equal(vd_queue_give(d.q, &d.held[0], 0), -EINVAL);
	assert_int_equal(reap(&p), 0);
	vd_queue_flush(d.q);
	assert_int_equal(reap(&p), 40);
	peer_close(&p);
}

/* More than can be held: told so, and told again when there is room. */
static void test_too_many(void **state)
{
	struct dev d = { 0 };
	struct peer p;

	(void)state;
	open_running(&p, &d, 256);
	for (unsigned i = 0; i < VD_CHAINS_MAX + 10; i++)
		peer_offer(&p, 0, 8, 16);
	peer_turn(&p);
	assert_int_equal(d.n, VD_CHAINS_MAX);
	assert_int_equal(d.last, -ENOBUFS);
	d.readies = 0;
	for (unsigned i = 0; i < 10; i++)
		peer_turn(&p);
	assert_int_equal(d.readies, 0); /* does not spin */
	d.echo = true;
	while (d.n)
		put(d.q, &d.held[--d.n]);
	vd_queue_flush(d.q);
	for (unsigned i = 0; i < 10; i++)
		peer_turn(&p);
	assert_int_equal(reap(&p), VD_CHAINS_MAX + 10);
	peer_echo(&p, 0, 10);
	peer_close(&p);
}

/* A device that takes when it likes, as one with input from elsewhere. */
static void test_leave(void **state)
{
	struct dev d = { .lazy = true };
	struct vd_chain c;
	struct peer p;

	(void)state;
	open_running(&p, &d, 64);
	for (unsigned i = 0; i < 5; i++)
		peer_offer(&p, 0, 0, 16);
	peer_turn(&p);
	d.readies = 0;
	for (unsigned i = 0; i < 10; i++)
		peer_turn(&p);
	assert_int_equal(d.readies, 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(vd_queue_take(d.q, &c), 1);
		put(d.q, &c);
		vd_queue_flush(d.q);
		assert_int_equal(reap(&p), 1);
	}
	assert_int_equal(vd_queue_take(d.q, &c), 0);
	peer_turn(&p); /* asks for kicks again */
	d.readies = 0;
	peer_offer(&p, 0, 0, 16);
	peer_turn(&p);
	assert_true(d.readies > 0);
	peer_close(&p);
}

/* A chain does not outlive its queue's stop. */
static void test_stop(void **state)
{
	struct dev d = { 0 };
	struct vd_chain c;
	struct peer p;

	(void)state;
	open_running(&p, &d, 64);
	peer_offer(&p, 0, 8, 16);
	peer_turn(&p);
	assert_int_equal(d.n, 1);
	peer_get_base(&p, 0);
	assert_int_equal(vd_queue_take(d.q, &c), -ENOTCONN);
	assert_int_equal(vd_queue_give(d.q, &d.held[0], 1), -ESTALE);
	vd_queue_flush(d.q);
	peer_setup_ring(&p, 0, 64);
	peer_turn(&p);
	assert_int_equal(vd_queue_give(d.q, &d.held[0], 1), -ESTALE);
	d.echo = true;
	peer_echo(&p, 0, 5);
	peer_close(&p);
}

static void test_broken(void **state)
{
	struct dev d = { .echo = true };
	struct vd_chain c;
	struct peer p;

	(void)state;
	open_running(&p, &d, 64);
	peer_echo(&p, 0, 1);
	p.mem[0x4000 + 3] = 0x70; /* available index */
	fd_event_signal(p.ring[0].kick);
	peer_turn(&p);
	assert_string_equal(vd_queue_fault(d.q), "bad-jump");
	assert_int_equal(vd_queue_take(d.q, &c), -EBADMSG);
	peer_close(&p);
}

/* The caller's own loop: the descriptor says when, timers too. */
static void test_own_loop(void **state)
{
	struct pollfd pfd = { .events = POLLIN };
	struct dev d = { .echo = true };
	struct peer p;

	(void)state;
	open_running(&p, &d, 64);
	pfd.fd = vd_backend_fd(p.lib);
	assert_true(pfd.fd >= 0);
	for (unsigned i = 0; i < 5; i++)
		peer_turn(&p);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	for (unsigned i = 0; i < 50; i++) {
		unsigned got = 0;

		peer_offer(&p, 0, 8, 16);
		while (!got) {
			assert_int_equal(poll(&pfd, 1, 5000), 1);
			assert_int_equal(vd_backend_process(p.lib), 0);
			got = reap(&p);
			drv_call_enable(&p.ring[0].drv, 1);
		}
	}
	peer_close(&p);
}

static int new_error(struct vd_device_ops o, struct vd_backend_opts b)
{
	struct vd_backend *x;
	int err = 0;

	x = vd_backend_new(&o, NULL, &b, &err);
	assert_true(!x == (err != 0));
	vd_backend_free(x);
	return err;
}

static void test_options(void **state)
{
	struct vd_backend_opts b = { .size = sizeof(b),
		                     .socket = "/tmp/viaduct-lib.sock" };
	struct {
		struct vd_device_ops ops;
		uint64_t more;
	} grown = { .ops = ops };
	struct vd_device_ops bad = ops;
	int err;

	(void)state;
	assert_int_equal(new_error(ops, b), 0);
	bad.queue_ready = NULL;
	assert_int_equal(new_error(bad, b), -EINVAL);
	bad = ops;
	bad.queues = 0;
	assert_int_equal(new_error(bad, b), -EINVAL);
	bad.queues = 257;
	assert_int_equal(new_error(bad, b), -EINVAL);
	bad = ops;
	bad.size = 0;
	assert_int_equal(new_error(bad, b), -EINVAL);
	bad = ops;
	bad.get_config = NULL;
	assert_int_equal(new_error(bad, b), -EINVAL);
	b.socket = "/no/such/folder/x";
	assert_int_equal(new_error(ops, b), -ENOENT);
	b.socket = "/tmp/viaduct-lib.sock";

	/* a newer application, with and without something we cannot do */
	grown.ops.size = sizeof(grown);
	vd_backend_free(vd_backend_new(&grown.ops, NULL, &b, &err));
	grown.more = 1;
	assert_null(vd_backend_new(&grown.ops, NULL, &b, &err));
	assert_int_equal(err, -E2BIG);
	vd_backend_free(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo),     cmocka_unit_test(test_hold),
		cmocka_unit_test(test_too_many), cmocka_unit_test(test_leave),
		cmocka_unit_test(test_stop),     cmocka_unit_test(test_broken),
		cmocka_unit_test(test_own_loop), cmocka_unit_test(test_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
