/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon.h - the ports and switches of one running daemon, and how they follow
 * its configuration. Only the daemon includes it. Main thread only.
 */
#ifndef VIADUCTD_DAEMON_H
#define VIADUCTD_DAEMON_H

#include "member.h"

struct daemon {
	struct config *config; /* what it follows now */
	struct workers workers;
	struct network *networks;
	struct member *members;
};

/* Open every port, start the workers. Takes @c. 0 or negative errno, logged. */
int daemon_start(struct daemon *d, struct config *c);
/* Close every port. Also after a start that failed. */
void daemon_stop(struct daemon *d);

/* Follow another configuration: ports of which the same is said stay as they
 * are, others come, go, or come again. Takes @c. */
void daemon_follow(struct daemon *d, struct config *c);

#endif
