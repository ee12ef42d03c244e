/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * front.h - the front end of a vhost-user session: the driver's side of each
 * message. Only driver includes it.
 *
 * One call a message. A call that has an answer waits for it; one that has none
 * asks for an acknowledgement as soon as REPLY_ACK is negotiated. Every answer
 * is checked: number, version, reply flag, size, descriptors. After an answer
 * that is wrong, late or missing the session is out of step and closes itself;
 * later calls say -ENOTCONN.
 *
 *	-EREMOTEIO   the back end refused, politely; the session lives on
 *	-EPROTO      the back end broke the protocol; closed
 *	-ETIMEDOUT   no answer in time; closed
 *	-ECONNRESET  the back end is gone; closed
 *	-ENOTCONN    closed before
 *
 * Spec: vhost-user, Message Specification; Front-end message types.
 */
#ifndef VIADUCT_DRIVER_FRONT_H
#define VIADUCT_DRIVER_FRONT_H

#include "driver/sock.h"

struct front {
	struct sock sock;
	unsigned timeout_ms; /* for each answer */
	uint64_t protocol;   /* protocol features in force */
	const char *tag;     /* for log lines */

	/* The back end's requests to us (BACKEND_REQ); -1: none. */
	int back_fd;
	uint64_t config_changes; /* told by the back end so far */
};

/* @fd: a connected non-blocking socket; it is the front's from now on. */
void front_open(struct front *f, int fd, unsigned timeout_ms, const char *tag);
/* Closes the socket. Safe on a closed one. */
void front_close(struct front *f);

static inline bool front_is_open(const struct front *f)
{
	return f->sock.fd >= 0;
}

/* Messages whose whole question or answer is one number (or nothing). */
int front_get_u64(struct front *f, uint32_t request, uint64_t *value);
int front_set_u64(struct front *f, uint32_t request, uint64_t value);
int front_tell(struct front *f, uint32_t request);

/* SET_VRING_NUM, _BASE, _ENABLE; GET_VRING_BASE. */
int front_set_vring(struct front *f, uint32_t request, unsigned index,
                    uint32_t num);
int front_get_vring_base(struct front *f, unsigned index, uint32_t *base);
int front_set_vring_addr(struct front *f,
                         const struct vhost_user_vring_addr *addr);
/* SET_VRING_KICK, _CALL, _ERR. @fd: -1: none, the other end polls. */
int front_set_vring_fd(struct front *f, uint32_t request, unsigned index,
                       int fd);

/* Regions all lie in the file @fd; one message, or one each with mem slots. */
int front_set_memory(struct front *f, const struct vhost_user_region *r,
                     unsigned n, int fd);

/**
 * front_get_config() - read configuration space
 * Return: 0; -EREMOTEIO when the back end answered with an empty payload, which
 * is how it says no.
 */
int front_get_config(struct front *f, void *to, unsigned offset, unsigned len);
int front_set_config(struct front *f, const void *from, unsigned offset,
                     unsigned len);

/**
 * front_get_inflight() - ask for a region that records what is in flight
 * @i:  in: num_queues, queue_size; out: what the back end made of it
 * @fd: out: the region's file, the caller's
 */
int front_get_inflight(struct front *f, struct vhost_user_inflight *i, int *fd);
int front_set_inflight(struct front *f, const struct vhost_user_inflight *i,
                       int fd);

/* Give the back end a channel of its own and serve it (BACKEND_REQ). */
int front_open_back(struct front *f);
/* Serve what is waiting there; back_fd was readable. */
void front_serve_back(struct front *f);

#endif
