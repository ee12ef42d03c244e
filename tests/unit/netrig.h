/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netrig.h - a network device with a driver at the other end of its rings, in
 * one process and without a front end.
 *
 * The device's callbacks are called as vhost calls them. Guest memory is one
 * block in two regions, so that some buffers cross.
 */
#ifndef VIADUCT_TESTS_NETRIG_H
#define VIADUCT_TESTS_NETRIG_H

#include "net/device.h"
#include "packets.h"
#include "ring/drv.h"

#define RIG_PAIRS  4u
#define RIG_QUEUES (RIG_PAIRS * 2 + 1)
#define RIG_BASE   UINT64_C(0x100000)
#define RIG_MEMORY (24u << 20)
#define RIG_SIZE   256u /* descriptors of a ring at most */
#define RIG_POISON 0xa5

struct rig_queue {
	struct vd_queue q;
	struct drv drv;
	struct drv_slot slot[RIG_SIZE];
	uint16_t free_id[RIG_SIZE];
	/* By token: what was offered. */
	struct drv_piece piece[RIG_SIZE][64];
	uint16_t npiece[RIG_SIZE];
	bool busy[RIG_SIZE];
};

struct rig {
	struct net_device *dev;
	const struct device_ops *ops;
	struct vd_device device;
	struct mem *mem;
	uint8_t *memory;
	uint8_t *alias; /* the same memory at another address */
	uint32_t used;  /* bytes handed out */
	uint32_t floor; /* rings end here */
	uint64_t features;
	struct rig_queue *queue; /* RIG_QUEUES */
	unsigned pairs, size;
	bool own;          /* the device is ours */
	struct loop *loop; /* with pumps, or NULL: the test visits */
};

/* Everything negotiated that @features says, queues started and enabled. */
void rig_open(struct rig *g, const struct net_conf *c,
              const struct net_events *e, uint64_t features, unsigned size);
/* The same around a device of somebody else; queues are visited by @l. */
void rig_open_device(struct rig *g, struct net_device *dev, struct loop *l,
                     uint64_t features, unsigned size);
void rig_close(struct rig *g);

void rig_start(struct rig *g, unsigned index);
void rig_stop(struct rig *g, unsigned index);
void rig_enable(struct rig *g, unsigned index, bool on);

/* Guest memory that nothing has used for long: round and round. */
uint64_t rig_alloc(struct rig *g, uint32_t len);
uint8_t *rig_at(struct rig *g, uint64_t gpa);

/* Kick if the device asked for it. */
void rig_kick(struct rig *g, unsigned index);

/* Offer a buffer: @nread pieces the device reads, then @nwrite it may write.
 * The token, or -1 when the ring is full. Not published. */
int rig_offer(struct rig *g, unsigned index, const struct drv_piece *p,
              unsigned nread, unsigned nwrite);

/* Bytes to transmit, in pieces of at most @cut. */
struct rig_bytes {
	struct virtio_net_hdr hdr;
	const uint8_t *data;
	uint32_t len, cut;
};

/* Header, then data. Published. */
int rig_transmit(struct rig *g, unsigned index, const struct rig_bytes *b);

/* A poisoned receive buffer of @npieces pieces of @len. Published. */
int rig_post(struct rig *g, unsigned index, uint32_t len, unsigned npieces);

/* The next returned buffer: its token or -1; @written. */
int rig_reap(struct rig *g, unsigned index, uint32_t *written);

/* Bytes of a buffer that is back. */
uint32_t rig_copy(struct rig *g, unsigned index, int token, uint8_t *to,
                  uint32_t len);

/*
 * A received frame, whole: header and bytes, checked as a strict driver does:
 * num_buffers buffers, in order, each id outstanding, nothing behind what was
 * written touched. Length of the frame, or -1 when nothing is there.
 */
int rig_receive(struct rig *g, unsigned index, struct virtio_net_hdr *h,
                uint8_t *data);

#endif
