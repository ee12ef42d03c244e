/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_host.h - the kernel's side of the demonstration: a UDP socket behind the
 * tap. Only the demo includes it.
 */
#ifndef VIADUCT_CLI_DEMO_HOST_H
#define VIADUCT_CLI_DEMO_HOST_H

#include "base/defs.h"

struct host {
	int fd;
	void (*input)(void *ctx, const uint8_t *payload, unsigned len);
	void *ctx;
};

/* Talk to @ip (network order) from @address, both at @port. 0 or negative. */
int host_open(struct host *h, const char *address, uint32_t ip, unsigned port);
void host_close(struct host *h);

int host_send(struct host *h, const void *payload, unsigned len);
/* Wait at most so long, hand all that came to h->input. A count or negative. */
int host_poll(struct host *h, int timeout_ms);

#endif
