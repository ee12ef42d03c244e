/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver end against our own device end, in two threads over two mappings
 * of the same memory: every combination of layout, tables, event index, order
 * and mergeable buffers; random packets in random bursts, each checked byte by
 * byte when it comes back. Then more pairs, policies, big packets.
 */
#include <viaduct/driver.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "echo.h"

#define LEN_MAX 66000u
#define BURST   32u
#define PACKETS 3000u

#define RING_BITS                                                             \
	(VIRTIO_F_RING_PACKED | VIRTIO_F_INDIRECT_DESC | VIRTIO_F_EVENT_IDX | \
	 VIRTIO_F_IN_ORDER | VIRTIO_NET_F_MRG_RXBUF)

struct rig {
	struct echo e;
	struct vd_driver *d;
	char path[64];
	uint64_t seed;
	uint64_t sent, received;
	unsigned len_max;
	/* Packets in flight at most, and received at once: what is in flight,
	 * lent, or waits to be offered again fits into the ring. */
	unsigned window;
};

static unsigned slow(void)
{
	const char *s = getenv("VD_TEST_SLOW");
	int n = s ? atoi(s) : 1;

	return n > 0 ? (unsigned)n : 1;
}

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Packet number @seq: length and bytes follow from it. */
static unsigned make(const struct rig *r, uint64_t seq, uint8_t *at)
{
	uint64_t s = seq * 0x9e3779b97f4a7c15 + 1;
	unsigned len = 14 + next_random(&s) % (r->len_max - 13);

	for (unsigned i = 0; i < len; i += 8) {
		uint64_t x = next_random(&s);

		memcpy(at + i, &x, min_of(len - i, 8u));
	}
	return len;
}

static void rig_open(struct rig *r, uint64_t offer, struct vd_driver_opts *o)
{
	static unsigned count;
	int err = 0;

	*r = (struct rig){ .seed = 88172645463325252u + count,
		           .len_max = 1514,
		           .window = 40 };
	snprintf(r->path, sizeof(r->path), "/tmp/driver-pair-%d-%u.sock",
	         getpid(), count++);
	echo_start(&r->e, r->path, offer | VIRTIO_F_VERSION_1, PUMP_NOTIFY);
	o->size = sizeof(*o);
	o->socket = r->path;
	r->d = vd_driver_open(o, &err);
	if (!r->d)
		fail_msg("open: %s", strerror(-err));
}

static void rig_close(struct rig *r)
{
	struct vd_driver_stats s = { .size = sizeof(s) };

	vd_driver_stats(r->d, -1, &s);
	assert_int_equal(s.bad_packets, 0);
	assert_int_equal(s.faults, 0);
	vd_driver_close(r->d);
	echo_stop(&r->e);
	assert_int_equal(r->e.no_room, 0);
}

static void send_some(struct rig *r, unsigned pair, uint64_t until)
{
	static _Thread_local uint8_t frame[BURST][LEN_MAX];
	unsigned n = 1 + next_random(&r->seed) % BURST, k = 0;
	struct vd_packet p[BURST] = { 0 };
	struct iovec iov[BURST][2];
	int done;

	while (k < n && r->sent + k < until &&
	       r->sent + k - r->received < r->window) {
		unsigned len = make(r, r->sent + k, frame[k]);
		unsigned cut = next_random(&r->seed) % (len + 1);

		iov[k][0] = (struct iovec){ frame[k], cut };
		iov[k][1] = (struct iovec){ frame[k] + cut, len - cut };
		p[k] = (struct vd_packet){ .iov = iov[k], .niov = 2 };
		p[k].offload.hdr_len = (uint16_t)len;
		k++;
	}
	done = vd_driver_send(r->d, pair, p, k);
	assert_true(done >= 0);
	r->sent += (unsigned)done;
}

static void receive_some(struct rig *r, unsigned pair)
{
	static _Thread_local uint8_t want[LEN_MAX + 8];
	struct vd_packet p[BURST];
	int n;

	n = vd_driver_receive(r->d, pair, p,
	                      1 + next_random(&r->seed) %
	                                      min_of(BURST, r->window));
	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		unsigned len = make(r, r->received, want);
		size_t off = 0;

		assert_int_equal(p[i].len, len);
		assert_int_equal(p[i].offload.hdr_len, (uint16_t)len);
		for (unsigned k = 0; k < p[i].niov; k++) {
			assert_memory_equal(p[i].iov[k].iov_base, want + off,
			                    p[i].iov[k].iov_len);
			off += p[i].iov[k].iov_len;
		}
		assert_int_equal(off, len);
		r->received++;
	}
	if (next_random(&r->seed) & 1)
		vd_driver_release(r->d, pair);
}

static void exchange(struct rig *r, unsigned pair, uint64_t packets)
{
	uint64_t until = r->sent + packets;

	while (r->received < until) {
		if (r->sent < until)
			send_some(r, pair, until);
		receive_some(r, pair);
		if (r->sent - r->received < r->window && r->sent < until)
			continue;
		if (r->received < until)
			assert_int_not_equal(vd_driver_wait(r->d, pair,
			                                    VD_WAIT_RECEIVE,
			                                    5000),
			                     0);
	}
}

/* --- every combination ------------------------------------------------- */

static const uint64_t ring_bit[] = { VIRTIO_F_RING_PACKED,
	                             VIRTIO_F_INDIRECT_DESC, VIRTIO_F_EVENT_IDX,
	                             VIRTIO_F_IN_ORDER,
	                             VIRTIO_NET_F_MRG_RXBUF };

static void test_every_combination(void **state)
{
	(void)state;
	for (unsigned mask = 0; mask < 1u << array_len(ring_bit); mask++) {
		struct vd_driver_opts o = { .pieces = 1 + mask % 3 };
		struct vd_driver_info info = { .size = sizeof(info) };
		uint64_t bits = 0;
		struct rig r;

		for (unsigned i = 0; i < array_len(ring_bit); i++)
			bits |= mask >> i & 1 ? ring_bit[i] : 0;
		o.features_off = RING_BITS & ~bits;
		rig_open(&r, RING_BITS, &o);
		vd_driver_info(r.d, &info);
		assert_true((info.features & RING_BITS) == bits);
		exchange(&r, 0, PACKETS / slow());
		rig_close(&r);
	}
}

/* Chosen by the driver, not by the device. */
static void test_driver_chooses(void **state)
{
	(void)state;
	for (unsigned i = 0; i < array_len(ring_bit); i++) {
		struct vd_driver_opts o = { .features_off = ring_bit[i] };
		struct vd_driver_info info = { .size = sizeof(info) };
		struct rig r;

		rig_open(&r, RING_BITS, &o);
		vd_driver_info(r.d, &info);
		assert_true((info.features & RING_BITS) ==
		            (RING_BITS & ~ring_bit[i]));
		exchange(&r, 0, 500 / slow());
		rig_close(&r);
	}
}

/* --- shapes ------------------------------------------------------------ */

static const struct shape {
	const char *name;
	uint64_t bits;
	struct vd_driver_opts o;
	unsigned len_max, window;
} shapes[] = {
	{ "packed, odd size", RING_BITS, { .queue_size = 63 }, 1514, 15 },
	{ "packed, size 3", RING_BITS, { .queue_size = 3 }, 1514, 1 },
	{ "split, size 2",
	  RING_BITS & ~VIRTIO_F_RING_PACKED,
	  { .queue_size = 2 },
	  1514,
	  1 },
	{ "small mergeable buffers",
	  RING_BITS,
	  { .buffer_size = 64 },
	  1514,
	  2 },
	{ "small, split",
	  RING_BITS & ~VIRTIO_F_RING_PACKED,
	  { .buffer_size = 128 },
	  1514,
	  4 },
	{ "64 KiB packets", RING_BITS, { .queue_size = 256 }, 65550, 1 },
	{ "64 KiB packets, no tables",
	  RING_BITS & ~VIRTIO_F_INDIRECT_DESC,
	  { .pieces = 2, .queue_size = 512 },
	  65550,
	  1 },
	{ "many regions", RING_BITS, { .regions = 8, .pieces = 2 }, 1514, 40 },
	{ "17 pieces, split",
	  RING_BITS & ~VIRTIO_F_RING_PACKED,
	  { .pieces = 17 },
	  1514,
	  20 },
	{ "no protocol features",
	  RING_BITS,
	  { .protocol_off = ~UINT64_C(0) },
	  1514,
	  40 },
	{ "hugepages if there are any",
	  RING_BITS,
	  { .hugepages = true },
	  1514,
	  40 },
};

static void test_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_len(shapes); i++) {
		struct vd_driver_opts o = shapes[i].o;
		struct rig r;

		print_message("           %s\n", shapes[i].name);
		o.features_off = RING_BITS & ~shapes[i].bits;
		rig_open(&r, RING_BITS, &o);
		r.len_max = shapes[i].len_max;
		r.window = shapes[i].window;
		exchange(&r, 0, PACKETS / slow() / (r.len_max > 1514 ? 10 : 1));
		rig_close(&r);
	}
}

/* --- pairs ------------------------------------------------------------- */

static void test_pairs(void **state)
{
	struct vd_driver_opts o = { .queue_pairs = 9 };
	struct vd_driver_info info = { .size = sizeof(info) };
	struct rig r;

	(void)state;
	rig_open(&r, RING_BITS | VIRTIO_NET_F_MQ, &o);
	vd_driver_info(r.d, &info);
	assert_int_equal(info.queue_pairs, ECHO_PAIRS);
	for (unsigned round = 0; round < 3; round++)
		for (unsigned pair = 0; pair < ECHO_PAIRS; pair++)
			exchange(&r, pair, 200 / slow());
	/* A pair that was given up sends nothing back, then does again. */
	assert_int_equal(vd_driver_set_pairs(r.d, 1), 0);
	exchange(&r, 0, 200 / slow());
	assert_int_equal(vd_driver_set_pairs(r.d, ECHO_PAIRS), 0);
	exchange(&r, ECHO_PAIRS - 1, 200 / slow());
	assert_int_equal(vd_driver_set_pairs(r.d, ECHO_PAIRS + 1), -EINVAL);
	rig_close(&r);
}

struct worker {
	struct rig r; /* a copy: counters of its own */
	unsigned pair;
	pthread_t thread;
};

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	exchange(&w->r, w->pair, PACKETS / slow());
	/* Until the device is gone. */
	while (vd_driver_wait(w->r.d, w->pair, VD_WAIT_RECEIVE, 20000) >= 0)
		;
	return NULL;
}

static void test_a_thread_a_pair(void **state)
{
	struct vd_driver_opts o = { .queue_pairs = ECHO_PAIRS,
		                    .manual_service = true };
	struct worker w[ECHO_PAIRS];
	struct rig r;

	(void)state;
	rig_open(&r, RING_BITS | VIRTIO_NET_F_MQ, &o);
	for (unsigned i = 0; i < ECHO_PAIRS; i++) {
		w[i] = (struct worker){ .r = { .d = r.d,
			                       .seed = r.seed + i,
			                       .len_max = r.len_max,
			                       .window = r.window },
			                .pair = i };
		pthread_create(&w[i].thread, NULL, worker_main, &w[i]);
	}
	/* It leaves when all are through. */
	for (unsigned i = 0; i < ECHO_PAIRS; i++) {
		struct vd_driver_stats s = { .size = sizeof(s) };

		do {
			usleep(1000);
			vd_driver_stats(r.d, (int)i, &s);
		} while (s.rx_packets < PACKETS / slow());
	}
	echo_stop(&r.e);
	for (unsigned i = 0; i < ECHO_PAIRS; i++)
		pthread_join(w[i].thread, NULL);
	assert_int_equal(vd_driver_service(r.d), -ENOTCONN);
	vd_driver_close(r.d);
	assert_int_equal(r.e.no_room, 0);
}

/* --- policies ---------------------------------------------------------- */

static void test_policies_change_at_run_time(void **state)
{
	struct vd_driver_opts o = { 0 };
	struct rig r;

	(void)state;
	for (unsigned layout = 0; layout < 2; layout++) {
		rig_open(&r,
		         layout ? RING_BITS : RING_BITS & ~VIRTIO_F_RING_PACKED,
		         &o);
		for (unsigned i = 0; i < 27; i++) {
			struct vd_driver_policy p = {
				.tx_free = (enum vd_tx_free)(i % 3),
				.kick = (enum vd_kick)(i / 3 % 3),
				.calls = (enum vd_calls)(i / 9),
				.kick_packets = 5,
				.kick_usecs = 200,
			};

			vd_driver_set_policy(r.d, &p);
			exchange(&r, 0, 300 / slow());
		}
		rig_close(&r);
	}
}

/* What a policy is for: fewer notifications for the same packets. */
static uint64_t kicks_of(struct vd_driver_policy p)
{
	struct vd_driver_opts o = { .policy = p,
		                    .features_off = VIRTIO_F_EVENT_IDX };
	struct vd_driver_stats s = { .size = sizeof(s) };
	uint8_t frame[60] = { 0 };
	struct iovec iov = { frame, sizeof(frame) };
	struct vd_packet packet = { .iov = &iov, .niov = 1 };
	struct vd_packet back[BURST];
	struct rig r;

	/* A device that asks for every kick: no event index. */
	rig_open(&r, RING_BITS, &o);
	for (unsigned i = 0; i < 32; i++) {
		assert_int_equal(vd_driver_send(r.d, 0, &packet, 1), 1);
		/* Let it go back to sleep. */
		if (p.kick == VD_KICK_NOW)
			while (vd_driver_pending(r.d, 0) > 0)
				usleep(100);
	}
	vd_driver_flush(r.d, 0);
	while (vd_driver_pending(r.d, 0) > 0)
		usleep(100);
	vd_driver_receive(r.d, 0, back, BURST);
	vd_driver_stats(r.d, 0, &s);
	rig_close(&r);
	return s.kicks;
}

static void test_later_kicks_less(void **state)
{
	uint64_t now, later;

	(void)state;
	now = kicks_of((struct vd_driver_policy){ .kick = VD_KICK_NOW });
	later = kicks_of((struct vd_driver_policy){ .kick = VD_KICK_LATER,
	                                            .kick_packets = 16,
	                                            .kick_usecs = 20000000 });
	assert_true(now >= 16);
	assert_true(later <= 3);
}

static void test_delayed_kick_is_sent_in_time(void **state)
{
	struct vd_driver_opts o = { .policy = { .kick = VD_KICK_LATER,
		                                .kick_packets = 1000,
		                                .kick_usecs = 50000 } };
	uint8_t frame[60] = { 0 };
	struct iovec iov = { frame, sizeof(frame) };
	struct vd_packet p = { .iov = &iov, .niov = 1 };
	struct vd_driver_stats s = { .size = sizeof(s) };
	struct rig r;

	(void)state;
	rig_open(&r, RING_BITS, &o);
	assert_int_equal(vd_driver_send(r.d, 0, &p, 1), 1);
	assert_int_equal(vd_driver_wait(r.d, 0, VD_WAIT_RECEIVE, 5000),
	                 VD_WAIT_RECEIVE);
	vd_driver_stats(r.d, 0, &s);
	assert_int_equal(s.kicks_delayed, 1);
	rig_close(&r);
}

/* --- limits ------------------------------------------------------------ */

static void test_too_long(void **state)
{
	static uint8_t frame[LEN_MAX];
	struct iovec iov = { frame, sizeof(frame) };
	struct vd_packet p = { .iov = &iov, .niov = 1 };
	struct vd_driver_opts o = { .queue_size = 8 };
	struct rig r;

	(void)state;
	rig_open(&r, RING_BITS, &o);
	assert_int_equal(vd_driver_send(r.d, 0, &p, 1), -EMSGSIZE);
	r.window = 2;
	exchange(&r, 0, 20);
	rig_close(&r);
}

static unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 512; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_nothing_leaks(void **state)
{
	struct vd_driver_opts o = { .queue_pairs = 2 };
	unsigned before = open_fds();
	struct rig r;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		rig_open(&r, RING_BITS | VIRTIO_NET_F_MQ, &o);
		exchange(&r, i % 2, 50);
		rig_close(&r);
	}
	assert_int_equal(open_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_combination),
		cmocka_unit_test(test_driver_chooses),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_a_thread_a_pair),
		cmocka_unit_test(test_policies_change_at_run_time),
		cmocka_unit_test(test_later_kicks_less),
		cmocka_unit_test(test_delayed_kick_is_sent_in_time),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_nothing_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
