/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filter.h - which frames a guest wants to receive. net includes it.
 *
 * Open until the driver says otherwise over the control queue, for a front end
 * that keeps the control queue filters by itself.
 */
#ifndef VIADUCT_NET_FILTER_H
#define VIADUCT_NET_FILTER_H

#include "net/frame.h"

#define FILTER_MACS 64u /* each kind; a longer table passes all of its kind */

struct filter {
	bool open; /* all below lets everything pass */
	bool promisc, allmulti, alluni, nomulti, nouni, nobcast;
	bool uni_over, multi_over; /* the list was too long to keep */
	bool vlan_open;            /* no VLAN was ever asked for */
	uint8_t mac[6];
	uint8_t nuni, nmulti;
	uint8_t uni[FILTER_MACS][6], multi[FILTER_MACS][6];
	uint64_t vlan[4096 / 64];
};

void filter_init(struct filter *x, const uint8_t mac[6]);

/* After any change: is there still something to ask? */
void filter_settle(struct filter *x);

void filter_vlan_set(struct filter *x, unsigned id, bool on);

bool filter_passes(const struct filter *x, const struct frame *f);

#endif
