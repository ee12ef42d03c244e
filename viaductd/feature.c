/* SPDX-License-Identifier: BSD-2-Clause */
/* feature.c - feature bits as words. Spec: virtio 1.3, 5.1.3 Feature bits and 6
 * Reserved Feature Bits; the vhost-user document, Protocol features. */
#include "feature.h"

#include <string.h>

const struct feature device_features[] = {
	{ "csum", 0 },
	{ "guest_csum", 1 },
	{ "ctrl_guest_offloads", 2 },
	{ "mtu", 3 },
	{ "mac", 5 },
	{ "guest_tso4", 7 },
	{ "guest_tso6", 8 },
	{ "guest_ecn", 9 },
	{ "guest_ufo", 10 },
	{ "host_tso4", 11 },
	{ "host_tso6", 12 },
	{ "host_ecn", 13 },
	{ "host_ufo", 14 },
	{ "mrg_rxbuf", 15 },
	{ "status", 16 },
	{ "ctrl_vq", 17 },
	{ "ctrl_rx", 18 },
	{ "ctrl_vlan", 19 },
	{ "ctrl_rx_extra", 20 },
	{ "guest_announce", 21 },
	{ "mq", 22 },
	{ "ctrl_mac_addr", 23 },
	{ "any_layout", 27 },
	{ "indirect_desc", 28 },
	{ "event_idx", 29 },
	{ "version_1", 32 },
	{ "access_platform", 33 },
	{ "ring_packed", 34 },
	{ "in_order", 35 },
	{ "order_platform", 36 },
	{ "notification_data", 38 },
	{ "ring_reset", 40 },
	{ "vq_notf_coal", 52 },
	{ "notf_coal", 53 },
	{ "guest_uso4", 54 },
	{ "guest_uso6", 55 },
	{ "host_uso", 56 },
	{ NULL, 0 },
};

const struct feature protocol_features[] = {
	{ "mq", 0 },
	{ "log_shmfd", 1 },
	{ "rarp", 2 },
	{ "reply_ack", 3 },
	{ "mtu", 4 },
	{ "backend_req", 5 },
	{ "cross_endian", 6 },
	{ "crypto_session", 7 },
	{ "pagefault", 8 },
	{ "config", 9 },
	{ "backend_send_fd", 10 },
	{ "host_notifier", 11 },
	{ "inflight_shmfd", 12 },
	{ "reset_device", 13 },
	{ "inband_notifications", 14 },
	{ "configure_mem_slots", 15 },
	{ "status", 16 },
	{ "xen_mmap", 17 },
	{ "shared_object", 18 },
	{ "device_state", 19 },
	{ "get_vring_base_inflight", 20 },
	{ NULL, 0 },
};

int feature_find(const char *word, size_t n)
{
	for (const struct feature *f = device_features; f->word; f++) {
		if (strlen(f->word) == n && !memcmp(f->word, word, n))
			return (int)f->bit;
	}
	return -1;
}
