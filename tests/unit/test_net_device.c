/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_net_device.c - features, configuration space, and which vring is what.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "netrig.h"

static const struct net_events events;
static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };
static struct rig rig;

static struct net_device *make(struct net_conf c, int *err)
{
	return net_device_new(&c, &events, err);
}

static uint64_t offered(struct net_conf c)
{
	struct net_device *d;
	uint64_t f;
	int err;

	d = make(c, &err);
	assert_non_null(d);
	f = net_device_ops(d)->features;
	net_device_free(d);
	return f;
}

static void test_conf(void **state)
{
	int err = 0;

	(void)state;
	assert_null(make((struct net_conf){ .pairs = 0 }, &err));
	assert_int_equal(err, -EINVAL);
	assert_null(make((struct net_conf){ .pairs = 65 }, &err));
	assert_int_equal(err, -EINVAL);
	assert_null(make((struct net_conf){ .pairs = 1, .mac = { 1 } }, &err));
	assert_int_equal(err, -EINVAL);
	assert_null(make((struct net_conf){ .pairs = 1, .mtu = 67 }, &err));
	assert_int_equal(err, -EINVAL);
	net_device_free(NULL);
}

/* What is offered follows from what there is. */
static void test_offered(void **state)
{
	uint64_t f = offered((struct net_conf){ .pairs = 1 });

	(void)state;
	assert_true(f & VIRTIO_F_VERSION_1);
	assert_true(f & VIRTIO_F_RING_PACKED);
	assert_false(f &
	             (VIRTIO_NET_F_MQ | VIRTIO_NET_F_MTU | VIRTIO_NET_F_MAC));
	f = offered((struct net_conf){ .pairs = 2, .mtu = 9000, .mac = { 2 } });
	assert_true(f & VIRTIO_NET_F_MQ && f & VIRTIO_NET_F_MTU &&
	            f & VIRTIO_NET_F_MAC);
	f = offered((struct net_conf){ .pairs = 2,
	                               .features_off = VIRTIO_NET_F_MQ |
	                                               VIRTIO_F_RING_PACKED });
	assert_false(f & (VIRTIO_NET_F_MQ | VIRTIO_F_RING_PACKED));
}

static void open_rig(unsigned pairs, uint64_t features)
{
	struct net_conf c = { .pairs = pairs, .mtu = 1500 };

	memcpy(c.mac, mac, 6);
	rig_open(&rig, &c, &events, features, 64);
}

static int get(void *to, size_t off, size_t len)
{
	return rig.ops->get_config(rig.dev, to, off, len);
}

static void test_config(void **state)
{
	struct virtio_net_config c;
	uint8_t b[64];

	(void)state;
	open_rig(3, VIRTIO_F_VERSION_1);
	assert_int_equal(rig.ops->config_size, sizeof(c));
	assert_int_equal(get(&c, 0, sizeof(c)), 0);
	assert_memory_equal(c.mac, mac, 6);
	assert_int_equal(le16_get(c.status), VIRTIO_NET_S_LINK_UP);
	assert_int_equal(le16_get(c.max_virtqueue_pairs), 3);
	assert_int_equal(le16_get(c.mtu), 1500);
	for (size_t off = 0; off < 30; off++) {
		for (size_t len = 0; len < 30; len++)
			assert_int_equal(get(b, off, len),
			                 off + len <= sizeof(c) ? 0 : -EINVAL);
	}
	assert_int_equal(get(b, SIZE_MAX, 2), -EINVAL);
	assert_int_equal(get(b, 2, SIZE_MAX), -EINVAL);
	rig_close(&rig);
}

/* A driver of VIRTIO 1 writes nothing, an older one its address; migration
 * brings everything. */
static void test_config_write(void **state)
{
	static const uint8_t other[6] = { 2, 1, 1, 1, 1, 1 };
	uint8_t b[6];

	(void)state;
	open_rig(1, VIRTIO_F_VERSION_1);
	assert_int_equal(rig.ops->set_config(rig.dev, other, 0, 6, false),
	                 -EPERM);
	assert_int_equal(rig.ops->set_config(rig.dev, other, 0, 6, true), 0);
	assert_int_equal(rig.ops->set_config(rig.dev, other, 0, 0, true),
	                 -EINVAL);
	assert_int_equal(rig.ops->set_config(rig.dev, other, 20, 6, true),
	                 -EINVAL);
	rig_close(&rig);
	open_rig(1, 0);
	assert_int_equal(rig.ops->set_config(rig.dev, other, 0, 6, false), 0);
	assert_int_equal(get(b, 0, 6), 0);
	assert_memory_equal(b, other, 6);
	assert_int_equal(rig.ops->set_config(rig.dev, other, 4, 3, false),
	                 -EPERM);
	/* And reset takes it back. */
	rig.ops->reset(rig.dev);
	assert_int_equal(get(b, 0, 6), 0);
	assert_memory_equal(b, mac, 6);
	rig_close(&rig);
}

static void test_mtu(void **state)
{
	le16 mtu;

	(void)state;
	open_rig(1, VIRTIO_F_VERSION_1);
	assert_int_equal(rig.ops->set_mtu(rig.dev, 67), -EINVAL);
	assert_int_equal(rig.ops->set_mtu(rig.dev, 65536), -EINVAL);
	assert_int_equal(rig.ops->set_mtu(rig.dev, UINT64_MAX), -EINVAL);
	assert_int_equal(rig.ops->set_mtu(rig.dev, 9000), 0);
	assert_int_equal(get(&mtu, 10, 2), 0);
	assert_int_equal(le16_get(mtu), 9000);
	rig_close(&rig);
}

/* --- the control queue comes and goes ------------------------------------ */

static int promisc_off(unsigned ctrl)
{
	uint64_t gpa = rig_alloc(&rig, 4);
	struct drv_piece p[2] = { { gpa, 3 }, { gpa + 3, 1 } };
	uint32_t written;

	memcpy(rig_at(&rig, gpa), "\0\0\0\7", 4);
	assert_true(rig_offer(&rig, ctrl, p, 1, 1) >= 0);
	drv_publish(&rig.queue[ctrl].drv);
	assert_int_equal(rig.ops->queue_ready(rig.dev, &rig.queue[ctrl].q), 1);
	assert_true(rig_reap(&rig, ctrl, &written) >= 0);
	return *rig_at(&rig, gpa + 3);
}

/* Does a frame for somebody else get in? */
static bool foreign_passes(void)
{
	struct frame f = { .len = 60,
		           .head_len = 60,
		           .head_at = FRAME_HEAD_ROOM };
	struct frame *p = &f;
	struct rx_result r = { 0 };
	struct virtio_net_hdr h;
	uint8_t got[100];

	f.room[FRAME_HEAD_ROOM] = 2;
	rig_post(&rig, 0, 100, 1);
	assert_int_equal(net_send(rig.dev, &p, 1, 0, &r), 1);
	net_flush(rig.dev);
	return rig_receive(&rig, 0, &h, got) == 60;
}

/* Without MQ it is vring 2, whatever pairs there could be. */
static void test_ctrl_place(void **state)
{
	const uint64_t f = VIRTIO_F_VERSION_1 | VIRTIO_NET_F_CTRL_VQ |
	                   VIRTIO_NET_F_CTRL_RX;

	(void)state;
	open_rig(1, f);
	assert_int_equal(promisc_off(2), VIRTIO_NET_OK);
	rig_close(&rig);
	open_rig(2, f | VIRTIO_NET_F_MQ);
	assert_int_equal(promisc_off(4), VIRTIO_NET_OK);
	rig_close(&rig);
	open_rig(2, f);
	assert_int_equal(promisc_off(2), VIRTIO_NET_OK);
	rig_close(&rig);
}

/* A fresh queue begins with the filter open; one that goes on where it was, of
 * which we cannot know the commands, opens it too. */
static void test_ctrl_again(void **state)
{
	const uint64_t f = VIRTIO_F_VERSION_1 | VIRTIO_NET_F_CTRL_VQ |
	                   VIRTIO_NET_F_CTRL_RX;

	(void)state;
	open_rig(1, f);
	assert_true(foreign_passes());
	assert_int_equal(promisc_off(2), VIRTIO_NET_OK);
	assert_false(foreign_passes());
	rig_stop(&rig, 2);
	rig_start(&rig, 2);
	assert_true(foreign_passes());
	assert_int_equal(promisc_off(2), VIRTIO_NET_OK);
	assert_false(foreign_passes());
	/* Features are set again, the same: nothing changes. */
	assert_int_equal(rig.ops->set_features(rig.dev, f | VHOST_F_LOG_ALL),
	                 0);
	assert_false(foreign_passes());
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conf),
		cmocka_unit_test(test_offered),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_config_write),
		cmocka_unit_test(test_mtu),
		cmocka_unit_test(test_ctrl_place),
		cmocka_unit_test(test_ctrl_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
