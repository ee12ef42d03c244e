/* SPDX-License-Identifier: BSD-2-Clause */
/* status.h - how the daemon is, in JSON. Only the daemon includes it. */
#ifndef VIADUCTD_STATUS_H
#define VIADUCTD_STATUS_H

#include <jansson.h>

#include "daemon.h"

/* Everything; a new reference, NULL without memory. Main thread. */
json_t *status_json(const struct daemon *d);

/* What a port of type guest adds to it. On the member's worker. */
json_t *status_guest_json(const struct member *m);

#endif
