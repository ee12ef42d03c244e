/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h - a back end and its one session from the inside. Only vhost
 * includes it.
 *
 *   backend.c   life of a back end: waits for a front end, tells about itself
 *   listen.c    unix sockets
 *   session.c   socket -> message -> table -> reply
 *   table.c     a row for each message: size, descriptors, reply, what it needs
 *   on_*.c      what each message does, by subject
 *   vring.c     starting and stopping rings; memory and dirty log for them
 *   channel.c   our own messages to the front end
 *
 * Everything runs on the loop's thread. Other threads may be inside a queue
 * under its lock; what they see (ring, mem, started, enabled, call_fd) changes
 * under it.
 */
#ifndef VIADUCT_VHOST_SESSION_H
#define VIADUCT_VHOST_SESSION_H

#include "base/log.h"
#include "ring/inflight.h"
#include "vhost/backend.h"
#include "vhost/channel.h"
#include "vhost/msg.h"

/* What the session knows about a ring, beside the queue itself. */
struct vring {
	struct vd_queue q;
	uint32_t size; /* 0: not told */
	uint32_t position;
	bool has_position;
	bool has_addr;
	bool has_kick; /* SET_VRING_KICK came since the last stop */
	struct vhost_user_vring_addr addr;
	struct inflight inflight; /* of a started ring that keeps a record */
	uint16_t *scratch;
};

/* A dirty log and the mapping behind it. */
struct log_area {
	struct dirty_log bits;
	struct mem_region map;
};

/* Memory for the in-flight records of some queues. */
struct inflight_area {
	struct mem_region map;
	unsigned queues;
	uint32_t queue_size;
};

struct session {
	struct msg_io io; /* io.fd: -1 no front end */
	struct loop_watch watch;
	struct loop_timer timeout; /* for a begun message or a stuck reply */
	bool heard;                /* a whole message came */

	bool has_features;
	uint64_t features; /* all bits, vhost's too */
	uint64_t protocol_features;
	struct mem *mem; /* NULL: never told */
	struct log_area *log;
	struct inflight_area *inflight;
	struct channel channel;
	uint8_t status;
};

struct vhost_backend {
	struct vd_device device; /* what its queues see of it */
	struct loop *loop;
	const struct device_ops *ops;
	void *ctx;

	/* Set before the first front end, then read-only. */
	char *tag;
	char *path;
	bool client;
	bool has_file; /* the socket file is ours to remove */
	dev_t file_dev;
	ino_t file_ino;
	uint64_t offered;
	uint64_t protocol_offered;
	struct vring *vring;
	unsigned nvrings;

	/* Waiting for a front end. */
	struct loop_watch listener; /* its fd is -1 when there is none */
	struct loop_timer retry;
	uint64_t retry_ns;
	bool complained; /* about not reaching the other end */

	struct session s;
	struct log_limit limit;
	uint64_t sessions, messages, refused;
};

/* --- session.c ---------------------------------------------------------- */

/* A front end is there; @fd is the session's from now on. 0 or an error. */
int session_open(struct vhost_backend *b, int fd);
/* It is gone, or has to go because of @err; every ring is stopped. */
void session_close(struct vhost_backend *b, int err);
/* Has the peer hung up, though we have not noticed yet? */
bool session_is_stale(const struct vhost_backend *b);
/* backend.c: wait for the next one. */
void backend_session_over(struct vhost_backend *b);

static inline bool session_is_open(const struct vhost_backend *b)
{
	return b->s.io.fd >= 0;
}

/* --- table.c ------------------------------------------------------------ */

/**
 * table_handle() - check a message, do what it says
 * @m: in: the message; out: the reply, if there is one
 *
 * Return: 0 no reply; 1 a reply is in @m; negative errno: the session has to
 * close. Descriptors that nobody took are still in @m.
 */
int table_handle(struct vhost_backend *b, struct msg *m);

/* Fill in the answer of a message that is answered with one number. */
static inline int answer_u64(struct msg *m, uint64_t value)
{
	m->body.u64 = value;
	m->hdr.size = sizeof(m->body.u64);
	return 0;
}

/* --- on_log.c ----------------------------------------------------------- */

/* Rings have left it. NULL is fine. */
void log_area_free(struct log_area *a);

/* --- on_inflight.c ------------------------------------------------------ */

/* Rings have left it. NULL is fine. */
void inflight_area_free(struct inflight_area *a);
/* A ring that was just started keeps a record from now on, if there is memory
 * for it. 0 or negative errno. / It stops. Under the queue's lock. */
int vring_attach_inflight(struct vhost_backend *b, struct vring *v);
void vring_detach_inflight(struct vring *v);

/* --- vring.c ------------------------------------------------------------ */

/* The ring a message names by a 32-bit index, or NULL. */
struct vring *vring_at(struct vhost_backend *b, uint64_t index);

/**
 * vring_try_start() - start a ring if all is known that it needs
 * Return: 0 it runs, or something is still missing; -EINVAL or -EFAULT: it
 * cannot run like this.
 */
int vring_try_start(struct vhost_backend *b, struct vring *v);
/* Stopped and its position kept. Nothing happens to one that is stopped. */
void vring_stop(struct vhost_backend *b, struct vring *v);
/* And it does not start again before another SET_VRING_KICK. */
void vring_halt(struct vhost_backend *b, struct vring *v);
void vring_set_enabled(struct vhost_backend *b, struct vring *v, bool on);
void vring_set_call(struct vring *v, int fd);
int vring_set_kick(struct vhost_backend *b, struct vring *v, int fd);
/* Back to what it was before a front end came. */
void vring_forget(struct vhost_backend *b, struct vring *v);

/* For all rings. */
void vrings_stop(struct vhost_backend *b);
void vrings_forget(struct vhost_backend *b);
bool vrings_any_started(struct vhost_backend *b);
/* Ring addresses follow s.mem; a ring that loses its memory stops. */
void vrings_follow_memory(struct vhost_backend *b);
/* Dirty log on or off, as s.features, s.log and the rings' flags say. */
void vrings_follow_log(struct vhost_backend *b);

#endif
