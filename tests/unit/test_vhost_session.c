/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vhost_session.c - a front end that does everything right: what each
 * message changes, in what state the rings are afterwards.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "peer.h"

static const uint64_t layouts[] = {
	VIRTIO_F_VERSION_1,
	VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX,
	VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED,
	VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED | VIRTIO_F_EVENT_IDX,
};

static bool is_started(struct peer *p, unsigned index)
{
	return peer_queue(p, index).started;
}

static void test_echo(void **state)
{
	(void)state;
	for (unsigned i = 0; i < array_len(layouts); i++) {
		struct peer p;

		peer_open(&p);
		peer_run(&p, layouts[i], 1, 64);
		assert_true(is_started(&p, 1));
		assert_false(is_started(&p, 0));
		peer_echo(&p, 1, 500);
		assert_int_equal(p.dev.chains, 500);
		assert_int_equal(p.dev.features,
		                 layouts[i] & ~VHOST_USER_F_PROTOCOL_FEATURES);
		peer_close(&p);
	}
}

/* What is behind each bit that we offer, and nothing else. */
static void test_offers(void **state)
{
	uint64_t f, proto;
	struct peer p;

	(void)state;
	peer_open(&p);
	f = peer_get_u64(&p, VHOST_USER_GET_FEATURES);
	assert_true(f & VIRTIO_F_VERSION_1 && f & VIRTIO_F_RING_PACKED &&
	            f & VHOST_F_LOG_ALL && f & VIRTIO_BIT(5));
	assert_false(f & VIRTIO_F_ACCESS_PLATFORM);
	proto = peer_get_u64(&p, VHOST_USER_GET_PROTOCOL_FEATURES);
	assert_true(proto & VHOST_USER_PROTOCOL_F_CONFIG &&
	            proto & VHOST_USER_PROTOCOL_F_MTU);
	assert_false(proto & VHOST_USER_PROTOCOL_F_PAGEFAULT);
	assert_false(proto & VHOST_USER_PROTOCOL_F_INBAND_NOTIFICATIONS);
	assert_int_equal(peer_get_u64(&p, VHOST_USER_GET_QUEUE_NUM),
	                 PEER_QUEUES / 2);
	assert_int_equal(peer_get_u64(&p, VHOST_USER_GET_MAX_MEM_SLOTS), 509);
	peer_close(&p);
}

/* SET_VRING_KICK itself starts; the messages may come in any order. */
static void test_start_needs_all(void **state)
{
	struct peer p;
	int fd = fd_event_new();

	(void)state;
	for (unsigned late = 0; late < 5; late++) {
		peer_open(&p);
		if (late != 0)
			peer_negotiate(&p, VIRTIO_F_VERSION_1);
		if (late != 1)
			assert_int_equal(peer_set_memory(&p), 0);
		if (late != 2)
			peer_ask_state(&p, VHOST_USER_SET_VRING_NUM, 0, 64);
		if (late != 3)
			assert_int_equal(peer_set_addr(&p, 0, 0), 0);
		if (late != 4)
			assert_int_equal(peer_ask_fd(&p,
			                             VHOST_USER_SET_VRING_KICK,
			                             0, fd),
			                 0);
		assert_false(is_started(&p, 0));
		if (late == 0)
			peer_negotiate(&p, VIRTIO_F_VERSION_1);
		if (late == 1)
			assert_int_equal(peer_set_memory(&p), 0);
		if (late == 2)
			peer_ask_state(&p, VHOST_USER_SET_VRING_NUM, 0, 64);
		if (late == 3)
			assert_int_equal(peer_set_addr(&p, 0, 0), 0);
		if (late == 4)
			assert_int_equal(peer_ask_fd(&p,
			                             VHOST_USER_SET_VRING_KICK,
			                             0, fd),
			                 0);
		assert_true(is_started(&p, 0));
		peer_close(&p);
	}
	close(fd);
}

/* Started and enabled are two flags, and each message moves what it names. */
static void test_two_flags(void **state)
{
	struct vhost_queue_info q;
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_negotiate(&p, VIRTIO_F_VERSION_1);
	peer_set_memory(&p);
	q = peer_queue(&p, 0);
	assert_true(!q.started && !q.enabled);
	peer_ask_state(&p, VHOST_USER_SET_VRING_ENABLE, 0, 1);
	q = peer_queue(&p, 0);
	assert_true(!q.started && q.enabled);
	peer_setup_ring(&p, 0, 16);
	q = peer_queue(&p, 0);
	assert_true(q.started && q.enabled);
	peer_setup_ring(&p, 1, 16);
	q = peer_queue(&p, 1);
	assert_true(q.started && !q.enabled);
	peer_ask_state(&p, VHOST_USER_SET_VRING_ENABLE, 0, 0);
	q = peer_queue(&p, 0);
	assert_true(q.started && !q.enabled);
	peer_get_base(&p, 0);
	q = peer_queue(&p, 0);
	assert_true(!q.started && !q.enabled);
	peer_ask_state(&p, VHOST_USER_SET_VRING_ENABLE, 1, 1);
	peer_get_base(&p, 1); /* stops, does not disable */
	q = peer_queue(&p, 1);
	assert_true(!q.started && q.enabled);
	assert_int_equal(peer_ask_state(&p, VHOST_USER_SET_VRING_ENABLE, 0, 2),
	                 1);
	assert_int_equal(p.dev.starts, 2);
	assert_int_equal(p.dev.stops, 2);
	peer_close(&p);
}

/* Without bit 30 every ring is enabled at once, and stays so. */
static void test_no_protocol_features(void **state)
{
	uint64_t f = VIRTIO_F_VERSION_1;
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_send(&p, VHOST_USER_SET_FEATURES, &f, 8, NO_FDS);
	for (unsigned i = 0; i < PEER_QUEUES; i++)
		assert_true(peer_queue(&p, i).enabled);
	p.features = f;
	peer_set_memory(&p);
	peer_setup_ring(&p, 2, 32);
	peer_echo(&p, 2, 10);
	peer_close(&p);
}

/* A started but disabled ring is visited, too. */
static void test_disabled_is_processed(void **state)
{
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_negotiate(&p, VIRTIO_F_VERSION_1);
	peer_set_memory(&p);
	peer_setup_ring(&p, 1, 16);
	peer_offer(&p, 1, 8, 0);
	peer_turn(&p);
	assert_int_equal(p.dev.chains, 1);
	peer_close(&p);
}

/* Stop, look at the position, go on there, in both layouts. */
static void test_base(void **state)
{
	(void)state;
	for (unsigned i = 0; i < array_len(layouts); i++) {
		bool packed = layouts[i] & VIRTIO_F_RING_PACKED;
		struct peer p;
		uint32_t base;

		peer_open(&p);
		peer_run(&p, layouts[i], 1, 16);
		peer_echo(&p, 1, 21);
		base = peer_get_base(&p, 1);
		/* packed: two slots a chain, 10 into the third lap */
		assert_int_equal(base, packed ? 0x800a800a : 21);
		assert_false(is_started(&p, 1));
		peer_offer(&p, 1, 8, 16);
		peer_turn(&p);
		assert_int_equal(p.dev.chains, 21);
		assert_int_equal(peer_get_base(&p, 1), base); /* again */

		assert_int_equal(peer_ask_state(&p, VHOST_USER_SET_VRING_BASE,
		                                1, base),
		                 0);
		peer_ask_fd(&p, VHOST_USER_SET_VRING_CALL, 1, p.ring[1].call);
		peer_ask_fd(&p, VHOST_USER_SET_VRING_KICK, 1, p.ring[1].kick);
		peer_turn(&p);
		assert_int_equal(p.dev.chains, 22);
		peer_close(&p);
	}
}

/* A front end that tells only the available half of a packed position means
 * that nothing is held. */
static void test_half_a_base(void **state)
{
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_run(&p, VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED, 1, 16);
	peer_echo(&p, 1, 21);
	assert_int_equal(peer_get_base(&p, 1), 0x800a800a);
	peer_offer(&p, 1, 8, 16);
	assert_int_equal(peer_ask_state(&p, VHOST_USER_SET_VRING_BASE, 1,
	                                0x800a),
	                 0);
	peer_ask_fd(&p, VHOST_USER_SET_VRING_CALL, 1, p.ring[1].call);
	peer_ask_fd(&p, VHOST_USER_SET_VRING_KICK, 1, p.ring[1].kick);
	peer_turn(&p);
	assert_int_equal(p.dev.chains, 22);
	peer_close(&p);
}

/* Rings that never ran have a position; asking changes nothing. */
static void test_base_of_virgins(void **state)
{
	struct peer p;

	(void)state;
	peer_open(&p);
	for (unsigned i = 0; i < PEER_QUEUES; i++)
		assert_int_equal(peer_get_base(&p, i), 0);
	peer_negotiate(&p, VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED);
	assert_int_equal(peer_get_base(&p, 0), 0x80008000);
	assert_int_equal(p.dev.stops, 0);
	peer_run(&p, VIRTIO_F_VERSION_1, 0, 32);
	peer_echo(&p, 0, 5);
	assert_int_equal(peer_get_base(&p, 3), 0);
	peer_echo(&p, 0, 5);
	peer_close(&p);
}

/* After GET_VRING_BASE nobody is told anything
 * [spec: queue.reset.no-execution]. */
static void test_silence_after_stop(void **state)
{
	struct pollfd pfd = { .events = POLLIN };
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_run(&p, VIRTIO_F_VERSION_1, 0, 16);
	peer_echo(&p, 0, 3);
	peer_get_base(&p, 0);
	fd_event_drain(p.ring[0].call);
	peer_offer(&p, 0, 8, 8);
	fd_event_signal(p.ring[0].kick);
	peer_turn(&p);
	pfd.fd = p.ring[0].call;
	assert_int_equal(poll(&pfd, 1, 0), 0);
	peer_close(&p);
}

/* Kick and call descriptors may be replaced while the ring runs. */
static void test_replace_fds(void **state)
{
	struct peer p;
	unsigned before = 0;

	(void)state;
	peer_open(&p);
	peer_run(&p, VIRTIO_F_VERSION_1, 0, 16);
	for (unsigned i = 0; i < 50; i++) {
		peer_echo(&p, 0, 3);
		fd_replace(&p.ring[0].call, fd_event_new());
		assert_int_equal(peer_ask_fd(&p, VHOST_USER_SET_VRING_CALL, 0,
		                             p.ring[0].call),
		                 0);
		assert_true(fd_event_drain(p.ring[0].call));
		fd_replace(&p.ring[0].kick, fd_event_new());
		assert_int_equal(peer_ask_fd(&p, VHOST_USER_SET_VRING_KICK, 0,
		                             p.ring[0].kick),
		                 0);
		fd_replace(&p.ring[0].err, fd_event_new());
		peer_ask_fd(&p, VHOST_USER_SET_VRING_ERR, 0, p.ring[0].err);
		if (i == 0)
			before = peer_open_fds();
	}
	assert_int_equal(peer_open_fds(), before);
	/* none at all: polled, and silent */
	assert_int_equal(peer_ask_fd(&p, VHOST_USER_SET_VRING_CALL, 0, -1), 0);
	assert_int_equal(peer_ask_fd(&p, VHOST_USER_SET_VRING_KICK, 0, -1), 0);
	p.ring[0].kick = -1;
	peer_close(&p);
}

static void test_reset(void **state)
{
	struct vhost_queue_info q;
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_run(&p, VIRTIO_F_VERSION_1, 0, 16);
	peer_echo(&p, 0, 3);
	assert_int_equal(peer_ask_u64(&p, VHOST_USER_RESET_DEVICE, 0), 0);
	q = peer_queue(&p, 0);
	assert_true(!q.started && !q.enabled);
	assert_int_equal(p.dev.resets, 1);
	peer_run(&p, VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED, 0, 15);
	peer_echo(&p, 0, 40);
	peer_close(&p);
}

/* QEMU writes 0 to the status before it asks where the rings are. */
static void test_status(void **state)
{
	(void)state;
	for (unsigned i = 0; i < array_len(layouts); i++) {
		bool packed = layouts[i] & VIRTIO_F_RING_PACKED;
		struct peer p;

		peer_open(&p);
		peer_run(&p, layouts[i], 0, 16);
		peer_ask_u64(&p, VHOST_USER_SET_STATUS, 15);
		assert_int_equal(p.dev.status, 15);
		assert_int_equal(peer_get_u64(&p, VHOST_USER_GET_STATUS), 15);
		peer_echo(&p, 0, 21);
		assert_int_equal(peer_ask_u64(&p, VHOST_USER_SET_STATUS, 0), 0);
		assert_false(peer_queue(&p, 0).started);
		assert_int_equal(p.dev.resets, 1);
		assert_int_equal(peer_get_u64(&p, VHOST_USER_GET_STATUS), 0);
		assert_int_equal(peer_set_memory(&p), 0);
		assert_false(peer_queue(&p, 0).started);
		assert_int_equal(peer_get_base(&p, 0),
		                 packed ? 0x800a800a : 21);
		peer_run(&p, layouts[3 - i], 0, 16);
		peer_echo(&p, 0, 40);
		peer_close(&p);
	}
}

/* Deprecated: disables, and drops nothing. */
static void test_reset_owner(void **state)
{
	struct vhost_queue_info q;
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_run(&p, VIRTIO_F_VERSION_1, 0, 16);
	assert_int_equal(peer_ask(&p, VHOST_USER_RESET_OWNER, NULL, 0, NO_FDS),
	                 0);
	q = peer_queue(&p, 0);
	assert_true(q.started && !q.enabled);
	peer_ask_state(&p, VHOST_USER_SET_VRING_ENABLE, 0, 1);
	peer_echo(&p, 0, 3);
	peer_close(&p);
}

static void test_features_while_running(void **state)
{
	uint64_t log, packed;
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_run(&p, VIRTIO_F_VERSION_1, 0, 16);
	assert_int_equal(p.dev.feature_sets, 1);
	log = p.features | VHOST_F_LOG_ALL;
	packed = p.features | VIRTIO_F_RING_PACKED;
	assert_int_equal(peer_ask_u64(&p, VHOST_USER_SET_FEATURES, p.features),
	                 0);
	assert_int_equal(peer_ask_u64(&p, VHOST_USER_SET_FEATURES, log), 0);
	assert_int_equal(p.dev.feature_sets, 1);
	assert_int_equal(peer_ask_u64(&p, VHOST_USER_SET_FEATURES, packed), 1);
	assert_int_equal(peer_ask_u64(&p, VHOST_USER_SET_FEATURES,
	                              p.features | VIRTIO_BIT(6)),
	                 1);
	peer_echo(&p, 0, 5);
	peer_close(&p);
}

static void test_config(void **state)
{
	struct vhost_user_config c = { .offset = 4, .size = 8 };
	struct peer_msg m;
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_negotiate(&p, VIRTIO_F_VERSION_1);
	for (unsigned i = 0; i < PEER_CONFIG; i++)
		p.dev.config[i] = (uint8_t)(100 + i);
	peer_send(&p, VHOST_USER_GET_CONFIG, &c, 12 + 8, NO_FDS);
	assert_true(peer_receive(&p, &m));
	assert_int_equal(m.hdr.size, 12 + 8);
	assert_int_equal(m.body.config.offset, 4);
	assert_memory_equal(m.body.config.bytes, p.dev.config + 4, 8);

	c.size = PEER_CONFIG - 3; /* one byte too far */
	peer_send(&p, VHOST_USER_GET_CONFIG, &c, 12 + c.size, NO_FDS);
	assert_true(peer_receive(&p, &m));
	assert_int_equal(m.hdr.size, 0);

	c = (struct vhost_user_config){ 8, 2, 0, { 1, 2 } };
	assert_int_equal(peer_ask(&p, VHOST_USER_SET_CONFIG, &c, 14, NO_FDS),
	                 0);
	assert_int_equal(p.dev.config[9], 2);
	c.offset = 0; /* read-only to the guest, not to migration */
	assert_int_equal(peer_ask(&p, VHOST_USER_SET_CONFIG, &c, 14, NO_FDS),
	                 1);
	c.flags = VHOST_USER_CONFIG_MIGRATION;
	assert_int_equal(peer_ask(&p, VHOST_USER_SET_CONFIG, &c, 14, NO_FDS),
	                 0);
	assert_true(p.dev.migration);
	c.flags = 2;
	assert_int_equal(peer_ask(&p, VHOST_USER_SET_CONFIG, &c, 14, NO_FDS),
	                 1);
	c = (struct vhost_user_config){ UINT32_MAX, 2, 0, { 0 } };
	assert_int_equal(peer_ask(&p, VHOST_USER_SET_CONFIG, &c, 14, NO_FDS),
	                 1);
	assert_int_equal(p.dev.config_sets, 2);
	peer_close(&p);
}

static void test_net_messages(void **state)
{
	static const uint8_t mac[8] = { 2, 4, 6, 8, 10, 12, 0, 0 };
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_negotiate(&p, VIRTIO_F_VERSION_1);
	assert_int_equal(peer_ask_u64(&p, VHOST_USER_NET_SET_MTU, 9000), 0);
	assert_int_equal(p.dev.mtu, 9000);
	assert_int_equal(peer_ask_u64(&p, VHOST_USER_NET_SET_MTU, 1u << 20), 1);
	assert_int_equal(peer_ask(&p, VHOST_USER_SEND_RARP, mac, 8, NO_FDS), 0);
	assert_int_equal(p.dev.rarps, 1);
	assert_memory_equal(p.dev.mac, mac, 6);
	peer_close(&p);
}

static void test_config_change(void **state)
{
	struct vhost_user_hdr h;
	struct peer p;
	int s[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	peer_open(&p);
	vhost_backend_config_changed(p.b); /* nobody listens */
	peer_negotiate(&p, VIRTIO_F_VERSION_1);
	vhost_backend_config_changed(p.b);
	assert_int_equal(peer_ask(&p, VHOST_USER_SET_BACKEND_REQ_FD, NULL, 0,
	                          (struct peer_fds){ &s[1], 1 }),
	                 0);
	close(s[1]);
	vhost_backend_config_changed(p.b);
	assert_int_equal(recv(s[0], &h, sizeof(h), MSG_DONTWAIT), sizeof(h));
	assert_int_equal(h.request, VHOST_USER_BACKEND_CONFIG_CHANGE_MSG);
	assert_int_equal(h.flags, VHOST_USER_VERSION);
	assert_int_equal(h.size, 0);
	/* a front end that never reads: bounded, and it hears at last */
	for (unsigned i = 0; i < 100000; i++)
		vhost_backend_config_changed(p.b);
	while (recv(s[0], &h, sizeof(h), MSG_DONTWAIT) == sizeof(h))
		;
	peer_turn(&p);
	assert_int_equal(recv(s[0], &h, sizeof(h), MSG_DONTWAIT), sizeof(h));
	close(s[0]);
	vhost_backend_config_changed(p.b);
	vhost_backend_config_changed(p.b);
	assert_true(peer_is_connected(&p));
	peer_close(&p);
}

static void test_info(void **state)
{
	struct vhost_queue_info q;
	struct vhost_info i;
	struct peer p;

	(void)state;
	peer_open(&p);
	vhost_backend_info(p.b, &i);
	assert_true(i.connected);
	assert_int_equal(i.mem_bytes, 0);
	peer_run(&p, VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED, 1, 17);
	peer_echo(&p, 1, 4);
	vhost_backend_info(p.b, &i);
	assert_string_equal(i.tag, "test");
	assert_int_equal(i.features, VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED);
	assert_int_equal(i.mem_bytes, PEER_MEM_BYTES);
	assert_int_equal(i.mem_regions, 1);
	assert_int_equal(i.sessions, 1);
	assert_int_equal(i.refused, 0);
	q = peer_queue(&p, 1);
	assert_true(q.packed && q.started && q.enabled);
	assert_int_equal(q.size, 17);
	assert_int_equal(q.count.chains, 4);
	assert_string_equal(q.fault, "none");
	assert_int_equal(vhost_backend_queue_info(p.b, PEER_QUEUES, &q),
	                 -ENOENT);
	peer_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_offers),
		cmocka_unit_test(test_start_needs_all),
		cmocka_unit_test(test_two_flags),
		cmocka_unit_test(test_no_protocol_features),
		cmocka_unit_test(test_disabled_is_processed),
		cmocka_unit_test(test_base),
		cmocka_unit_test(test_half_a_base),
		cmocka_unit_test(test_base_of_virgins),
		cmocka_unit_test(test_silence_after_stop),
		cmocka_unit_test(test_replace_fds),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_reset_owner),
		cmocka_unit_test(test_features_while_running),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_net_messages),
		cmocka_unit_test(test_config_change),
		cmocka_unit_test(test_info),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
