/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * queue.h - what a device writer does with a virtqueue
 *
 * Take chains, read and write their buffers, give them back, flush. All calls
 * on a queue come from the thread that runs its backend, inside or between the
 * device's callbacks. A chain borrows guest memory from take to give; when its
 * queue stops, all its chains are void and no buffer of theirs may be touched.
 */
#ifndef VIADUCT_QUEUE_H
#define VIADUCT_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <viaduct/viaduct.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vd_queue;

/** A chain of buffers the driver made available. */
struct vd_chain {
	const struct iovec *out; /**< the driver wrote these, we read them */
	unsigned nout;
	const struct iovec *in; /**< we may write these */
	unsigned nin;
	size_t out_len;     /**< bytes in all of @out */
	size_t in_len;      /**< bytes in all of @in */
	uint64_t opaque[4]; /**< the library's */
};

/** So many chains of one queue can be held at a time. */
#define VD_CHAINS_MAX 64

/**
 * vd_queue_take() - the next available chain
 * @q: queue
 * @c: out; @out and @in stay valid until it is given back or the queue stops
 *
 * A device that leaves chains where they are takes them when it likes; after an
 * answer of 0 it is told (queue_ready) when more come.
 *
 * Return: 1 a chain; 0 none; -ENOBUFS VD_CHAINS_MAX are held, give some back;
 * -EBADMSG the driver broke a rule and the queue is dead until it is started
 * again; -ENOTCONN the queue is not running.
 */
VD_PUBLIC int vd_queue_take(struct vd_queue *q, struct vd_chain *c);

/**
 * vd_queue_give() - return a chain to the driver, not yet visible to it
 * @written: bytes written from the start of @in; at most @in_len
 *
 * Return: 0; -EINVAL more than @in_len, or no chain that is held; -ESTALE the
 * queue was stopped since it was taken; -EBADMSG as above.
 */
VD_PUBLIC int vd_queue_give(struct vd_queue *q, const struct vd_chain *c,
                            size_t written);

/** vd_queue_flush() - publish what was given; interrupt if the driver asked */
VD_PUBLIC void vd_queue_flush(struct vd_queue *q);

/** vd_queue_index() - the vring number */
VD_PUBLIC unsigned vd_queue_index(const struct vd_queue *q);

/** vd_queue_fault() - word for the rule the driver broke; "none" if none */
VD_PUBLIC const char *vd_queue_fault(const struct vd_queue *q);

#ifdef __cplusplus
}
#endif

#endif
