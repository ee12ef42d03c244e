/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * value.h - one value of a configuration, from text. Only the daemon includes
 * it.
 *
 * Lists are written with '+' between their items, because ',' separates keys on
 * the command line: trunk=10+20-29. In a file they may be YAML lists.
 */
#ifndef VIADUCTD_VALUE_H
#define VIADUCTD_VALUE_H

#include "base/endpoint.h"
#include "switch/vswitch.h"

struct key;

/* Reads @text into *@to. False: it is not one; value_allowed() says what is. */
typedef bool value_fn(const struct key *k, const char *text, void *to);

struct value_macs {
	unsigned n;
	uint8_t mac[VSWITCH_ALLOW][6];
};

struct value_vlans {
	bool set;
	uint64_t member[4096 / 64];
};

value_fn value_text;     /* const char *, the text itself */
value_fn value_path;     /* likewise, absolute or not, fits a socket */
value_fn value_name;     /* likewise, letters, digits, '-', '_', '.' */
value_fn value_bool;     /* bool */
value_fn value_number;   /* unsigned, within key->min .. key->max */
value_fn value_rate;     /* uint64_t, with k, M, G */
value_fn value_word;     /* unsigned, the place in key->words */
value_fn value_mac;      /* struct value_macs, one */
value_fn value_macs;     /* struct value_macs */
value_fn value_vlan;     /* unsigned */
value_fn value_vlans;    /* struct value_vlans */
value_fn value_mode;     /* struct endpoint_owner, mode */
value_fn value_owner;    /* struct endpoint_owner, uid and gid */
value_fn value_features; /* uint64_t, the bits */
value_fn value_loopback; /* struct endpoint */

/* What the key takes, in words: "1..4094", "on or off". */
void value_allowed(const struct key *k, char *to, size_t room);

#endif
