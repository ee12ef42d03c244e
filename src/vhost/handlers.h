/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handlers.h - what each message does, by subject. Only vhost includes it.
 *
 * table.c has checked the size of the payload and the number of descriptors.
 * A handler takes out of @m the descriptors that it keeps, and fills in the
 * answer if the row says that there is one.
 *
 * Return: 0, or a negative errno: refused, nothing changed.
 */
#ifndef VIADUCT_VHOST_HANDLERS_H
#define VIADUCT_VHOST_HANDLERS_H

#include "vhost/session.h"

typedef int handler_fn(struct vhost_backend *b, struct msg *m);

/* on_features.c */
handler_fn on_get_features, on_set_features, on_get_protocol, on_set_protocol,
	on_get_queue_num;
/* on_state.c */
handler_fn on_set_owner, on_reset_owner, on_reset_device, on_set_status,
	on_get_status;
/* on_memory.c */
handler_fn on_set_mem_table, on_get_max_mem_slots, on_add_mem_reg,
	on_rem_mem_reg;
/* on_inflight.c */
handler_fn on_get_inflight_fd, on_set_inflight_fd;
/* on_log.c */
handler_fn on_set_log_base, on_set_log_fd;
/* on_vring.c */
handler_fn on_set_vring_num, on_set_vring_addr, on_set_vring_base,
	on_get_vring_base, on_set_vring_kick, on_set_vring_call,
	on_set_vring_err, on_set_vring_enable;
/* on_config.c */
handler_fn on_get_config, on_set_config, on_send_rarp, on_net_set_mtu,
	on_set_backend_req;

#endif
