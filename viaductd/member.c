/* SPDX-License-Identifier: BSD-2-Clause */
/* member.c - a port of this daemon while it lives. */
#include "member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "port/null.h"
#include "port/pcap.h"
#include "port/stream.h"
#include "port/tap.h"

static int open_tap(struct member *m)
{
	const struct port_conf *c = m->conf;
	const struct tap_port_opts o = {
		.name = m->name,
		.ifname = c->ifname,
		.fd = c->ifname ? -1 : (int)c->fd,
		.mtu = c->mtu,
	};
	int err = 0;

	m->port = tap_port_new(m->worker->loop, &o, &err);
	return err;
}

static int open_stream(struct member *m)
{
	const struct port_conf *c = m->conf;
	struct stream_port_opts o = {
		.name = m->name,
		.at = c->address,
		.owner = c->owner,
		.client = c->client,
	};
	int err = 0;

	if (c->socket)
		err = endpoint_path(&o.at, c->socket);
	if (!err)
		m->port = stream_port_new(m->worker->loop, &o, &err);
	return err;
}

static int open_pcap(struct member *m)
{
	const struct port_conf *c = m->conf;
	const struct pcap_port_opts o = {
		.name = m->name,
		.capture = c->capture,
		.replay = c->replay,
		.snaplen = c->snaplen,
	};
	int err = 0;

	m->port = pcap_port_new(m->worker->loop, &o, &err);
	return err;
}

static int open_null(struct member *m)
{
	int err = 0;

	m->port = null_port_new(m->name, &err);
	return err;
}

static void close_port(struct member *m)
{
	if (m->conf->type == PORT_GUEST)
		member_close_guest(m);
	else if (m->port)
		m->port->ops->close(m->port);
	m->port = NULL;
}

static int open_port(struct member *m)
{
	static int (*const by_type[])(struct member *) = {
		[PORT_GUEST] = member_open_guest, [PORT_TAP] = open_tap,
		[PORT_STREAM] = open_stream,      [PORT_PCAP] = open_pcap,
		[PORT_NULL] = open_null,
	};
	struct vswitch_port_opts opts;
	int err = by_type[m->conf->type](m);

	if (err)
		return err;
	m->port->wait_ns = m->conf->wait_us * UINT64_C(1000);
	port_conf_switch(m->conf, &opts);
	err = vswitch_attach(m->net->sw, m->port, m->worker->loop, &opts);
	if (err)
		close_port(m);
	return err;
}

/* Where the trouble is, and what to do about it. */
static void open_failed(const struct member *m, int err)
{
	const struct port_conf *c = m->conf;
	const char *what = c->socket    ? c->socket
	                   : c->ifname  ? c->ifname
	                   : c->replay  ? c->replay
	                   : c->capture ? c->capture
	                                : "descriptor";
	const char *hint = strerror(-err);

	switch (c->type == PORT_TAP ? err : 0) {
	case -EPERM:
		hint = "not permitted; make it for this user: ip tuntap add "
		       "mode tap vnet_hdr user USER dev NAME";
		break;
	case -EBUSY:
		hint = "another process has it open";
		break;
	case -EPROTOTYPE:
		hint = "it is no tap with IFF_VNET_HDR";
		break;
	case -ENOENT:
		hint = "there is no /dev/net/tun";
		break;
	default:
		break;
	}
	switch (c->type == PORT_PCAP ? err : 0) {
	case -EBADMSG:
		hint = "it is no capture file";
		break;
	case -EPROTOTYPE:
		hint = "the capture is not of Ethernet";
		break;
	case -EPROTONOSUPPORT:
		hint = "pcapng is not read here; convert it: editcap -F pcap";
		break;
	default:
		break;
	}
	if (err == -EADDRINUSE)
		hint = "in use, is another viaductd running?";
	log_error(m->name, "port not opened, %s: %s", what, hint);
}

struct opening {
	struct member *m;
	int err;
};

static void open_on_worker(void *ctx)
{
	struct opening *o = ctx;

	o->err = open_port(o->m);
}

struct member *member_open(const struct port_conf *conf, struct network *net,
                           struct worker *w)
{
	struct member *m = calloc(1, sizeof(*m));
	struct opening o = { m, -ENOMEM };
	int err;

	if (!m)
		return NULL;
	m->name = strdup(conf->name);
	m->conf = conf;
	m->net = net;
	m->worker = w;
	if (m->name) {
		err = worker_call(w, open_on_worker, &o);
		if (err)
			o.err = err;
	}
	if (o.err) {
		open_failed(m, o.err);
		free(m->name);
		free(m);
		return NULL;
	}
	w->ports++;
	net->ports++;
	return m;
}

static void leave_on_worker(void *ctx)
{
	struct member *m = ctx;

	vswitch_detach(m->net->sw, m->port);
}

/* Nothing that ends may be left undone for want of memory. */
static void call_surely(struct worker *w, void (*fn)(void *ctx), void *ctx)
{
	while (worker_call(w, fn, ctx))
		sched_yield();
}

void member_leave(struct member *m)
{
	call_surely(m->worker, leave_on_worker, m);
}

static void close_on_worker(void *ctx)
{
	struct member *m = ctx;

	vswitch_forget(m->net->sw, m->port);
	close_port(m);
}

void member_close(struct member *m)
{
	call_surely(m->worker, close_on_worker, m);
	m->worker->ports--;
	m->net->ports--;
	free(m->name);
	free(m);
}
