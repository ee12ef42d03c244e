/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backend.h - a device behind a unix socket: the back end of vhost-user. The
 * daemon, the library's public face and tests include it.
 *
 * A back end listens on a socket (or connects to one, again and again, with a
 * capped back-off and for ever) and serves one front end at a time. Everything
 * happens on its loop's thread. A front end that breaks the protocol loses its
 * session and can connect again.
 *
 * Spec: the vhost-user document, docs/interop/vhost-user.rst of QEMU.
 */
#ifndef VIADUCT_VHOST_BACKEND_H
#define VIADUCT_VHOST_BACKEND_H

#include <sys/types.h>

#include "poll/pump.h"

struct vhost_backend;

#define VHOST_BACKEND_QUEUES_MAX 256u /* what the messages can name */

struct vhost_backend_conf {
	const char *tag;  /* names the object in log lines; copied */
	const char *path; /* of the socket; copied. NULL: @fd */
	int fd;           /* with path NULL: a socket that listens or is
	                   * connected; ours from then on, whatever comes */
	bool client;      /* connect to @path instead of listening on it */
	unsigned mode;    /* permissions of the socket; 0: 0600 */
	bool set_owner;   /* give it to these */
	uid_t uid;
	gid_t gid;
	enum pump_policy policy;
};

/**
 * vhost_backend_new() - open the socket and be ready for a front end
 * @l:   runs everything; must outlive the back end
 * @ops: the device; must outlive the back end
 * @ctx: handed to the device
 *
 * A socket file that nobody listens on any more is replaced.
 *
 * Return: a back end, or NULL with a negative errno in @err: -EADDRINUSE when
 * somebody listens there already.
 */
struct vhost_backend *vhost_backend_new(struct loop *l,
                                        const struct device_ops *ops, void *ctx,
                                        const struct vhost_backend_conf *conf,
                                        int *err);

/* Stops every queue, ends the session, removes the socket file. NULL is fine.
 * Not from inside a callback of its device. */
void vhost_backend_free(struct vhost_backend *b);

/* The configuration space is different now: tell the front end, if it listens.
 * Loop thread. */
void vhost_backend_config_changed(struct vhost_backend *b);

/* The queues, for devices that look for their others; NULL beyond the last. */
struct vd_queue *vhost_backend_queue(struct vhost_backend *b, unsigned index);

/* A look from outside, on the loop's thread. */
struct vhost_info {
	const char *tag;
	const char *path; /* NULL: a descriptor was given */
	bool client;
	bool connected;
	uint64_t sessions; /* front ends so far */
	uint64_t messages; /* from all of them */
	uint64_t refused;  /* messages that broke the protocol */
	uint64_t features; /* negotiated */
	uint64_t offered;  /* to the driver */
	uint64_t protocol_features;
	unsigned mem_regions;
	uint64_t mem_bytes;
	bool dirty_log;
	uint8_t status; /* the device status byte, if the front end tells it */
	unsigned queues;
};

struct vhost_queue_info {
	unsigned index;
	uint32_t size;
	bool packed;
	bool started;
	bool enabled;
	const char *fault; /* "none" */
	uint32_t position;
	struct ring_counters count;
};

void vhost_backend_info(const struct vhost_backend *b, struct vhost_info *to);
/* 0, or -ENOENT. */
int vhost_backend_queue_info(struct vhost_backend *b, unsigned index,
                             struct vhost_queue_info *to);

#endif
