/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * driver.h - the driver end: be a guest of a vhost-user network device
 *
 * A driver connects to any vhost-user-net device (or lets one connect), brings
 * memory of its own, chooses features and then sends and receives bursts of
 * packets. Nothing is allocated and no system call is made for a packet, except
 * the notifications that the device asked for.
 *
 *	d = vd_driver_open(&opts, &err);
 *	vd_driver_send(d, 0, packets, n);
 *	while (vd_driver_wait(d, 0, VD_WAIT_RECEIVE, 1000) > 0) {
 *		n = vd_driver_receive(d, 0, packets, 32);
 *		... read packets[0 .. n) ...
 *		vd_driver_release(d, 0);
 *	}
 *	vd_driver_close(d);
 *
 * Threads: each queue pair belongs to one thread at a time (send, receive,
 * release, flush, arm, wait, on that pair). Everything else is called by one
 * thread while no other is inside the driver. With more than one thread set
 * opts.manual_service, for otherwise a wait may take the queues down that
 * another thread works on.
 *
 * The device is not trusted. One that breaks a rule of the ring breaks that
 * queue: calls answer -EBADMSG and vd_driver_fault() names the rule. Received
 * bytes lie in memory that the device can still write: read once what matters.
 */
#ifndef VIADUCT_DRIVER_H
#define VIADUCT_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <viaduct/viaduct.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vd_driver;

/** When sent packets' buffers are taken back. */
enum vd_tx_free {
	VD_TX_FREE_EAGER, /**< all that came back, before every burst */
	VD_TX_FREE_LAZY,  /**< only what the next packets need */
	VD_TX_FREE_HALF   /**< all, when less than half the ring is free */
};

/** When the device is told that there is something to send. It is never told
 * when it said that it does not want to hear. */
enum vd_kick {
	VD_KICK_NOW,     /**< after every burst */
	VD_KICK_LATER,   /**< after kick_packets or kick_usecs */
	VD_KICK_ADAPTIVE /**< now when the device has nothing to do */
};

/** When the device may interrupt. */
enum vd_calls {
	VD_CALLS_NAPI,   /**< only while somebody waits */
	VD_CALLS_ALWAYS, /**< for everything it returns */
	VD_CALLS_NEVER   /**< never; vd_driver_wait() polls */
};

/** How notifications are made; can be changed at any time. Zero: eager, now,
 * NAPI. */
struct vd_driver_policy {
	enum vd_tx_free tx_free;
	enum vd_kick kick;
	unsigned kick_packets; /**< 0: 32 */
	unsigned kick_usecs;   /**< 0: 100 */
	enum vd_calls calls;
};

/** Set @size to sizeof(struct vd_driver_opts), the rest to 0 for defaults. */
struct vd_driver_opts {
	size_t size;
	const char *tag;       /**< names the object in log lines; NULL: path */
	const char *socket;    /**< path; or NULL and @fd */
	int fd;                /**< a connected socket; the driver closes it */
	bool server;           /**< listen and wait for the device to connect */
	unsigned timeout_ms;   /**< for connecting and each answer; 0: 5000 */
	unsigned reconnect_ms; /**< longest pause between attempts to come back
				after the device went away; 0: do not try */

	bool manual_service; /**< vd_driver_wait() leaves the connection
				alone and says -ENOTCONN when it is gone */

	unsigned queue_pairs; /**< 0: 1; fewer if the device has fewer */
	unsigned queue_size;  /**< descriptors a queue; 0: 256 */
	unsigned buffer_size; /**< bytes of a buffer, header included; 0: 2048,
				or what one packet needs */
	bool hugepages;       /**< memory from hugepages if there are any */
	unsigned regions;     /**< pieces the memory is told as; 0: 1 */

	/** Feature bits (VIRTIO_NET_F_* and VIRTIO_F_*, by value) to accept
	 * when offered; 0: all that this driver handles without help from its
	 * user (no GUEST_* offloads, no control queue). */
	uint64_t features;
	uint64_t features_off;  /**< ... except these */
	uint64_t features_need; /**< refuse a device without these */
	uint64_t protocol_off;  /**< vhost-user protocol bits not to use */
	bool control;           /**< use the device's control queue, if it
				has one */
	bool inflight;          /**< let the device keep a record of buffers in
				flight, if it can */
	unsigned pieces; /**< descriptors a buffer is cut into, the first holds
			  just the packet header; 0: 1 */

	struct vd_driver_policy policy;
};

/** The virtio_net_hdr of a packet, in host byte order. */
struct vd_offload {
	uint8_t flags;    /**< 1: checksum needed, 2: data valid */
	uint8_t gso_type; /**< 0 none, 1 TCPv4, 3 UDP, 4 TCPv6, 5 UDP_L4 */
	uint16_t hdr_len;
	uint16_t gso_size;
	uint16_t csum_start;
	uint16_t csum_offset;
};

struct vd_packet {
	const struct iovec *iov;
	unsigned niov;
	uint32_t len; /**< bytes; set by receive, ignored by send */
	struct vd_offload offload;
};

/**
 * vd_driver_open() - connect, negotiate, start the queues
 *
 * Return: a driver, or NULL with the negative errno in @err: -ENOTSUP when the
 * device lacks a needed feature, -EPROTO when it broke the protocol, -EREMOTEIO
 * when it refused something, -ETIMEDOUT, or what the system said.
 */
VD_PUBLIC struct vd_driver *vd_driver_open(const struct vd_driver_opts *opts,
                                           int *err);
/** Stops the queues and says goodbye. NULL is fine. */
VD_PUBLIC void vd_driver_close(struct vd_driver *d);

/**
 * vd_driver_send() - put packets into a pair's transmit queue
 * @p: packets; their bytes are copied, so they may be reused at once
 *
 * Return: how many were taken, from the first (fewer than @n when the queue is
 * full); -EBADMSG the queue is broken; -EMSGSIZE the first packet is too long;
 * -ENOTCONN the device is away.
 */
VD_PUBLIC int vd_driver_send(struct vd_driver *d, unsigned pair,
                             const struct vd_packet *p, unsigned n);

/** vd_driver_flush() - notify now what a policy may have put off */
VD_PUBLIC int vd_driver_flush(struct vd_driver *d, unsigned pair);

/**
 * vd_driver_pending() - packets sent that the device still holds
 * Takes back what the device has finished first. Return: a count or negative.
 */
VD_PUBLIC int vd_driver_pending(struct vd_driver *d, unsigned pair);

/**
 * vd_driver_receive() - take up to @n packets from a pair's receive queue
 * @p: out; their memory is lent until vd_driver_release() or the next
 *     vd_driver_receive() on this pair
 *
 * Return: how many; 0 none; -EBADMSG, -ENOTCONN as above.
 */
VD_PUBLIC int vd_driver_receive(struct vd_driver *d, unsigned pair,
                                struct vd_packet *p, unsigned n);
/** vd_driver_release() - all packets of the last receive are done with */
VD_PUBLIC void vd_driver_release(struct vd_driver *d, unsigned pair);

/** What to wait for, to be combined. */
#define VD_WAIT_RECEIVE 1u /**< something to receive */
#define VD_WAIT_SEND    2u /**< at least half the transmit queue is free */

/**
 * vd_driver_wait() - until something of @what is there
 * @timeout_ms: -1: for ever; 0: only look
 *
 * Sends notifications that the policy put off when they are due, and looks
 * after the connection as vd_driver_service() does (unless manual_service).
 * Return: what is there, of @what; 0 time is over; -EBADMSG, -ENOTCONN (at the
 * end of the time, if the device was away).
 */
VD_PUBLIC int vd_driver_wait(struct vd_driver *d, unsigned pair, unsigned what,
                             int timeout_ms);

/**
 * vd_driver_arm() - ask for an interrupt, to wait in a loop of one's own
 * Return: as vd_driver_wait() without waiting; when it is 0,
 * vd_driver_call_fd() of the pair will be readable once there is something.
 */
VD_PUBLIC int vd_driver_arm(struct vd_driver *d, unsigned pair, unsigned what);
/** @what: one of VD_WAIT_RECEIVE, VD_WAIT_SEND; the driver's, to poll only */
VD_PUBLIC int vd_driver_call_fd(const struct vd_driver *d, unsigned pair,
                                unsigned what);

/**
 * vd_driver_service() - look after the connection
 *
 * Notices that the device went away and, when that was asked for, tries to come
 * back (one attempt when its time has come; never blocks longer than the
 * device's answers take). Packets in flight are lost then, and counted.
 * Return: 1 connected, -ENOTCONN not at the moment, or why it never will be.
 */
VD_PUBLIC int vd_driver_service(struct vd_driver *d);

/** A command on the control queue (virtio 1.3, 5.1.6.5). */
struct vd_control {
	uint8_t kind; /**< class: VIRTIO_NET_CTRL_* */
	uint8_t command;
	const void *data;
	size_t len;
	void *reply; /**< what the device answers beside yes or no */
	size_t reply_len;
};

/**
 * vd_driver_control() - give a command, wait for the answer
 * Return: 0; -EREMOTEIO the device said no; -EOPNOTSUPP there is no control
 * queue in use; -EMSGSIZE; -ETIMEDOUT; -EBADMSG; -ENOTCONN.
 */
VD_PUBLIC int vd_driver_control(struct vd_driver *d,
                                const struct vd_control *c);

/** vd_driver_set_pairs() - use the first @n pairs; 0 or negative errno */
VD_PUBLIC int vd_driver_set_pairs(struct vd_driver *d, unsigned n);
/** vd_driver_set_policy() - from the next burst on */
VD_PUBLIC void vd_driver_set_policy(struct vd_driver *d,
                                    const struct vd_driver_policy *p);

/** What was agreed on. */
struct vd_driver_info {
	size_t size;              /**< set by the caller */
	uint64_t features;        /**< in force */
	uint64_t device_features; /**< offered */
	uint64_t protocol;        /**< vhost-user protocol features in force */
	unsigned queue_pairs;     /**< open */
	unsigned queue_pairs_max; /**< of the device */
	unsigned mtu;             /**< 0: not said */
	uint8_t mac[6];           /**< zero: not said */
	bool connected;
	bool link_up;
};

VD_PUBLIC void vd_driver_info(const struct vd_driver *d,
                              struct vd_driver_info *info);

/** One pair, or all. Counts since open, reconnections included. */
struct vd_driver_stats {
	size_t size; /**< set by the caller */
	uint64_t tx_packets, tx_bytes;
	uint64_t rx_packets, rx_bytes;
	uint64_t tx_full;          /**< bursts cut short by a full queue */
	uint64_t kicks;            /**< system calls made to notify */
	uint64_t kicks_suppressed; /**< the device did not want to hear */
	uint64_t kicks_delayed;    /**< put off by the policy */
	uint64_t calls;            /**< interrupts received */
	uint64_t waits;            /**< times a wait really slept */
	uint64_t indirect;         /**< packets in an indirect table */
	uint64_t fallbacks;        /**< ... that had to do without */
	uint64_t bad_packets; /**< received and dropped: nonsense in them */
	uint64_t lost;        /**< in flight when the device went away */
	uint64_t reconnects;
	uint64_t faults; /**< queues the device broke */
};

/** @pair: one of them, or -1 for the sum. */
VD_PUBLIC void vd_driver_stats(const struct vd_driver *d, int pair,
                               struct vd_driver_stats *stats);

/** vd_driver_fault() - word for the rule the device broke; "none" if none */
VD_PUBLIC const char *vd_driver_fault(const struct vd_driver *d, unsigned pair);

#ifdef __cplusplus
}
#endif

#endif
