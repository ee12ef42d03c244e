/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * member.h - a port of this daemon while it lives: on its worker, attached to
 * its switch. Only the daemon includes it. Main thread only.
 *
 * It goes in three steps, because other workers may be sending to it: it leaves
 * the switch, every worker finishes its turn, it is closed.
 */
#ifndef VIADUCTD_MEMBER_H
#define VIADUCTD_MEMBER_H

#include "config.h"
#include "port/port.h"
#include "worker.h"

/* A switch while it lives. */
struct network {
	struct network *next;
	char *name;
	unsigned mac_age;
	struct vswitch *sw;
	unsigned ports;
};

struct member {
	struct member *next;
	char *name; /* stays, while configurations come and go */
	const struct port_conf *conf;
	struct network *net;
	struct worker *worker;
	struct port *port;

	/* type guest */
	struct guest *guest;
	struct vhost_backend *backend;

	bool leaving;
};

/* Open it and attach it. NULL: logged why. */
struct member *member_open(const struct port_conf *conf, struct network *net,
                           struct worker *w);

/* First step. */
void member_leave(struct member *m);
/* Third step, after workers_settle(). */
void member_close(struct member *m);

/* What opens a port of each type, on the member's worker. 0 or negative errno,
 * and m->port is set. */
int member_open_guest(struct member *m);
void member_close_guest(struct member *m);

#endif
