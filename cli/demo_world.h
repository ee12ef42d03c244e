/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_world.h - where the demonstration takes place: a network namespace of
 * its own, a folder for sockets, a viaductd, a tap with an address. Only the
 * demo includes it.
 */
#ifndef VIADUCT_CLI_DEMO_WORLD_H
#define VIADUCT_CLI_DEMO_WORLD_H

#include <sys/types.h>

#include "base/defs.h"

struct world {
	char dir[64];
	char socket[2][96]; /* of the two guest ports */
	char log[96];       /* what viaductd says */
	pid_t daemon;
	bool tap;           /* there is one, with an address */
	char why_not[96];   /* if there is none */
	char failure[160];  /* the sentence after a step answered -1 */
	double listening_s; /* it took so long */
};

#define WORLD_TAP     "tap0"
#define WORLD_ADDRESS "10.77.0.1" /* of the tap, /24 */

/* Make namespace and folder. 0, or -1 and w->failure. */
int world_open(struct world *w);
/* Start @program (NULL: the viaductd beside us) and wait until it listens. */
int world_start(struct world *w, const char *program);
/* Is viaductd still there? Otherwise -1 and w->failure. */
int world_check(struct world *w);
/* Print the end of what viaductd said. */
void world_print_log(const struct world *w);
void world_close(struct world *w);

#endif
