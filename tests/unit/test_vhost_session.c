/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vhost_session.c - a front end that does everything right.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "peer.h"

static void test_echo(void **state)
{
	static const uint64_t features[] = {
		VIRTIO_F_VERSION_1,
		VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX,
		VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED,
		VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED | VIRTIO_F_EVENT_IDX,
	};

	(void)state;
	for (unsigned i = 0; i < array_len(features); i++) {
		struct peer p;

		peer_open(&p);
		peer_run(&p, features[i], 1, 64);
		assert_true(peer_queue(&p, 1).started);
		peer_echo(&p, 1, 500);
		assert_int_equal(p.dev.chains, 500);
		assert_int_equal(p.dev.features & VHOST_F_LOG_ALL, 0);
		peer_close(&p);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
