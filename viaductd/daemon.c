/* SPDX-License-Identifier: BSD-2-Clause */
/* daemon.c - the ports and switches of one running daemon. */
#include "daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* --- switches ------------------------------------------------------------ */

static unsigned age_of(const struct config *c, const char *name)
{
	const struct switch_conf *s = config_switch(c, name);

	return s ? s->mac_age : VSWITCH_AGE_S;
}

static struct network *network_find(struct daemon *d, const char *name,
                                    unsigned mac_age)
{
	struct network *n = d->networks;

	while (n && (strcmp(n->name, name) || n->mac_age != mac_age))
		n = n->next;
	return n;
}

static struct network *network_get(struct daemon *d, const char *name)
{
	unsigned age = age_of(d->config, name);
	struct network *n = network_find(d, name, age);
	int err = 0;

	if (n)
		return n;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->name = strdup(name);
	n->mac_age = age;
	n->sw = vswitch_new(age, &err);
	if (!n->name || !n->sw) {
		vswitch_free(n->sw);
		free(n->name);
		free(n);
		return NULL;
	}
	n->next = d->networks;
	d->networks = n;
	return n;
}

static void networks_sweep(struct daemon *d)
{
	struct network **at = &d->networks, *n;

	while ((n = *at)) {
		if (n->ports) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		vswitch_free(n->sw);
		free(n->name);
		free(n);
	}
}

/* --- ports --------------------------------------------------------------- */

static struct member *member_find(struct daemon *d, const char *name)
{
	struct member *m = d->members;

	while (m && strcmp(m->name, name))
		m = m->next;
	return m;
}

/* Those of the configuration that are not there. Returns how many cannot be. */
static unsigned members_add(struct daemon *d)
{
	struct config *c = d->config;
	unsigned failed = 0;

	for (unsigned i = 0; i < c->nports; i++) {
		struct network *net;
		struct member *m = NULL;

		if (member_find(d, c->ports[i]->name))
			continue;
		net = network_get(d, c->ports[i]->sw);
		if (net)
			m = member_open(c->ports[i], net,
			                workers_idlest(&d->workers));
		if (!m) {
			failed++;
			continue;
		}
		m->next = d->members;
		d->members = m;
		log_info(m->name, "port open type=%s switch=%s",
		         m->port->ops->kind, net->name);
	}
	return failed;
}

/* Those that are marked as leaving. */
static void members_remove(struct daemon *d)
{
	struct member **at = &d->members, *m;

	for (m = d->members; m; m = m->next) {
		if (m->leaving)
			member_leave(m);
	}
	workers_settle(&d->workers);
	while ((m = *at)) {
		if (!m->leaving) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		log_info(m->name, "port closed");
		member_close(m);
	}
}

/* --- life ---------------------------------------------------------------- */

int daemon_start(struct daemon *d, struct config *c)
{
	int err = workers_init(&d->workers, c->workers);

	d->config = c;
	if (err) {
		log_error("main", "no workers: %s", strerror(-err));
		return err;
	}
	if (members_add(d))
		return -EIO;
	err = workers_start(&d->workers);
	if (err)
		log_error("main", "no threads: %s", strerror(-err));
	return err;
}

void daemon_stop(struct daemon *d)
{
	workers_stop(&d->workers);
	for (struct member *m = d->members; m; m = m->next)
		m->leaving = true;
	members_remove(d);
	networks_sweep(d);
	if (d->workers.n)
		workers_fini(&d->workers);
	config_free(d->config);
	d->config = NULL;
}

static bool same_port(const struct member *m, const struct config *c)
{
	const struct port_conf *p = config_port(c, m->name);

	return p && said_same(&p->said, &m->conf->said) &&
	       age_of(c, p->sw) == m->net->mac_age;
}

/* What cannot change while it runs. */
static void warn_of_restart(const struct config *was, const struct config *is)
{
	if (!said_same(&was->said, &is->said))
		log_warn("main", "control, workers and log-level change only "
		                 "with a restart");
}

void daemon_follow(struct daemon *d, struct config *c)
{
	struct config *was = d->config;
	unsigned failed, kept = 0, gone = 0;

	warn_of_restart(was, c);
	for (struct member *m = d->members; m; m = m->next) {
		m->leaving = !same_port(m, c);
		kept += !m->leaving;
		gone += m->leaving;
	}
	members_remove(d);
	for (struct member *m = d->members; m; m = m->next)
		m->conf = config_port(c, m->name);
	d->config = c;
	failed = members_add(d);
	networks_sweep(d);
	config_free(was);
	log_info("main",
	         "configuration read again kept=%u closed=%u opened=%u "
	         "failed=%u",
	         kept, gone, c->nports - kept - failed, failed);
}
