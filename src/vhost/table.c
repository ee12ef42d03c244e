/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.c - a row for each vhost-user message.
 *
 * A row says how long the payload is, how many descriptors come with it, how it
 * is answered and which protocol feature it belongs to. Handlers can rely on
 * all of that. A message with no row, or one that its row or its handler
 * refuses, gets a failure reply if it asked for one; if it did not, nobody
 * would ever know, so the session ends.
 *
 * Not here, and so refused: IOTLB and cross-endian (never offered), crypto,
 * GPU and shared objects (not our devices), post-copy, in-band notifications.
 */
#include <errno.h>
#include <string.h>

#include "vhost/handlers.h"

enum answer {
	ACK,   /* 0 or 1, if it was asked for */
	REPLY, /* always, by the handler; a failure cannot be told */
	LOUD,  /* always 0 or 1 */
};

struct rule {
	const char *name;
	handler_fn *fn;
	uint32_t size_min, size_max;
	uint8_t fds_min, fds_max;
	enum answer answer;
	uint64_t needs; /* protocol feature that we have to have offered */
};

/* Payload sizes. What has no payload may have any: it is not looked at. */
#define UP_TO(type)   sizeof(struct type)
#define SIZE_OF(type) UP_TO(type), UP_TO(type)
#define NONE          0, UINT32_MAX
#define U64           sizeof(uint64_t), sizeof(uint64_t)
#define STATE         SIZE_OF(vhost_user_vring_state)
#define ADDR          SIZE_OF(vhost_user_vring_addr)
#define REGION        SIZE_OF(vhost_user_mem_reg)
#define AREA          SIZE_OF(vhost_user_log)
#define RECORD        VHOST_USER_INFLIGHT_BYTES, UP_TO(vhost_user_inflight)
#define SPACE         VHOST_USER_CONFIG_HDR_BYTES, UP_TO(vhost_user_config)
#define REGIONS       VHOST_USER_MEM_TABLE_BYTES(0), UP_TO(vhost_user_mem_table)

#define F(name)        VHOST_USER_PROTOCOL_F_##name
#define ROW(name, ...) [VHOST_USER_##name] = { #name, __VA_ARGS__ }

/* message, handler, payload, descriptors from .. to, answer, needs */
/* clang-format off */
static const struct rule table[] = {
	ROW(GET_FEATURES, on_get_features, NONE, 0, 0, REPLY, 0),
	ROW(SET_FEATURES, on_set_features, U64, 0, 0, ACK, 0),
	ROW(SET_OWNER, on_set_owner, NONE, 0, 0, ACK, 0),
	ROW(RESET_OWNER, on_reset_owner, NONE, 0, 0, ACK, 0),
	ROW(SET_MEM_TABLE, on_set_mem_table, REGIONS, 0, 8, ACK, 0),
	ROW(SET_LOG_BASE, on_set_log_base, AREA, 1, 1, LOUD, F(LOG_SHMFD)),
	ROW(SET_LOG_FD, on_set_log_fd, NONE, 0, 1, ACK, 0),
	ROW(SET_VRING_NUM, on_set_vring_num, STATE, 0, 0, ACK, 0),
	ROW(SET_VRING_ADDR, on_set_vring_addr, ADDR, 0, 0, ACK, 0),
	ROW(SET_VRING_BASE, on_set_vring_base, STATE, 0, 0, ACK, 0),
	ROW(GET_VRING_BASE, on_get_vring_base, STATE, 0, 0, REPLY, 0),
	ROW(SET_VRING_KICK, on_set_vring_kick, U64, 0, 1, ACK, 0),
	ROW(SET_VRING_CALL, on_set_vring_call, U64, 0, 1, ACK, 0),
	ROW(SET_VRING_ERR, on_set_vring_err, U64, 0, 1, ACK, 0),
	ROW(GET_PROTOCOL_FEATURES, on_get_protocol, NONE, 0, 0, REPLY, 0),
	ROW(SET_PROTOCOL_FEATURES, on_set_protocol, U64, 0, 0, ACK, 0),
	ROW(GET_QUEUE_NUM, on_get_queue_num, NONE, 0, 0, REPLY, F(MQ)),
	ROW(SET_VRING_ENABLE, on_set_vring_enable, STATE, 0, 0, ACK, 0),
	ROW(SEND_RARP, on_send_rarp, U64, 0, 0, ACK, F(RARP)),
	ROW(NET_SET_MTU, on_net_set_mtu, U64, 0, 0, ACK, F(MTU)),
	ROW(SET_BACKEND_REQ_FD, on_set_backend_req, NONE, 1, 1, ACK,
	    F(BACKEND_REQ)),
	ROW(GET_CONFIG, on_get_config, SPACE, 0, 0, REPLY, F(CONFIG)),
	ROW(SET_CONFIG, on_set_config, SPACE, 0, 0, ACK, F(CONFIG)),
	ROW(GET_INFLIGHT_FD, on_get_inflight_fd, RECORD, 0, 0, REPLY,
	    F(INFLIGHT_SHMFD)),
	ROW(SET_INFLIGHT_FD, on_set_inflight_fd, RECORD, 1, 1, ACK,
	    F(INFLIGHT_SHMFD)),
	ROW(RESET_DEVICE, on_reset_device, NONE, 0, 0, ACK, F(RESET_DEVICE)),
	ROW(GET_MAX_MEM_SLOTS, on_get_max_mem_slots, NONE, 0, 0, REPLY,
	    F(CONFIGURE_MEM_SLOTS)),
	ROW(ADD_MEM_REG, on_add_mem_reg, REGION, 1, 1, ACK,
	    F(CONFIGURE_MEM_SLOTS)),
	ROW(REM_MEM_REG, on_rem_mem_reg, REGION, 0, 1, ACK,
	    F(CONFIGURE_MEM_SLOTS)),
	ROW(SET_STATUS, on_set_status, U64, 0, 0, ACK, F(STATUS)),
	ROW(GET_STATUS, on_get_status, NONE, 0, 0, REPLY, F(STATUS)),
};
/* clang-format on */

static const struct rule *rule_of(uint32_t request)
{
	static const struct rule unknown = { .name = "unknown message" };

	if (request >= array_len(table) || !table[request].fn)
		return &unknown;
	return &table[request];
}

static int check(const struct vhost_backend *b, const struct rule *r,
                 const struct msg *m)
{
	if (!r->fn || (r->needs & ~b->protocol_offered))
		return -EOPNOTSUPP;
	if (m->hdr.size < r->size_min || m->hdr.size > r->size_max)
		return -EPROTO;
	if (m->nfds < r->fds_min || m->nfds > r->fds_max)
		return -EPROTO;
	return 0;
}

static void note_refusal(struct vhost_backend *b, const struct rule *r,
                         uint32_t request, int err)
{
	unsigned more;

	b->refused++;
	if (log_limit_pass(&b->limit, &more))
		log_warn(b->tag,
		         "refused %s request=%u error=\"%s\" suppressed=%u",
		         r->name, request, strerror(-err), more);
}

int table_handle(struct vhost_backend *b, struct msg *m)
{
	bool asked = m->hdr.flags & VHOST_USER_F_NEED_REPLY;
	const struct rule *r = rule_of(m->hdr.request);
	int err;

	err = check(b, r, m);
	if (!err)
		err = r->fn(b, m);
	if (err)
		note_refusal(b, r, m->hdr.request, err);
	if (!err && r->answer == REPLY)
		return 1;
	msg_drop(m);
	if (r->answer != LOUD && !asked)
		return err;
	answer_u64(m, err ? 1 : 0);
	return 1;
}
