/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_net_ctrl.c - commands: each one, too short and too long, without the
 * feature it needs, in every framing; and what it changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "netrig.h"

#define PAIRS 4u
#define CTRL  (PAIRS * 2)
#define ALL                                                               \
	(VIRTIO_F_VERSION_1 | VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_MQ |    \
	 VIRTIO_NET_F_CTRL_RX | VIRTIO_NET_F_CTRL_RX_EXTRA |              \
	 VIRTIO_NET_F_CTRL_VLAN | VIRTIO_NET_F_CTRL_MAC_ADDR |            \
	 VIRTIO_NET_F_CTRL_GUEST_OFFLOADS | VIRTIO_NET_F_GUEST_ANNOUNCE | \
	 VIRTIO_NET_F_NOTF_COAL | VIRTIO_NET_F_VQ_NOTF_COAL |             \
	 VIRTIO_NET_F_MAC | VIRTIO_NET_F_GUEST_CSUM |                     \
	 VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_MRG_RXBUF)

static const struct net_conf conf = { .pairs = PAIRS,
	                              .mac = { 2, 0, 0, 0, 0, 9 } };
static struct rig rig;
static uint8_t answer[16];

static unsigned on_input(void *ctx, struct net_tx *tx, struct frame *const *f,
                         unsigned n)
{
	(void)ctx;
	(void)tx;
	(void)f;
	return n;
}

static const struct net_events events = { .input = on_input };

static void open_rig(uint64_t features)
{
	rig_open(&rig, &conf, &events, features, 64);
}

/* A command in pieces of @cut bytes, answered at once; the ack's value. */
static int command_cut(const void *bytes, uint32_t len, uint32_t cut,
                       uint32_t answer_len)
{
	uint64_t gpa = rig_alloc(&rig, len), back = rig_alloc(&rig, 16);
	struct drv_piece p[64];
	uint32_t written;
	unsigned n = 0;
	int token;

	memcpy(rig_at(&rig, gpa), bytes, len);
	memset(rig_at(&rig, back), RIG_POISON, 16);
	for (uint32_t left = len; left;) {
		uint32_t k = n == 60 ? left : min_of(left, cut);

		p[n++] = (struct drv_piece){ gpa, k };
		gpa += k;
		left -= k;
	}
	p[n] = (struct drv_piece){ back, 1 };
	p[n + 1] = (struct drv_piece){ back + 1, answer_len };
	token = rig_offer(&rig, CTRL, p, n, 1 + !!answer_len);
	assert_true(token >= 0);
	drv_publish(&rig.queue[CTRL].drv);
	assert_int_equal(rig.ops->queue_ready(rig.dev, &rig.queue[CTRL].q), 1);
	assert_int_equal(rig_reap(&rig, CTRL, &written), token);
	memcpy(answer, rig_at(&rig, back), 16);
	/* C19: one byte, or one and the answer. */
	assert_int_equal(written,
	                 answer[0] == 0 && answer_len ? 1 + answer_len : 1);
	assert_int_equal(answer[written], RIG_POISON);
	return answer[0];
}

static int command(unsigned class, unsigned cmd, const void *data, uint32_t len)
{
	uint8_t bytes[8192] = { (uint8_t) class, (uint8_t)cmd };

	memcpy(bytes + 2, data, len);
	return command_cut(bytes, len + 2, 9999, 0);
}

/* Each command with its right length; @need is the feature. */
static const struct row {
	uint8_t class, cmd;
	uint32_t len;
	uint64_t need;
	const char *data;
} rows[] = {
	{ 0, 0, 1, VIRTIO_NET_F_CTRL_RX, "\1" },
	{ 0, 1, 1, VIRTIO_NET_F_CTRL_RX, "\1" },
	{ 0, 2, 1, VIRTIO_NET_F_CTRL_RX_EXTRA, "\1" },
	{ 0, 3, 1, VIRTIO_NET_F_CTRL_RX_EXTRA, "\0" },
	{ 0, 4, 1, VIRTIO_NET_F_CTRL_RX_EXTRA, "\0" },
	{ 0, 5, 1, VIRTIO_NET_F_CTRL_RX_EXTRA, "\0" },
	{ 1, 0, 20, VIRTIO_NET_F_CTRL_RX,
	  "\1\0\0\0\2\1\1\1\1\1\1\0\0\0\1\0\x5e\1\2\3" },
	{ 1, 1, 6, VIRTIO_NET_F_CTRL_MAC_ADDR, "\2\3\4\5\6\7" },
	{ 2, 0, 2, VIRTIO_NET_F_CTRL_VLAN, "\5\0" },
	{ 2, 1, 2, VIRTIO_NET_F_CTRL_VLAN, "\5\0" },
	{ 3, 0, 0, VIRTIO_NET_F_GUEST_ANNOUNCE, "" },
	{ 4, 0, 2, VIRTIO_NET_F_MQ, "\2\0" },
	{ 5, 0, 8, VIRTIO_NET_F_CTRL_GUEST_OFFLOADS, "\2\0\0\0\0\0\0\0" },
	{ 6, 0, 8, VIRTIO_NET_F_NOTF_COAL, "\1\0\0\0\2\0\0\0" },
	{ 6, 1, 8, VIRTIO_NET_F_NOTF_COAL, "\1\0\0\0\2\0\0\0" },
	{ 6, 2, 12, VIRTIO_NET_F_VQ_NOTF_COAL, "\0\0\0\0\1\0\0\0\2\0\0\0" },
};

/* C10: right, short by each number of bytes, long, and in one-byte pieces. */
static void test_lengths(void **state)
{
	(void)state;
	open_rig(ALL);
	for (unsigned i = 0; i < array_len(rows); i++) {
		const struct row *r = &rows[i];
		uint8_t bytes[64] = { r->class, r->cmd };

		memcpy(bytes + 2, r->data, r->len);
		for (uint32_t len = 1; len < r->len + 5; len++)
			assert_int_equal(command_cut(bytes, len, 9999, 0),
			                 len != r->len + 2);
		assert_int_equal(command_cut(bytes, r->len + 2, 1, 0), 0);
	}
	rig_close(&rig);
}

static void test_features(void **state)
{
	(void)state;
	for (unsigned i = 0; i < array_len(rows); i++) {
		/* Without MQ the control queue is vring 2. */
		if (rows[i].need == VIRTIO_NET_F_MQ)
			continue;
		open_rig(ALL & ~rows[i].need);
		assert_int_equal(command(rows[i].class, rows[i].cmd,
		                         rows[i].data, rows[i].len),
		                 1);
		rig_close(&rig);
	}
	open_rig(ALL);
	for (unsigned class = 7; class < 256; class += 31)
		assert_int_equal(command(class, 0, "\0", 1), 1);
	assert_int_equal(command(0, 6, "\0", 1), 1);
	assert_int_equal(command(4, 1, "\0\0", 2), 1);
	rig_close(&rig);
}

/* Longer than is read, and without a place for the answer. */
static void test_framing(void **state)
{
	static uint8_t big[8000];
	struct drv_piece p = { 0, 3 };
	uint32_t written = 1;
	int token;

	(void)state;
	open_rig(ALL);
	assert_int_equal(command(1, 0, big, sizeof(big)), 1);
	p.gpa = rig_alloc(&rig, 3);
	memcpy(rig_at(&rig, p.gpa), "\0\0\0", 3);
	token = rig_offer(&rig, CTRL, &p, 1, 0);
	drv_publish(&rig.queue[CTRL].drv);
	assert_int_equal(rig.ops->queue_ready(rig.dev, &rig.queue[CTRL].q), 1);
	assert_int_equal(rig_reap(&rig, CTRL, &written), token);
	assert_int_equal(written, 0);
	rig_close(&rig);
}

/* C30d: what was advertised is the most. */
static void test_pairs_bound(void **state)
{
	(void)state;
	open_rig(ALL);
	for (unsigned n = 0; n < 70000; n += 1 + n / 3) {
		uint8_t data[2] = { (uint8_t)n, (uint8_t)(n >> 8) };
		unsigned value = n & 0xffff;

		assert_int_equal(command(4, 0, data, 2),
		                 !(value >= 1 && value <= PAIRS));
	}
	rig_close(&rig);
}

/* --- what commands change ------------------------------------------------ */

static struct frame frame;

/* A UDP frame of flow @flow to @mac; the pair it arrives at, -1 nowhere. */
static int send_to(const uint8_t *mac, unsigned vlan, unsigned flow)
{
	struct frame *f = &frame;
	struct packet_wish w = { .udp = true, .vlan = vlan, .payload = 60 };
	static struct packet packet;
	struct dice d = { flow };
	struct virtio_net_hdr h;
	struct rx_result r = { 0 };
	static struct seg seg[4]; /* `frame` is looked at afterwards */
	uint8_t got[200];
	int at = -1;

	packet_make(&packet, &w, &d);
	memcpy(packet.bytes, mac, 6);
	if (vlan)
		packet.bytes[15] = (uint8_t)vlan, packet.bytes[14] = 0;
	packet_view(&packet, &frame, seg, 1, &d);
	for (unsigned i = 0; i < PAIRS; i++)
		rig_post(&rig, i * 2, 1600, 1);
	assert_int_equal(net_send(rig.dev, &f, 1, RX_LOSSY, &r), 1);
	net_flush(rig.dev);
	for (unsigned i = 0; i < PAIRS; i++) {
		if (rig_receive(&rig, i * 2, &h, got) >= 0) {
			assert_int_equal(at, -1);
			at = (int)i;
		}
	}
	return at;
}

static const uint8_t mine[6] = { 2, 0, 0, 0, 0, 9 };
static const uint8_t other[6] = { 2, 1, 1, 1, 1, 1 };
static const uint8_t group[6] = { 1, 0, 0x5e, 1, 2, 3 };
static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };

static void test_filter(void **state)
{
	(void)state;
	open_rig(ALL);
	/* Open until somebody says otherwise. */
	assert_int_equal(send_to(other, 0, 1), 0);
	assert_int_equal(send_to(other, 5, 1), 0);
	assert_int_equal(command(0, 0, "\0", 1), 0);
	assert_int_equal(send_to(mine, 0, 1), 0);
	assert_int_equal(send_to(all, 0, 1), 0);
	assert_int_equal(send_to(other, 0, 1), -1);
	assert_int_equal(send_to(group, 0, 1), -1);
	/* Listed. */
	assert_int_equal(command(1, 0, rows[6].data, 20), 0);
	assert_int_equal(send_to(other, 0, 1), 0);
	assert_int_equal(send_to(group, 0, 1), 0);
	assert_int_equal(command(1, 0, "\0\0\0\0\0\0\0\0", 8), 0);
	assert_int_equal(send_to(other, 0, 1), -1);
	/* By kind. */
	assert_int_equal(command(0, 1, "\1", 1), 0);
	assert_int_equal(send_to(group, 0, 1), 0);
	assert_int_equal(command(0, 3, "\1", 1), 0);
	assert_int_equal(send_to(group, 0, 1), -1);
	assert_int_equal(command(0, 2, "\1", 1), 0);
	assert_int_equal(send_to(other, 0, 1), 0);
	assert_int_equal(command(0, 4, "\1", 1), 0);
	assert_int_equal(send_to(mine, 0, 1), -1);
	assert_int_equal(command(0, 5, "\1", 1), 0);
	assert_int_equal(send_to(all, 0, 1), -1);
	assert_int_equal(command(0, 0, "\1", 1), 0);
	assert_int_equal(send_to(all, 0, 1), 0);
	rig_close(&rig);
}

static void test_vlan(void **state)
{
	(void)state;
	open_rig(ALL);
	assert_int_equal(command(2, 0, "\5\0", 2), 0);
	assert_int_equal(send_to(mine, 5, 1), 0);
	assert_int_equal(send_to(mine, 6, 1), -1);
	assert_int_equal(send_to(mine, 0, 1), 0);
	assert_int_equal(command(2, 1, "\5\0", 2), 0);
	assert_int_equal(send_to(mine, 5, 1), -1);
	assert_int_equal(command(2, 0, "\0\x10", 2), 1);
	rig_close(&rig);
}

/* More addresses than are kept: all of the kind pass. */
static void test_long_table(void **state)
{
	uint8_t data[8 + 70 * 6] = { 70 };

	(void)state;
	open_rig(ALL);
	assert_int_equal(command(0, 0, "\0", 1), 0);
	for (unsigned i = 0; i < 70; i++) {
		data[4 + i * 6] = 2;
		data[4 + i * 6 + 5] = (uint8_t)i;
	}
	assert_int_equal(command(1, 0, data, sizeof(data)), 0);
	assert_int_equal(send_to(other, 0, 1), 0);
	assert_int_equal(send_to(group, 0, 1), -1);
	/* The number says more than there is. */
	data[0] = 71;
	assert_int_equal(command(1, 0, data, sizeof(data)), 1);
	memset(data, 0xff, 4);
	assert_int_equal(command(1, 0, data, sizeof(data)), 1);
	rig_close(&rig);
}

static void test_mac(void **state)
{
	uint8_t mac[6];

	(void)state;
	open_rig(ALL);
	assert_int_equal(rig.ops->get_config(rig.dev, mac, 0, 6), 0);
	assert_memory_equal(mac, mine, 6);
	assert_int_equal(command(1, 1, other, 6), 0);
	assert_int_equal(rig.ops->get_config(rig.dev, mac, 0, 6), 0);
	assert_memory_equal(mac, other, 6);
	assert_int_equal(command(0, 0, "\0", 1), 0);
	assert_int_equal(send_to(other, 0, 1), 0);
	assert_int_equal(send_to(mine, 0, 1), -1);
	assert_int_equal(command(1, 1, group, 6), 1);
	rig_close(&rig);
}

/* C30: one pair at first; as many as asked for; what is given up gets nothing
 * from that moment. */
static void test_steering(void **state)
{
	unsigned seen[PAIRS] = { 0 };
	uint8_t n[2] = { 4, 0 };

	(void)state;
	open_rig(ALL);
	for (unsigned flow = 0; flow < 50; flow++)
		assert_int_equal(send_to(mine, 0, flow), 0);
	assert_int_equal(command(4, 0, n, 2), 0);
	for (unsigned flow = 0; flow < 200; flow++) {
		int at = send_to(mine, 0, flow);

		assert_in_range(at, 0, 3);
		seen[at]++;
		assert_int_equal(send_to(mine, 0, flow), at);
	}
	for (unsigned i = 0; i < PAIRS; i++)
		assert_true(seen[i] > 20);
	n[0] = 2;
	assert_int_equal(command(4, 0, n, 2), 0);
	for (unsigned flow = 0; flow < 100; flow++)
		assert_in_range(send_to(mine, 0, flow), 0, 1);
	/* The same, said by the front end ring by ring. */
	n[0] = 4;
	assert_int_equal(command(4, 0, n, 2), 0);
	rig_enable(&rig, 0, false);
	rig_enable(&rig, 6, false);
	for (unsigned flow = 0; flow < 100; flow++)
		assert_in_range(send_to(mine, 0, flow), 1, 2);
	rig_stop(&rig, 2);
	for (unsigned flow = 0; flow < 100; flow++)
		assert_int_equal(send_to(mine, 0, flow), 2);
	rig_enable(&rig, 4, false);
	assert_int_equal(send_to(mine, 0, 1), -1);
	rig_close(&rig);
}

/* A flow comes back on the pair that it was transmitted on. */
static void test_flow_follows(void **state)
{
	uint8_t n[2] = { 4, 0 };

	(void)state;
	open_rig(ALL);
	assert_int_equal(command(4, 0, n, 2), 0);
	for (unsigned flow = 0; flow < 60; flow++) {
		unsigned pair = flow % PAIRS;
		struct rig_bytes b = { .cut = 999 };
		uint32_t written;
		uint8_t bytes[200], turn[4];

		send_to(mine, 0, flow); /* leaves the frame in `frame` */
		b.data = bytes;
		b.len = frame_flatten(&frame, bytes);
		/* The answer has the addresses the other way round. */
		memcpy(turn, bytes + 26, 4);
		memmove(bytes + 26, bytes + 30, 4);
		memcpy(bytes + 30, turn, 4);
		memcpy(turn, bytes + 34, 2);
		memmove(bytes + 34, bytes + 36, 2);
		memcpy(bytes + 36, turn, 2);
		rig_transmit(&rig, pair * 2 + 1, &b);
		assert_int_equal(rig.ops->queue_ready(rig.dev,
		                                      &rig.queue[pair * 2 + 1]
		                                               .q),
		                 1);
		assert_true(rig_reap(&rig, pair * 2 + 1, &written) >= 0);
		assert_int_equal(send_to(mine, 0, flow), pair);
	}
	rig_close(&rig);
}

static void test_offloads(void **state)
{
	(void)state;
	open_rig(ALL);
	/* Only what was negotiated: TSO6 was not. */
	assert_int_equal(command(5, 0, "\0\1\0\0\0\0\0\0", 8), 1);
	assert_int_equal(command(5, 0, "\x82\0\0\0\0\0\0\0", 8), 0);
	assert_int_equal(command(5, 0, "\0\0\0\0\0\0\0\1", 8), 1);
	rig_close(&rig);
}

static void test_coalescing(void **state)
{
	uint8_t get[6] = { 6, 3, 0, 0, 0, 0 };
	uint8_t set[12] = { 1, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0 };

	(void)state;
	open_rig(ALL);
	assert_int_equal(command_cut(get, 6, 99, 8), 0);
	assert_memory_equal(answer + 1, "\0\0\0\0\0\0\0\0", 8);
	assert_int_equal(command(6, 1, "\1\0\0\0\2\0\0\0", 8), 0);
	assert_int_equal(command_cut(get, 6, 99, 8), 0);
	assert_memory_equal(answer + 1, "\1\0\0\0\2\0\0\0", 8);
	get[2] = 1;
	assert_int_equal(command_cut(get, 6, 99, 8), 0);
	assert_memory_equal(answer + 1, "\0\0\0\0\0\0\0\0", 8);
	assert_int_equal(command(6, 2, set, 12), 0);
	assert_int_equal(command_cut(get, 6, 99, 8), 0);
	assert_memory_equal(answer + 1, "\7\0\0\0\x8\0\0\0", 8);
	/* Enabled again: the default of its kind, which nobody set. */
	rig_enable(&rig, 1, false);
	assert_int_equal(command_cut(get, 6, 99, 8), 1);
	rig_enable(&rig, 1, true);
	assert_int_equal(command_cut(get, 6, 99, 8), 0);
	assert_memory_equal(answer + 1, "\0\0\0\0\0\0\0\0", 8);
	get[2] = CTRL;
	assert_int_equal(command_cut(get, 6, 99, 8), 1);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_framing),
		cmocka_unit_test(test_pairs_bound),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_long_table),
		cmocka_unit_test(test_mac),
		cmocka_unit_test(test_steering),
		cmocka_unit_test(test_flow_follows),
		cmocka_unit_test(test_offloads),
		cmocka_unit_test(test_coalescing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
