/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control.h - the socket on which the daemon is asked. Only the daemon includes
 * it. Main thread only.
 *
 * A request is one line of JSON, an object with "cmd"; so is the answer, an
 * object, which has "error" when there is nothing else to say. Root and our own
 * user may ask, and whoever may open a socket whose mode or owner was said.
 */
#ifndef VIADUCTD_CONTROL_H
#define VIADUCTD_CONTROL_H

#include <jansson.h>

#include "base/endpoint.h"
#include "base/loop.h"

#define CONTROL_CLIENTS 16u   /* at a time; one more and the oldest goes */
#define CONTROL_REQUEST 4096u /* bytes of a line */

struct control;

struct control_opts {
	const char *path;
	struct endpoint_owner owner;
	bool anyone; /* the file's permissions decide alone */
	/* A new reference; never NULL but for want of memory. */
	json_t *(*answer)(void *ctx, const json_t *request);
	void *ctx;
};

struct control *control_new(struct loop *l, const struct control_opts *o,
                            int *err);
/* Removes the socket. NULL is fine. */
void control_free(struct control *c);

#endif
