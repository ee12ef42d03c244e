/* SPDX-License-Identifier: BSD-2-Clause */
/* config.c - what the daemon was told: its keys, and what is unless said. */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define TYPE(t) (1u << (t))
#define GUEST   TYPE(PORT_GUEST)
#define TAP     TYPE(PORT_TAP)
#define STREAM  TYPE(PORT_STREAM)
#define PCAP    TYPE(PORT_PCAP)

#define RATE_MAX 1000000000000ull

#define C(field) offsetof(struct config, field)
static const struct key config_keys[] = {
	{ .name = "control", .read = value_path, .offset = C(control) },
	{ .name = "control-mode",
	  .read = value_mode,
	  .offset = C(control_owner) },
	{ .name = "control-owner",
	  .read = value_owner,
	  .offset = C(control_owner) },
	{ .name = "workers",
	  .read = value_number,
	  .offset = C(workers),
	  .min = 1,
	  .max = 64 },
	{ .name = "log-level",
	  .read = value_word,
	  .offset = C(log_level),
	  .words = "error|warn|info|debug" },
};

#define S(field) offsetof(struct switch_conf, field)
static const struct key switch_keys[] = {
	{ .name = "name", .read = value_name, .offset = S(name) },
	{ .name = "mac-age",
	  .read = value_number,
	  .offset = S(mac_age),
	  .min = 1,
	  .max = 1000000 },
};

#define P(field) offsetof(struct port_conf, field)
#define KEY(n, fn, field, for_types)                                          \
	{                                                                     \
		.name = n, .read = fn, .offset = P(field), .types = for_types \
	}
static const struct key port_keys[] = {
	KEY("name", value_name, name, 0),
	{ .name = "type",
	  .read = value_word,
	  .offset = P(type),
	  .words = PORT_TYPE_WORDS },
	KEY("switch", value_name, sw, 0),
	KEY("socket", value_path, socket, GUEST | STREAM),
	KEY("socket-mode", value_mode, owner, GUEST | STREAM),
	KEY("socket-owner", value_owner, owner, GUEST | STREAM),
	{ .name = "mode",
	  .read = value_word,
	  .offset = P(client),
	  .words = "server|client",
	  .types = GUEST | STREAM },
	{ .name = "fd",
	  .read = value_number,
	  .offset = P(fd),
	  .min = 3,
	  .max = INT_MAX,
	  .types = GUEST | TAP },
	KEY("ifname", value_text, ifname, TAP),
	KEY("address", value_loopback, address, STREAM),
	{ .name = "mtu",
	  .read = value_number,
	  .offset = P(mtu),
	  .min = 68,
	  .max = 65535,
	  .types = GUEST | TAP },
	{ .name = "queues",
	  .read = value_number,
	  .offset = P(queues),
	  .min = 1,
	  .max = 64,
	  .types = GUEST },
	KEY("mac", value_mac, mac, GUEST),
	KEY("features-off", value_features, features_off, GUEST),
	{ .name = "policy",
	  .read = value_word,
	  .offset = P(policy),
	  .words = "notify|poll|adaptive",
	  .types = GUEST },
	{ .name = "wait-us",
	  .read = value_number,
	  .offset = P(wait_us),
	  .min = 1,
	  .max = 10000000,
	  .types = GUEST | TAP | STREAM | PCAP },
	KEY("capture", value_text, capture, PCAP),
	KEY("replay", value_text, replay, PCAP),
	{ .name = "snaplen",
	  .read = value_number,
	  .offset = P(snaplen),
	  .min = 14,
	  .max = 262144,
	  .types = PCAP },
	KEY("vlan", value_vlan, vlan, 0),
	KEY("trunk", value_vlans, trunk, 0),
	KEY("native", value_vlan, native, 0),
	KEY("isolated", value_bool, isolated, 0),
	KEY("allow-macs", value_macs, allow, 0),
	KEY("spoof-check", value_bool, spoof_check, GUEST),
	{ .name = "rate",
	  .read = value_rate,
	  .offset = P(rate),
	  .max = RATE_MAX },
	{ .name = "rate-packets",
	  .read = value_rate,
	  .offset = P(rate_frames),
	  .max = RATE_MAX },
	{ .name = "storm-limit",
	  .read = value_rate,
	  .offset = P(storm),
	  .max = RATE_MAX },
};

_Static_assert(array_len(port_keys) <= KEYS_MAX, "room in struct said");

const struct section config_section = { "configuration", config_keys,
	                                array_len(config_keys) };
const struct section switch_section = { "switch", switch_keys,
	                                array_len(switch_keys) };
const struct section port_section = { "port", port_keys, array_len(port_keys) };

struct config *config_new(void)
{
	struct config *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->workers = 1;
	c->log_level = 2; /* info */
	return c;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->nswitches; i++) {
		said_fini(&c->switches[i]->said);
		free(c->switches[i]);
	}
	for (unsigned i = 0; i < c->nports; i++) {
		said_fini(&c->ports[i]->said);
		free(c->ports[i]);
	}
	said_fini(&c->said);
	free(c->switches);
	free(c->ports);
	free(c);
}

/* Room for one more pointer; NULL: no memory. */
static void *grow(void *list, unsigned n)
{
	return reallocarray(list, n + 1, sizeof(void *));
}

struct switch_conf *config_add_switch(struct config *c, const struct where *at)
{
	struct switch_conf **list = grow(c->switches, c->nswitches);
	struct switch_conf *s;

	if (!list)
		return NULL;
	c->switches = list;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->said.at = *at;
	s->mac_age = VSWITCH_AGE_S;
	list[c->nswitches++] = s;
	return s;
}

struct port_conf *config_add_port(struct config *c, const struct where *at)
{
	struct port_conf **list = grow(c->ports, c->nports);
	struct port_conf *p;

	if (!list)
		return NULL;
	c->ports = list;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->said.at = *at;
	p->type = PORT_TYPES;
	p->sw = SWITCH_DEFAULT;
	p->queues = 8;
	p->policy = 2; /* adaptive */
	list[c->nports++] = p;
	return p;
}

bool port_conf_said(const struct port_conf *p, const char *key)
{
	int i = key_find(&port_section, key, strlen(key));

	return i >= 0 && p->said.text[i];
}

const struct switch_conf *config_switch(const struct config *c,
                                        const char *name)
{
	for (unsigned i = 0; i < c->nswitches; i++) {
		if (c->switches[i]->name && !strcmp(c->switches[i]->name, name))
			return c->switches[i];
	}
	return NULL;
}

const struct port_conf *config_port(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->nports; i++) {
		if (c->ports[i]->name && !strcmp(c->ports[i]->name, name))
			return c->ports[i];
	}
	return NULL;
}

static void switch_vlans(const struct port_conf *p, struct vlan_port *to)
{
	if (p->vlan) {
		vlan_port_access(to, (uint16_t)p->vlan);
		return;
	}
	vlan_port_init(to);
	if (p->trunk.set) {
		vlan_port_trunk(to);
		for (unsigned i = 0; i < array_len(to->member); i++)
			to->member[i] = p->trunk.member[i];
	}
	if (p->native)
		vlan_port_native(to, (uint16_t)p->native);
}

void port_conf_switch(const struct port_conf *p, struct vswitch_port_opts *to)
{
	const struct value_macs *allow = &p->allow;

	vswitch_port_opts_init(to);
	switch_vlans(p, &to->vlan);
	to->isolated = p->isolated;
	to->rate_bits = p->rate;
	to->rate_frames = p->rate_frames;
	to->storm_frames = p->storm;
	if (p->spoof_check && !allow->n)
		allow = &p->mac;
	to->nallow = allow->n;
	memcpy(to->allow, allow->mac, sizeof(to->allow));
}
