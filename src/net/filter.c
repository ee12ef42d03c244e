/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filter.c - receive filter by destination address and VLAN.
 *
 * Spec: virtio 1.3, 5.1.6.5.1 Packet Receive Filtering; 5.1.6.5.2 Setting MAC
 * Address Filtering; 5.1.6.5.3 VLAN Filtering.
 */
#include "net/filter.h"

#include <string.h>

#include "net/layers.h"

void filter_init(struct filter *x, const uint8_t mac[6])
{
	memset(x, 0, sizeof(*x));
	memcpy(x->mac, mac, 6);
	x->promisc = x->vlan_open = true;
	filter_settle(x);
}

void filter_settle(struct filter *x)
{
	x->open = x->promisc && x->vlan_open;
}

void filter_vlan_set(struct filter *x, unsigned id, bool on)
{
	uint64_t bit = UINT64_C(1) << (id & 63);

	x->vlan_open = false;
	if (on)
		x->vlan[id / 64] |= bit;
	else
		x->vlan[id / 64] &= ~bit;
	filter_settle(x);
}

static bool is_listed(const uint8_t (*list)[6], unsigned n, const uint8_t *mac)
{
	while (n--) {
		if (!memcmp(list[n], mac, 6))
			return true;
	}
	return false;
}

static bool mac_passes(const struct filter *x, const uint8_t *mac)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };

	if (x->promisc)
		return true;
	if (!memcmp(mac, all, 6))
		return !x->nobcast;
	if (mac[0] & 1)
		return !x->nomulti && (x->allmulti || x->multi_over ||
		                       is_listed(x->multi, x->nmulti, mac));
	return !x->nouni &&
	       (x->alluni || x->uni_over || !memcmp(mac, x->mac, 6) ||
	        is_listed(x->uni, x->nuni, mac));
}

bool filter_passes(const struct filter *x, const struct frame *f)
{
	const uint8_t *p = frame_head(f);
	unsigned id;

	if (!mac_passes(x, p))
		return false;
	if (x->vlan_open || f->head_len < 16 || be16_at(p + 12) != TYPE_VLAN)
		return true;
	id = be16_at(p + 14) & 4095u;
	return x->vlan[id / 64] >> (id & 63) & 1;
}
