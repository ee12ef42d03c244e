/* SPDX-License-Identifier: BSD-2-Clause */
/* null.c - a port that takes everything, counts it and forgets it. */
#include "port/null.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

struct null_port {
	struct port port;
	char *name;
	pthread_mutex_t lock; /* the counters: one writer at a time */
};

static unsigned null_send(struct port *port, struct frame *const *f, unsigned n,
                          unsigned flags)
{
	struct null_port *p = container_of(port, struct null_port, port);
	uint64_t bytes = 0;

	(void)flags;
	for (unsigned i = 0; i < n; i++)
		bytes += f[i]->len;
	pthread_mutex_lock(&p->lock);
	count_add(&port->count.out_frames, n);
	count_add(&port->count.out_bytes, bytes);
	pthread_mutex_unlock(&p->lock);
	return n;
}

static void null_flush(struct port *port)
{
	(void)port;
}

static void null_close(struct port *port)
{
	struct null_port *p = container_of(port, struct null_port, port);

	pthread_mutex_destroy(&p->lock);
	free(p->name);
	free(p);
}

static const struct port_ops null_ops = { "null", null_send, null_flush,
	                                  null_close };

struct port *null_port_new(const char *name, int *err)
{
	struct null_port *p = calloc(1, sizeof(*p));

	*err = -ENOMEM;
	if (!p)
		return NULL;
	p->name = strdup(name);
	if (!p->name) {
		free(p);
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	p->port.ops = &null_ops;
	p->port.name = p->name;
	*err = 0;
	return &p->port;
}
