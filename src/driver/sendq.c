/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sendq.c - send bursts of packets, and tell the device at the right time.
 *
 * Spec: virtio 1.3, 5.1.6.2 Packet Transmission.
 */
#include "driver/sendq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/clock.h"

#define KICK_PACKETS 32u
#define KICK_USECS   100u
#define NS_PER_US    UINT64_C(1000)

int sendq_init(struct sendq *t, const struct netq_conf *c)
{
	int err = netq_init(&t->q, c);

	t->next = calloc(c->vr->size, sizeof(*t->next));
	return !err && t->next ? 0 : -ENOMEM;
}

void sendq_fini(struct sendq *t)
{
	free(t->next);
	netq_fini(&t->q);
}

int sendq_start(struct sendq *t, const struct arena *a, uint64_t features)
{
	int err = netq_start(&t->q, a, features);

	t->owed = 0;
	if (!err && t->policy.calls == VD_CALLS_ALWAYS)
		drv_call_enable(&t->q.ring, 1);
	else if (!err)
		drv_call_disable(&t->q.ring);
	return err;
}

/* --- taking back ------------------------------------------------------- */

static void packet_free(struct sendq *t, uint64_t token)
{
	unsigned b = (unsigned)token;

	do {
		t->q.free_buf[t->q.nfree++] = (uint16_t)b;
		b = t->next[b];
	} while (b != NETQ_NO_BUF);
}

static int reap_some(struct sendq *t, unsigned max)
{
	struct netq *q = &t->q;
	int n = drv_reap(&q->ring, q->done, max);

	for (int i = 0; i < n; i++)
		packet_free(t, q->done[i].token);
	return n < 0 ? -EBADMSG : n;
}

int sendq_reap(struct sendq *t)
{
	int n = reap_some(t, t->q.vr->size);

	if (n > 0 && t->policy.calls == VD_CALLS_ALWAYS)
		drv_call_enable(&t->q.ring, 1);
	return min_of(n, 0);
}

void sendq_abandon(struct sendq *t)
{
	uint64_t token;

	sendq_reap(t);
	while (drv_detach(&t->q.ring, &token)) {
		packet_free(t, token);
		count_add(&t->lost, 1);
	}
	t->owed = 0;
}

static int sendq_reap_by_policy(struct sendq *t)
{
	struct netq *q = &t->q;

	switch (t->policy.tx_free) {
	case VD_TX_FREE_EAGER:
		return sendq_reap(t);
	case VD_TX_FREE_HALF:
		return q->nfree < q->vr->size / 2 ? sendq_reap(t) : 0;
	case VD_TX_FREE_LAZY:
		break; /* when there is no room: packet_put_or_reap() */
	}
	/* Whether the device is idle is known only when nothing is left. */
	return t->policy.kick == VD_KICK_ADAPTIVE ? sendq_reap(t) : 0;
}

/* --- one packet -------------------------------------------------------- */

static struct virtio_net_hdr header_of(const struct vd_offload *o)
{
	return (struct virtio_net_hdr){
		.flags = o->flags,
		.gso_type = o->gso_type,
		.hdr_len = le16_make(o->hdr_len),
		.gso_size = le16_make(o->gso_size),
		.csum_start = le16_make(o->csum_start),
		.csum_offset = le16_make(o->csum_offset),
	};
}

static size_t packet_bytes(const struct vd_packet *p)
{
	size_t sum = 0;

	for (unsigned i = 0; i < p->niov; i++)
		sum += p->iov[i].iov_len;
	return sum;
}

/* Where the copying of a packet stands. */
struct cursor {
	const struct iovec *iov;
	size_t off;
};

/* The next @len bytes; there are as many. */
static void cursor_copy(struct cursor *c, uint8_t *to, size_t len)
{
	while (len) {
		size_t n = min_of(c->iov->iov_len - c->off, len);

		memcpy(to, (const uint8_t *)c->iov->iov_base + c->off, n);
		to += n;
		len -= n;
		c->off += n;
		if (c->off == c->iov->iov_len) {
			c->iov++;
			c->off = 0;
		}
	}
}

/*
 * Copy a packet of @total bytes, header included, into the buffers on top of
 * the stack and describe them. Return: pieces, 0 too many for the ring.
 */
static unsigned packet_copy(struct sendq *t, const struct vd_packet *p,
                            size_t total)
{
	struct virtio_net_hdr h = header_of(&p->offload);
	struct cursor c = { p->iov, 0 };
	struct netq *q = &t->q;
	unsigned npieces = 0, head = NET_HDR;

	for (unsigned i = 1; total; i++) {
		unsigned b = q->free_buf[q->nfree - i];
		unsigned n = (unsigned)min_of(total, (size_t)q->buf_size);
		uint8_t *at = netq_buf(q, b);

		if (npieces + q->pieces > q->vr->size)
			return 0;
		memcpy(at, &h, head);
		cursor_copy(&c, at + head, n - head);
		npieces += netq_cut(q, b, head, n, q->piece + npieces);
		total -= n;
		head = 0;
		t->next[b] =
			total ? q->free_buf[q->nfree - i - 1] : NETQ_NO_BUF;
	}
	return npieces;
}

/* 1 added, 0 no room, -EMSGSIZE, -EBADMSG. */
static int packet_put(struct sendq *t, const struct vd_packet *p, size_t bytes)
{
	struct netq *q = &t->q;
	struct drv_buf b = { .piece = q->piece };
	size_t total = NET_HDR + bytes;
	unsigned nbufs = (unsigned)((total + q->buf_size - 1) / q->buf_size);
	int err;

	if (nbufs > q->vr->size)
		return -EMSGSIZE;
	if (nbufs > q->nfree)
		return 0;
	b.nread = (uint16_t)packet_copy(t, p, total);
	if (!b.nread)
		return -EMSGSIZE;
	b.token = q->free_buf[q->nfree - 1];
	err = drv_add(&q->ring, &b);
	if (err)
		return err == DRV_ENOSPC    ? 0
		       : err == DRV_EBADMSG ? -EBADMSG
		                            : -EMSGSIZE;
	q->nfree -= nbufs;
	return 1;
}

/* Makes room as the lazy policy does: one packet at a time. */
static int packet_put_or_reap(struct sendq *t, const struct vd_packet *p,
                              size_t bytes)
{
	int err, n;

	for (;;) {
		err = packet_put(t, p, bytes);
		if (err)
			return err;
		n = reap_some(t, 1);
		if (n <= 0)
			return n;
	}
}

/* --- notifications ----------------------------------------------------- */

void sendq_flush(struct sendq *t)
{
	if (!t->owed)
		return;
	t->owed = 0;
	netq_kick(&t->q);
}

static uint64_t kick_ns(const struct sendq *t)
{
	unsigned us = t->policy.kick_usecs;

	return (us ? us : KICK_USECS) * NS_PER_US;
}

uint64_t sendq_kick_when_due(struct sendq *t)
{
	uint64_t waited, limit = kick_ns(t);

	if (!t->owed)
		return 0;
	waited = clock_ns() - t->owed_since_ns;
	if (waited < limit)
		return limit - waited;
	sendq_flush(t);
	return 0;
}

static void sendq_kick_by_policy(struct sendq *t, unsigned n, bool device_idle)
{
	unsigned packets = t->policy.kick_packets;

	if (!t->owed && n && t->policy.kick != VD_KICK_NOW)
		t->owed_since_ns = clock_ns();
	t->owed += n;
	if (t->policy.kick == VD_KICK_NOW ||
	    t->owed >= (packets ? packets : KICK_PACKETS) ||
	    (t->policy.kick == VD_KICK_ADAPTIVE && device_idle))
		sendq_flush(t);
	else if (t->owed && sendq_kick_when_due(t))
		count_add(&t->delayed, 1);
}

int sendq_burst(struct sendq *t, const struct vd_packet *p, unsigned n)
{
	bool device_idle;
	uint64_t bytes = 0;
	unsigned done = 0;
	int err = sendq_reap_by_policy(t);

	device_idle = !t->q.ring.outstanding;
	while (err >= 0 && done < n) {
		size_t len = packet_bytes(&p[done]);

		err = packet_put_or_reap(t, &p[done], len);
		if (err <= 0)
			break;
		bytes += len;
		done++;
	}
	drv_publish(&t->q.ring);
	sendq_kick_by_policy(t, done, device_idle);
	if (done < n && err == 0)
		count_add(&t->full, 1);
	if (!done)
		return min_of(err, 0);
	count_add(&t->packets, done);
	count_add(&t->bytes, bytes);
	return (int)done;
}
