/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.h - what the daemon was told, as a whole. Only the daemon includes it.
 *
 * It comes from the command line and from at most one file, with the same names
 * (docs/config.md has them all), and is checked whole before anything starts.
 */
#ifndef VIADUCTD_CONFIG_H
#define VIADUCTD_CONFIG_H

#include "key.h"

enum port_type {
	PORT_GUEST,
	PORT_TAP,
	PORT_STREAM,
	PORT_PCAP,
	PORT_NULL,
	PORT_TYPES /* how many; of a port: none of them was said */
};
#define PORT_TYPE_WORDS "guest|tap|stream|pcap|null"

struct port_conf {
	struct said said;

	const char *name;
	unsigned type; /* enum port_type */
	const char *sw;

	/* guest, stream, tap */
	const char *socket;
	struct endpoint_owner owner;
	unsigned client; /* words server|client */
	unsigned fd;
	const char *ifname;
	struct endpoint address;
	unsigned mtu; /* 0: not said */

	/* guest */
	unsigned queues;
	struct value_macs mac;
	uint64_t features_off;
	unsigned policy; /* enum pump_policy */
	unsigned wait_us; /* 0: not said */

	/* pcap */
	const char *capture;
	const char *replay;
	unsigned snaplen;

	/* the switch's side */
	unsigned vlan; /* 0: not said */
	struct value_vlans trunk;
	unsigned native; /* 0: not said */
	bool isolated;
	struct value_macs allow;
	bool spoof_check;
	uint64_t rate, rate_frames, storm;
};

struct switch_conf {
	struct said said;
	const char *name;
	unsigned mac_age;
};

struct config {
	struct said said; /* of the whole */
	const char *control;
	struct endpoint_owner control_owner;
	unsigned workers;
	unsigned log_level;

	struct switch_conf **switches;
	unsigned nswitches;
	struct port_conf **ports;
	unsigned nports;

	const char *file; /* that it came from, NULL: none */
};

extern const struct section config_section;
extern const struct section switch_section;
extern const struct section port_section;

#define SWITCH_DEFAULT "main"

struct config *config_new(void);
void config_free(struct config *c);

/* One more, with what it is unless it is said; NULL: no memory. */
struct switch_conf *config_add_switch(struct config *c, const struct where *at);
struct port_conf *config_add_port(struct config *c, const struct where *at);

/* Was this key of the port said? */
bool port_conf_said(const struct port_conf *p, const char *key);

/* NULL: there is none of this name. */
const struct switch_conf *config_switch(const struct config *c,
                                        const char *name);
const struct port_conf *config_port(const struct config *c, const char *name);

/* Does it hold together? Everything that does not is reported. */
void config_check(struct config *c, struct report *r);

/* The switch's side of a port. */
void port_conf_switch(const struct port_conf *p, struct vswitch_port_opts *to);

#endif
