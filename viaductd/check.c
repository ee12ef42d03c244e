/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.c - does a configuration hold together? Single values were checked when
 * they were read; here is what several of them mean together.
 */
#include <stdio.h>
#include <string.h>

#include "config.h"

static const char *const type_words[] = { "guest", "tap", "stream", "pcap",
	                                  "null" };

struct check {
	struct config *config;
	struct report *report;
	const struct port_conf *port;
};

static void wrong(const struct check *c, const char *what)
{
	report_add(c->report, &c->port->said.at, "port \"%s\": %s",
	           c->port->name, what);
}

static bool said(const struct check *c, const char *key)
{
	return port_conf_said(c->port, key);
}

/* The keys of this type, for whoever used another. */
static void keys_of_type(unsigned type, char *to, size_t room)
{
	size_t n = 0;

	*to = '\0';
	for (unsigned i = 0; i < port_section.n && n < room; i++) {
		const struct key *k = &port_section.keys[i];

		if (!k->types || (k->types >> type & 1))
			n += (size_t)snprintf(to + n, room - n, " %s", k->name);
	}
}

static void check_types(const struct check *c)
{
	char all[512], what[700];

	for (unsigned i = 0; i < port_section.n; i++) {
		const struct key *k = &port_section.keys[i];

		if (!c->port->said.text[i] || !k->types ||
		    (k->types >> c->port->type & 1))
			continue;
		keys_of_type(c->port->type, all, sizeof(all));
		snprintf(what, sizeof(what),
		         "%s is not for ports of type %s; those take%s",
		         k->name, type_words[c->port->type], all);
		wrong(c, what);
	}
}

static void check_guest(const struct check *c)
{
	if (said(c, "socket") == said(c, "fd"))
		wrong(c, "a guest port needs either socket or fd");
	if (said(c, "fd") && said(c, "mode"))
		wrong(c, "mode goes with socket; a descriptor tells itself");
	if (c->port->spoof_check && !said(c, "mac") && !said(c, "allow-macs"))
		wrong(c, "spoof-check needs mac or allow-macs");
}

static void check_tap(const struct check *c)
{
	if (said(c, "ifname") == said(c, "fd"))
		wrong(c, "a tap port needs either ifname or fd");
	if (said(c, "ifname") && strlen(c->port->ifname) > 15)
		wrong(c, "ifname: an interface has at most 15 letters");
}

static void check_stream(const struct check *c)
{
	if (said(c, "socket") == said(c, "address"))
		wrong(c, "a stream port needs either socket or address");
}

static void check_pcap(const struct check *c)
{
	if (!said(c, "capture") && !said(c, "replay"))
		wrong(c, "a pcap port needs capture, replay or both");
	if (said(c, "snaplen") && !said(c, "capture"))
		wrong(c, "snaplen goes with capture");
}

static void check_vlans(const struct check *c)
{
	if (said(c, "vlan") && (said(c, "trunk") || said(c, "native")))
		wrong(c, "vlan makes an access port; trunk and native are for "
		         "trunks");
}

static void check_owner(const struct check *c)
{
	bool any = said(c, "socket-mode") || said(c, "socket-owner");

	if (any && (c->port->client || !said(c, "socket")))
		wrong(c, "socket-mode and socket-owner are for sockets that "
		         "are made here: mode=server with socket");
}

/* Two ports cannot have the same name, socket, interface or descriptor. */
static void check_unique(const struct check *c, unsigned upto)
{
	static const char *const keys[] = { "name", "socket",  "ifname",
		                            "fd",   "address", "capture" };
	char what[256];

	for (size_t k = 0; k < array_len(keys); k++) {
		int i = key_find(&port_section, keys[k], strlen(keys[k]));
		const char *mine = c->port->said.text[i];

		for (unsigned o = 0; mine && o < upto; o++) {
			const struct port_conf *p = c->config->ports[o];

			if (!p->said.text[i] || strcmp(p->said.text[i], mine))
				continue;
			snprintf(what, sizeof(what),
			         "another port has the same %s \"%s\"", keys[k],
			         mine);
			wrong(c, what);
		}
	}
}

static void check_switch_name(const struct check *c)
{
	const struct config *config = c->config;
	char what[512];
	size_t n;

	/* Where none is listed, using one is making it. */
	if (!config->nswitches || !strcmp(c->port->sw, SWITCH_DEFAULT) ||
	    config_switch(config, c->port->sw))
		return;
	n = (size_t)snprintf(what, sizeof(what),
	                     "there is no switch \"%s\"; there are %s",
	                     c->port->sw, SWITCH_DEFAULT);
	for (unsigned i = 0; i < config->nswitches && n < sizeof(what); i++) {
		const char *name = config->switches[i]->name;

		if (name && strcmp(name, SWITCH_DEFAULT))
			n += (size_t)snprintf(what + n, sizeof(what) - n, " %s",
			                      name);
	}
	wrong(c, what);
}

static void check_port(struct check *c, unsigned i)
{
	static void (*const by_type[])(const struct check *) = {
		[PORT_GUEST] = check_guest,   [PORT_TAP] = check_tap,
		[PORT_STREAM] = check_stream, [PORT_PCAP] = check_pcap,
		[PORT_NULL] = NULL,
	};
	const struct port_conf *p = c->config->ports[i];

	c->port = p;
	if (!port_conf_said(p, "name")) {
		report_add(c->report, &p->said.at, "a port needs a name");
		return;
	}
	if (!p->name)
		return; /* a bad one, reported */
	if (!port_conf_said(p, "type")) {
		wrong(c, "a port needs a type: guest, tap, stream, pcap or "
		         "null");
		return;
	}
	if (p->type != PORT_TYPES) { /* a bad one is reported already */
		check_types(c);
		if (by_type[p->type])
			by_type[p->type](c);
	}
	check_vlans(c);
	check_owner(c);
	check_unique(c, i);
	check_switch_name(c);
}

static void check_switches(const struct check *c)
{
	const struct config *config = c->config;

	for (unsigned i = 0; i < config->nswitches; i++) {
		const struct switch_conf *s = config->switches[i];

		if (!s->name)
			report_add(c->report, &s->said.at,
			           "a switch needs a name");
		else if (config_switch(config, s->name) != s)
			report_add(c->report, &s->said.at,
			           "another switch has the name \"%s\"",
			           s->name);
	}
}

void config_check(struct config *config, struct report *r)
{
	struct check c = { config, r, NULL };
	static const struct where nowhere;

	check_switches(&c);
	for (unsigned i = 0; i < config->nports; i++)
		check_port(&c, i);
	if (!config->nports && !r->n)
		report_add(r, &nowhere,
		           "no ports: give --port, --socket-path, "
		           "--fd or a file with --config");
}
