/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer.h - a scripted front end and a small device, for the tests of vhost.
 *
 * Both ends live in one thread: who waits for something turns the loop. The
 * device counts its callbacks and answers each chain with bytes of 0x5a in all
 * that it may write.
 */
#ifndef VIADUCT_TESTS_PEER_H
#define VIADUCT_TESTS_PEER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <viaduct/device.h>

#include "ring/drv.h"
#include "vhost/backend.h"
#include "wire/vhost.h"

#define PEER_QUEUES    4u
#define PEER_MEM_BYTES (1u << 20)
#define PEER_GPA       0x100000u
#define PEER_UVA       0x7f0000000000u
#define PEER_RING_GAP  0x10000u /* bytes of guest memory a ring has */
#define PEER_CONFIG    24u

struct peer_device {
	struct device_ops ops;
	unsigned connects, disconnects, resets, starts, stops, enables;
	unsigned rarps, config_sets, status_sets;
	uint64_t features;
	unsigned feature_sets;
	uint64_t mtu;
	uint8_t mac[6];
	uint8_t status;
	bool migration;
	uint64_t chains;
	uint8_t config[PEER_CONFIG];
	bool in_queue[PEER_QUEUES]; /* between start and stop */
};

struct peer {
	struct loop *loop;
	struct vhost_backend *b;
	struct vd_backend *lib; /* instead of both: the public library */
	struct peer_device dev;
	int fd; /* the front end's end; -1: closed */

	int memfd;
	uint8_t *mem;

	uint64_t features;
	struct {
		int kick, call, err;
		uint32_t size;
		struct drv drv;
		struct drv_slot *slot;
		uint16_t *free_id;
	} ring[PEER_QUEUES];
};

struct peer_msg {
	struct vhost_user_hdr hdr;
	union vhost_user_payload body;
	unsigned nfds;
	int fd[VHOST_USER_FDS_MAX];
};

/* Descriptors that go along and stay ours. */
struct peer_fds {
	const int *fd;
	unsigned n;
};
#define NO_FDS ((struct peer_fds){ NULL, 0 })

/* A back end on a socketpair / any back end, not connected. */
void peer_open(struct peer *p);
void peer_open_conf(struct peer *p, const struct vhost_backend_conf *c);
void peer_close(struct peer *p);
/* A back end of the public library on a socketpair; p->dev is not used. */
void peer_open_lib(struct peer *p, const struct vd_device_ops *ops, void *ctx);

/* Let the other end do what it can. */
void peer_turn(struct peer *p);
/* Connected and not hung up by the back end? */
bool peer_is_connected(struct peer *p);

/* Raw bytes. */
void peer_put(struct peer *p, const void *bytes, size_t n, struct peer_fds f);
void peer_send(struct peer *p, uint32_t request, const void *body,
               uint32_t size, struct peer_fds f);
/* A whole message from the back end: true; false: none, or hung up. */
bool peer_receive(struct peer *p, struct peer_msg *m);

/* Send, and demand the answer. */
uint64_t peer_get_u64(struct peer *p, uint32_t request);
/* Send with NEED_REPLY: the code that came back, or -1 for hung up. */
int peer_ask(struct peer *p, uint32_t request, const void *body, uint32_t size,
             struct peer_fds f);
int peer_ask_u64(struct peer *p, uint32_t request, uint64_t value);
int peer_ask_state(struct peer *p, uint32_t request, uint32_t index,
                   uint32_t num);
int peer_ask_fd(struct peer *p, uint32_t request, uint64_t word, int fd);
uint32_t peer_get_base(struct peer *p, unsigned index);

/* The steps of a front end that knows how. */
void peer_negotiate(struct peer *p, uint64_t features);
int peer_set_memory(struct peer *p);
int peer_set_addr(struct peer *p, unsigned index, uint32_t flags);
void peer_setup_ring(struct peer *p, unsigned index, uint32_t size);
/* negotiate, memory, one ring with @size, enabled */
void peer_run(struct peer *p, uint64_t features, unsigned index, uint32_t size);

/* Offer one chain of @read and @write bytes; kick if wanted. */
void peer_offer(struct peer *p, unsigned index, uint32_t read, uint32_t write);
/* Offer @n chains and take them back: all came, all written. */
void peer_echo(struct peer *p, unsigned index, unsigned n);

struct vhost_queue_info peer_queue(struct peer *p, unsigned index);
unsigned peer_open_fds(void);

#endif
