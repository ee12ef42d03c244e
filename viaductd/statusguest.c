/* SPDX-License-Identifier: BSD-2-Clause */
/* statusguest.c - how a guest's port is, in JSON: its session and queues. */
#include <stdio.h>

#include "base/order.h"
#include "feature.h"
#include "status.h"
#include "vhost/backend.h"

static json_t *words_json(uint64_t bits, const struct feature *f)
{
	json_t *list = json_array();

	for (; f->word; f++) {
		if (bits >> f->bit & 1)
			json_array_append_new(list, json_string(f->word));
	}
	return list;
}

static json_t *hex_json(uint64_t bits)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)bits);
	return json_string(text);
}

static void put(json_t *to, const char *name, uint64_t n)
{
	json_object_set_new(to, name, json_integer((json_int_t)n));
}

static json_t *ratio_json(uint64_t n, uint64_t of)
{
	return of ? json_real((double)n / (double)of) : json_null();
}

static const char *role_of(unsigned index, unsigned queues)
{
	if (index == queues - 1 && queues % 2)
		return "ctrl";
	return index % 2 ? "tx" : "rx";
}

static json_t *count_json(const struct ring_counters *c)
{
	json_t *to = json_object(), *bursts = json_array();

	put(to, "packets", c->chains);
	put(to, "bytes_read", c->bytes_read);
	put(to, "bytes_written", c->bytes_written);
	put(to, "kicks", c->kicks);
	put(to, "kicks_empty", c->kicks_empty);
	put(to, "kick_requests", c->kick_requests);
	put(to, "interrupts", c->calls);
	put(to, "interrupts_suppressed", c->calls_suppressed);
	put(to, "indirect", c->indirect);
	put(to, "faults", c->faults);
	put(to, "polls_hit", c->polls_hit);
	put(to, "polls_miss", c->polls_miss);
	put(to, "sleeps", c->sleeps);
	put(to, "drops", c->drops);
	for (size_t i = 0; i < array_len(c->bursts); i++)
		json_array_append_new(bursts,
		                      json_integer((json_int_t)c->bursts[i]));
	json_object_set_new(to, "bursts", bursts);
	return to;
}

static json_t *queue_json(const struct vhost_queue_info *q, unsigned queues)
{
	json_t *to =
		json_pack("{s:i, s:s, s:i, s:s, s:b, s:b, s:s}", "index",
	                  (int)q->index, "role", role_of(q->index, queues),
	                  "size", (int)q->size, "layout",
	                  q->packed ? "packed" : "split", "started", q->started,
	                  "enabled", q->enabled, "fault", q->fault);

	put(to, "position", q->position);
	json_object_set_new(to, "counters", count_json(&q->count));
	json_object_set_new(to, "kicks_per_packet",
	                    ratio_json(q->count.kicks, q->count.chains));
	json_object_set_new(to, "interrupts_per_packet",
	                    ratio_json(q->count.calls, q->count.chains));
	return to;
}

/* Queues that were ever used; the others have nothing to say. */
static json_t *queues_json(const struct member *m, unsigned queues)
{
	struct vhost_queue_info q;
	json_t *list = json_array();

	for (unsigned i = 0; i < queues; i++) {
		if (vhost_backend_queue_info(m->backend, i, &q))
			break;
		if (q.started || q.count.chains)
			json_array_append_new(list, queue_json(&q, queues));
	}
	return list;
}

json_t *status_guest_json(const struct member *m)
{
	struct vhost_info i;
	json_t *to;

	vhost_backend_info(m->backend, &i);
	to = json_pack("{s:s?, s:s, s:b, s:b}", "socket", i.path, "mode",
	               i.client ? "client" : "server", "connected", i.connected,
	               "dirty_log", i.dirty_log);
	put(to, "sessions", i.sessions);
	put(to, "messages", i.messages);
	put(to, "refused", i.refused);
	put(to, "mem_regions", i.mem_regions);
	put(to, "mem_bytes", i.mem_bytes);
	put(to, "device_status", i.status);
	json_object_set_new(to, "features",
	                    words_json(i.features, device_features));
	json_object_set_new(to, "features_hex", hex_json(i.features));
	json_object_set_new(to, "offered",
	                    words_json(i.offered, device_features));
	json_object_set_new(to, "protocol_features",
	                    words_json(i.protocol_features, protocol_features));
	json_object_set_new(to, "queues", queues_json(m, i.queues));
	return to;
}
