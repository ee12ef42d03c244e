/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * status.c - how the daemon is, in JSON; docs/control.md describes it.
 *
 * Counters are read while others write them, which is what they are made for.
 * What is not a counter is read on the thread that it belongs to.
 */
#include "status.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/order.h"
#include "port/pcap.h"
#include "port/stream.h"
#include "port/tap.h"
#include "version.h"

static void put_count(json_t *to, const char *name, const uint64_t *count)
{
	json_object_set_new(to, name,
	                    json_integer((json_int_t)count_get(count)));
}

static json_t *counters_json(const struct port_counters *c)
{
	json_t *to = json_object(), *drops = json_object();

	put_count(to, "in_frames", &c->in_frames);
	put_count(to, "in_bytes", &c->in_bytes);
	put_count(to, "out_frames", &c->out_frames);
	put_count(to, "out_bytes", &c->out_bytes);
	put_count(drops, "full", &c->drop_full);
	put_count(drops, "down", &c->drop_down);
	put_count(drops, "bad", &c->drop_bad);
	put_count(drops, "policy", &c->drop_policy);
	put_count(drops, "rate", &c->drop_rate);
	put_count(drops, "offload", &c->drop_offload);
	json_object_set_new(to, "drops", drops);
	return to;
}

/* What was said of it, word for word. */
static json_t *said_json(const struct member *m)
{
	json_t *to = json_object();

	for (unsigned i = 0; i < port_section.n; i++) {
		const char *text = m->conf->said.text[i];

		if (text)
			json_object_set_new(to, port_section.keys[i].name,
			                    json_string(text));
	}
	return to;
}

static json_t *tap_json(const struct member *m)
{
	return json_pack("{s:s, s:b}", "ifname", tap_port_ifname(m->port),
	                 "io_uring", tap_port_is_batched(m->port));
}

static json_t *stream_json(const struct member *m)
{
	return json_pack("{s:b}", "connected",
	                 stream_port_is_connected(m->port));
}

static json_t *pcap_json(const struct member *m)
{
	return json_pack("{s:b}", "replay_done", pcap_port_is_done(m->port));
}

struct asking {
	const struct member *m;
	json_t *answer;
};

static void ask_on_worker(void *ctx)
{
	static json_t *(*const by_type[])(const struct member *) = {
		[PORT_GUEST] = status_guest_json,
		[PORT_TAP] = tap_json,
		[PORT_STREAM] = stream_json,
		[PORT_PCAP] = pcap_json,
		[PORT_NULL] = NULL,
	};
	struct asking *a = ctx;

	if (by_type[a->m->conf->type])
		a->answer = by_type[a->m->conf->type](a->m);
}

static json_t *port_json(const struct daemon *d, const struct member *m)
{
	struct asking a = { .m = m };
	json_t *to =
		json_pack("{s:s, s:s, s:s, s:i, s:o, s:o}", "name", m->name,
	                  "type", m->port->ops->kind, "switch", m->net->name,
	                  "worker", (int)(m->worker - d->workers.worker),
	                  "config", said_json(m), "counters",
	                  counters_json(&m->port->count));

	worker_call(m->worker, ask_on_worker, &a);
	if (a.answer)
		json_object_set_new(to, m->port->ops->kind, a.answer);
	return to;
}

static void add_station(void *ctx, const struct mac_entry *e, const char *port)
{
	const uint8_t *m = e->mac;
	json_t *list = ctx;
	char text[18];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", m[0],
	         m[1], m[2], m[3], m[4], m[5]);
	json_array_append_new(list,
	                      json_pack("{s:s, s:i, s:s, s:i}", "mac", text,
	                                "vlan", (int)e->vlan, "port", port,
	                                "age_s", (int)e->age_s));
}

static json_t *switch_json(const struct network *n)
{
	json_t *macs = json_array();
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	vswitch_walk(n->sw, (uint32_t)now.tv_sec, add_station, macs);
	return json_pack("{s:s, s:i, s:i, s:o}", "name", n->name, "mac_age",
	                 (int)n->mac_age, "ports", (int)n->ports, "macs", macs);
}

json_t *status_json(const struct daemon *d)
{
	json_t *ports = json_array(), *switches = json_array();

	/* Members were put in front of each other: the first is last. */
	for (const struct member *m = d->members; m; m = m->next)
		json_array_insert_new(ports, 0, port_json(d, m));
	for (const struct network *n = d->networks; n; n = n->next)
		json_array_insert_new(switches, 0, switch_json(n));
	return json_pack("{s:s, s:i, s:i, s:o, s:o}", "version", VERSION, "pid",
	                 (int)getpid(), "workers", (int)d->workers.n, "ports",
	                 ports, "switches", switches);
}
