/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tap.c - the host's network as a port.
 *
 * The way of a frame, host to guest:          guest to host:
 *	tap_readable  the kernel has frames       tap_send
 *	 tap_read     a burst of reads into        out_add    header, head and
 *	              our own buffers                         sender's memory
 *	 frame_make   header, head copied          out_write  a burst of writes
 *	 offer_put    into the switch
 *
 * Reads belong to the port's loop. Writes come from any worker, under the lock,
 * and are done when send returns, because the frames' memory is the sender's.
 */
#include "port/tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/order.h"
#include "net/segment.h"
#include "port/batch.h"
#include "port/offer.h"
#include "port/tapfd.h"

#define HDR_LEN     ((uint32_t)sizeof(struct virtio_net_hdr))
#define READ_BURST  16u
#define READ_ROUNDS 4u    /* bursts before others have their turn */
#define OUT_SEGS    1024u /* of all frames of one call; IOV_MAX of one */

/* A read: one frame with its header. */
struct tap_in {
	struct frame frame;
	struct seg seg;   /* of the frame, behind its head */
	struct seg whole; /* what the kernel fills */
	uint8_t byte[HDR_LEN + FRAME_LEN_MAX];
};

/* Writes that are put together. */
struct tap_out {
	unsigned n, nseg;
	struct virtio_net_hdr hdr[BATCH_MAX];
	struct batch_item item[BATCH_MAX];
	struct seg seg[OUT_SEGS];
};

struct tap_port {
	struct port port;
	char *name;
	char ifname[TAP_IFNAME];
	int fd;
	unsigned allowed; /* OFFLOAD_*: what the kernel takes as it is */

	/* The loop's thread. */
	struct loop_watch watch;
	struct batch *reads;
	struct offer offer;
	unsigned ask; /* reads at a time: twice what the last gave */
	struct tap_in *in;

	pthread_mutex_t lock; /* what is below, and counters of sending */
	struct batch *writes;
	struct tap_out out;
	struct segmenter segmenter;
};

/* --- host to guest ------------------------------------------------------- */

/* False: shorter than its header, which the kernel never sends. */
static bool frame_make(struct tap_in *in, int len)
{
	struct virtio_net_hdr h;

	if (len <= (int)HDR_LEN)
		return false;
	memcpy(&h, in->byte, sizeof(h));
	offer_frame_init(&in->frame, &in->seg, in->byte + HDR_LEN,
	                 (uint32_t)len - HDR_LEN);
	in->frame.hdr = (struct frame_hdr){
		.flags = h.flags & (VIRTIO_NET_HDR_F_NEEDS_CSUM |
		                    VIRTIO_NET_HDR_F_DATA_VALID),
		.gso_type = h.gso_type,
		.hdr_len = le16_get(h.hdr_len),
		.gso_size = le16_get(h.gso_size),
		.csum_start = le16_get(h.csum_start),
		.csum_offset = le16_get(h.csum_offset),
	};
	return true;
}

/* Returns frames that are ready in p->offer. */
static unsigned tap_read(struct tap_port *p)
{
	struct batch_item item[READ_BURST];
	unsigned n = 0, got = 0;

	for (unsigned i = 0; i < p->ask; i++)
		item[i] = (struct batch_item){ &p->in[i].whole, 1, 0 };
	batch_read(p->reads, item, p->ask);
	for (unsigned i = 0; i < p->ask; i++) {
		got += item[i].result > 0;
		if (frame_make(&p->in[i], item[i].result))
			p->offer.frame[n++] = &p->in[i].frame;
	}
	p->ask = max_of(1, min_of(2 * got, READ_BURST));
	return n;
}

static void tap_readable(struct loop_watch *w, uint32_t events)
{
	struct tap_port *p = container_of(w, struct tap_port, watch);
	unsigned n;

	(void)events;
	for (unsigned i = 0; i < READ_ROUNDS; i++) {
		n = tap_read(p);
		if (!n)
			return;
		if (!offer_put(&p->offer, n)) {
			loop_watch_modify(w, 0);
			return;
		}
	}
}

static void tap_resumed(struct offer *o)
{
	struct tap_port *p = container_of(o, struct tap_port, offer);

	loop_watch_modify(&p->watch, EPOLLIN);
}

/* --- guest to host ------------------------------------------------------- */

/* Count what became of the writes. Returns how many are done: fewer than all
 * when the last ones found no room. */
static unsigned out_count(struct tap_port *p)
{
	struct port_counters *c = &p->port.count;
	struct tap_out *o = &p->out;
	unsigned done = o->n;

	while (done && o->item[done - 1].result == -EAGAIN)
		done--;
	for (unsigned i = 0; i < done; i++) {
		int result = o->item[i].result;

		if (result > 0) {
			count_add(&c->out_frames, 1);
			count_add(&c->out_bytes, (unsigned)result - HDR_LEN);
		} else if (result == -EIO || result == -EBADFD) {
			count_add(&c->drop_down, 1);
		} else if (result == -EINVAL) {
			count_add(&c->drop_bad, 1);
		} else {
			count_add(&c->drop_full, 1);
		}
	}
	return done;
}

/* Write what was put together. Returns how many are done. */
static unsigned out_write(struct tap_port *p)
{
	struct tap_out *o = &p->out;
	unsigned done = 0;

	if (o->n) {
		batch_write(p->writes, o->item, o->n);
		done = out_count(p);
	}
	o->n = o->nseg = 0;
	return done;
}

static bool out_has_room(const struct tap_out *o, const struct frame *f)
{
	return o->n < BATCH_MAX && o->nseg + 2 + f->nseg <= OUT_SEGS;
}

/* One write: header, head and segments. */
static void out_add(struct tap_out *o, const struct frame *f)
{
	struct seg *s = &o->seg[o->nseg];
	unsigned nseg = 2u + f->nseg;

	o->hdr[o->n] = (struct virtio_net_hdr){
		.flags = f->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = f->hdr.gso_type,
		.hdr_len = le16_make(f->hdr.hdr_len),
		.gso_size = le16_make(f->hdr.gso_size),
		.csum_start = le16_make(f->hdr.csum_start),
		.csum_offset = le16_make(f->hdr.csum_offset),
	};
	s[0] = (struct seg){ &o->hdr[o->n], HDR_LEN };
	s[1] = (struct seg){ (void *)frame_head(f), f->head_len };
	for (unsigned i = 0; i < f->nseg; i++)
		s[2 + i] = f->seg[i];
	o->item[o->n++] = (struct batch_item){ s, nseg, 0 };
	o->nseg += nseg;
}

/* A frame the kernel does not take as it is: its pieces, one by one. They go
 * or are lost together with it. */
static void out_pieces(struct tap_port *p, const struct frame *f)
{
	const struct frame *piece;

	if (segment_start(&p->segmenter, f, p->allowed) < 0) {
		count_add(&p->port.count.drop_offload, 1);
		return;
	}
	while ((piece = segment_next(&p->segmenter))) {
		if (!out_has_room(&p->out, piece)) {
			count_add(&p->port.count.drop_offload, 1);
			continue;
		}
		out_add(&p->out, piece);
		if (!out_write(p))
			count_add(&p->port.count.drop_full, 1);
	}
}

/* Under the lock. */
static unsigned send_locked(struct tap_port *p, struct frame *const *f,
                            unsigned n)
{
	unsigned done = 0, i = 0, wrote, want;

	while (i < n) {
		bool plain = !segment_needed(f[i], p->allowed);

		if (plain && out_has_room(&p->out, f[i])) {
			out_add(&p->out, f[i++]);
			continue;
		}
		want = p->out.n;
		wrote = out_write(p);
		done += wrote;
		if (wrote < want)
			return done;
		if (plain && out_has_room(&p->out, f[i]))
			continue;
		if (plain) /* in more pieces of memory than a write takes */
			count_add(&p->port.count.drop_bad, 1);
		else
			out_pieces(p, f[i]);
		i++;
		done++;
	}
	return done + out_write(p);
}

static unsigned tap_send(struct port *port, struct frame *const *f, unsigned n,
                         unsigned flags)
{
	struct tap_port *p = container_of(port, struct tap_port, port);
	unsigned done;

	pthread_mutex_lock(&p->lock);
	done = send_locked(p, f, n);
	if (flags & SEND_LOSSY) {
		count_add(&port->count.drop_full, n - done);
		done = n;
	}
	pthread_mutex_unlock(&p->lock);
	return done;
}

static void tap_flush(struct port *port)
{
	(void)port; /* the kernel has it already */
}

/* --- life ---------------------------------------------------------------- */

static void tap_close(struct port *port)
{
	struct tap_port *p = container_of(port, struct tap_port, port);

	loop_watch_remove(&p->watch);
	offer_fini(&p->offer);
	batch_free(p->reads);
	batch_free(p->writes);
	fd_close(&p->fd);
	pthread_mutex_destroy(&p->lock);
	free(p->in);
	free(p->name);
	free(p);
}

static const struct port_ops tap_ops = { "tap", tap_send, tap_flush,
	                                 tap_close };

static int buffers_new(struct tap_port *p)
{
	p->in = calloc(READ_BURST, sizeof(*p->in));
	if (!p->in)
		return -ENOMEM;
	for (unsigned i = 0; i < READ_BURST; i++)
		p->in[i].whole =
			(struct seg){ p->in[i].byte, sizeof(p->in[i].byte) };
	p->ask = 1;
	return 0;
}

static int tap_open(struct tap_port *p, struct loop *l,
                    const struct tap_port_opts *o)
{
	int err = buffers_new(p);

	if (err)
		return err;
	p->fd = o->ifname ? tapfd_open(o->ifname) : o->fd;
	if (p->fd < 0)
		return p->fd;
	err = tapfd_prepare(p->fd, p->ifname, &p->allowed);
	if (!err)
		err = tapfd_up(p->ifname, o->mtu);
	if (!err)
		p->reads = batch_new(p->fd, o->plain, &err);
	if (!err)
		p->writes = batch_new(p->fd, o->plain, &err);
	if (err)
		return err;
	offer_init(&p->offer, &p->port, l, tap_resumed);
	p->watch.fn = tap_readable;
	return loop_watch_add(l, &p->watch, p->fd, EPOLLIN);
}

struct port *tap_port_new(struct loop *l, const struct tap_port_opts *o,
                          int *err)
{
	struct tap_port *p = calloc(1, sizeof(*p));

	*err = -ENOMEM;
	if (!p)
		return NULL;
	p->fd = -1;
	pthread_mutex_init(&p->lock, NULL);
	p->port.ops = &tap_ops;
	p->name = strdup(o->name);
	p->port.name = p->name;
	if (p->name)
		*err = tap_open(p, l, o);
	if (*err) {
		if (!o->ifname)
			p->fd = -1; /* stays the caller's */
		tap_close(&p->port);
		return NULL;
	}
	log_info(p->name, "tap open ifname=%s offloads=0x%x io_uring=%s",
	         p->ifname, p->allowed,
	         batch_is_plain(p->reads) ? "no" : "yes");
	return &p->port;
}

const char *tap_port_ifname(const struct port *port)
{
	return container_of(port, const struct tap_port, port)->ifname;
}

bool tap_port_is_batched(const struct port *port)
{
	const struct tap_port *p =
		container_of(port, const struct tap_port, port);

	return !batch_is_plain(p->writes);
}
