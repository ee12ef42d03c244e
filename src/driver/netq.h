/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netq.h - one virtqueue of a network driver: the ring, its buffers in the
 * arena, its notifications. Only driver includes it.
 *
 * Each direction owns as many buffers as the ring has descriptors, all of one
 * size. A buffer is a number; the free ones stand in a stack. A buffer is
 * offered in one piece or, when it was asked for, cut into several, so that the
 * device sees chains and tables.
 */
#ifndef VIADUCT_DRIVER_NETQ_H
#define VIADUCT_DRIVER_NETQ_H

#include "base/order.h"
#include "driver/vring.h"
#include "ring/drv.h"
#include "wire/net.h"

#define NETQ_NO_BUF UINT16_MAX
#define NET_HDR     ((unsigned)sizeof(struct virtio_net_hdr))

struct netq {
	/* Set by netq_init() and netq_layout_*(), then read-only. */
	struct vring *vr;
	uint8_t *buf; /* first buffer, here */
	uint64_t buf_gpa;
	unsigned buf_size;
	unsigned pieces; /* a buffer is cut into */
	size_t buf_at, table_at;
	unsigned ntables, table_descs;
	struct drv_slot *slot;
	uint16_t *free_id;
	uint16_t *free_table;
	uint16_t *free_buf;      /* stack */
	struct drv_piece *piece; /* scratch of one buffer or packet */
	struct drv_done *done;   /* scratch of one reap */

	/* Owner thread. */
	struct drv ring;
	unsigned nfree; /* buffers on the stack */
	uint64_t kicks; /* system calls made */
	uint64_t calls; /* interrupts that came */
};

struct netq_conf {
	struct vring *vr;
	unsigned buf_size;
	unsigned pieces;
};

/* 0 or -ENOMEM; netq_fini() is safe either way. */
int netq_init(struct netq *q, const struct netq_conf *c);
void netq_fini(struct netq *q);

/* Room in the arena: for the ring and its tables, for the buffers. Twice:
 * counting, then for good. */
void netq_layout_ring(struct netq *q, struct arena *a);
void netq_layout_bufs(struct netq *q, struct arena *a);

/* A fresh ring; all buffers are free. 0 or -EINVAL. */
int netq_start(struct netq *q, const struct arena *a, uint64_t features);

/* Tell the device of what was published, if it wants to hear. */
void netq_kick(struct netq *q);

/* Take note of the interrupts that came. */
void netq_drain_calls(struct netq *q);

static inline uint8_t *netq_buf(const struct netq *q, unsigned b)
{
	return q->buf + (size_t)b * q->buf_size;
}

static inline uint64_t netq_buf_gpa(const struct netq *q, unsigned b)
{
	return q->buf_gpa + (uint64_t)b * q->buf_size;
}

/**
 * netq_cut() - pieces of @len bytes of buffer @b
 * @head: bytes that get a piece of their own when the buffer is cut
 * Return: how many, at @to.
 */
unsigned netq_cut(const struct netq *q, unsigned b, unsigned head, unsigned len,
                  struct drv_piece *to);

#endif
