/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guest.c - a port of type guest: a virtio-net device, its vhost-user back end,
 * and the two tied together. On the member's worker.
 */
#include <stdlib.h>
#include <string.h>

#include "member.h"
#include "port/guest.h"
#include "vhost/backend.h"

static struct guest_conf device_conf(const struct member *m)
{
	const struct port_conf *c = m->conf;
	struct guest_conf g = {
		.name = m->name,
		.wait_ns = c->wait_us * UINT64_C(1000),
		.net = { .mtu = (uint16_t)c->mtu,
		         .pairs = c->queues,
		         .features_off = c->features_off },
	};

	memcpy(g.net.mac, c->mac.mac[0], sizeof(g.net.mac));
	return g;
}

static struct vhost_backend_conf socket_conf(const struct member *m)
{
	const struct port_conf *c = m->conf;
	static const enum pump_policy policy[] = { PUMP_NOTIFY, PUMP_POLL,
		                                   PUMP_ADAPTIVE };

	return (struct vhost_backend_conf){
		.tag = m->name,
		.path = c->socket,
		.fd = c->socket ? -1 : (int)c->fd,
		.client = c->client,
		.mode = c->owner.mode,
		.set_owner = c->owner.set_owner,
		.uid = c->owner.uid,
		.gid = c->owner.gid,
		.policy = policy[c->policy],
	};
}

int member_open_guest(struct member *m)
{
	const struct guest_conf device = device_conf(m);
	const struct vhost_backend_conf socket = socket_conf(m);
	struct loop *l = m->worker->loop;
	int err = 0;

	m->guest = guest_new(&device, l, &err);
	if (!m->guest)
		return err;
	m->backend = vhost_backend_new(l, guest_ops(m->guest),
	                               guest_device(m->guest), &socket, &err);
	if (!m->backend) {
		guest_free(m->guest);
		m->guest = NULL;
		return err;
	}
	m->port = guest_port(m->guest);
	return 0;
}

void member_close_guest(struct member *m)
{
	vhost_backend_free(m->backend);
	guest_free(m->guest);
	m->backend = NULL;
	m->guest = NULL;
}
