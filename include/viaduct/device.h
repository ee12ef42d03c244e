/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * device.h - serve a vhost-user device
 *
 * A backend listens on (or connects to) a unix socket and serves one front end
 * at a time with the device that the callbacks describe. One thread runs it:
 * vd_backend_run(), or the caller's own loop with vd_backend_fd() and
 * vd_backend_process(). Callbacks come from that thread.
 */
#ifndef VIADUCT_DEVICE_H
#define VIADUCT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <viaduct/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vd_backend;

/** What a device is. Set @size to sizeof(struct vd_device_ops); callbacks that
 * are NULL are not wanted. */
struct vd_device_ops {
	size_t size;
	uint64_t features;    /**< device features to offer; ring features of
				the library are added */
	unsigned queues;      /**< vrings */
	unsigned queue_pairs; /**< what GET_QUEUE_NUM answers; 0: @queues */
	size_t config_size;   /**< bytes of configuration space, 0: none */

	/** A front end came or went. */
	void (*connected)(void *ctx);
	void (*disconnected)(void *ctx);
	/** The driver's choice, a subset of what was offered. 0 or -EINVAL. */
	int (*set_features)(void *ctx, uint64_t features);
	/** A ring can be used from now on / not any more. */
	void (*queue_start)(void *ctx, struct vd_queue *q);
	void (*queue_stop)(void *ctx, struct vd_queue *q);
	/** There may be something to take. Take until 0, or as many as you
	 * like for now: kicks are asked for again, and the ring looked at once
	 * more, when it returns. A queue that is not enabled comes here, too:
	 * give its chains back without any effect. */
	void (*queue_ready)(void *ctx, struct vd_queue *q);
	/** Configuration space, device's byte layout. 0 or negative errno. */
	int (*get_config)(void *ctx, void *to, size_t offset, size_t len);
	int (*set_config)(void *ctx, const void *from, size_t offset,
	                  size_t len);
	/** Back to the state after power on. */
	void (*reset)(void *ctx);
};

/** Set @size to sizeof(struct vd_backend_opts), the rest to 0 for defaults. */
struct vd_backend_opts {
	size_t size;
	const char *tag;    /**< names the object in log lines; NULL: path */
	const char *socket; /**< path; or NULL and @fd */
	int fd;             /**< a listening or connected socket; with @socket
			      NULL only */
	bool client;        /**< connect, again and again, instead of listen */
	unsigned socket_mode; /**< permissions; 0: 0600 */
};

/**
 * vd_backend_new() - open the socket and be ready for a front end
 * Return: a backend, or NULL with the negative errno in @err
 */
VD_PUBLIC struct vd_backend *vd_backend_new(const struct vd_device_ops *ops,
                                            void *ctx,
                                            const struct vd_backend_opts *opts,
                                            int *err);
/** Closes everything, stops queues, removes the socket. NULL is fine. */
VD_PUBLIC void vd_backend_free(struct vd_backend *b);

/**
 * vd_backend_config_changed() - tell the driver to read its configuration space
 * anew. From the backend's thread.
 */
VD_PUBLIC void vd_backend_config_changed(struct vd_backend *b);

/** vd_backend_run() - until vd_backend_stop(); 0 or negative errno */
VD_PUBLIC int vd_backend_run(struct vd_backend *b);
/** vd_backend_stop() - from any thread or a signal handler */
VD_PUBLIC void vd_backend_stop(struct vd_backend *b);

/** For the caller's own loop: a descriptor that is readable when there is
 * something to do; or negative errno. */
VD_PUBLIC int vd_backend_fd(struct vd_backend *b);
/** vd_backend_process() - do it, without waiting; 0 or negative errno */
VD_PUBLIC int vd_backend_process(struct vd_backend *b);

#ifdef __cplusplus
}
#endif

#endif
