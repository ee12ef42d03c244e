/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recvq.c - receive bursts of packets.
 *
 * What the device wrote is not trusted: lengths were checked by the ring
 * against what was offered, the header is copied, then looked at.
 * Spec: virtio 1.3, 5.1.6.4 Processing of Incoming Packets.
 */
#include "driver/recvq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int recvq_init(struct recvq *r, const struct netq_conf *c)
{
	int err = netq_init(&r->q, c);

	r->got = calloc(c->vr->size, sizeof(*r->got));
	r->iov = calloc(c->vr->size, sizeof(*r->iov));
	return !err && r->got && r->iov ? 0 : -ENOMEM;
}

void recvq_fini(struct recvq *r)
{
	free(r->got);
	free(r->iov);
	netq_fini(&r->q);
}

/* Offer all free buffers that fit. */
static void recvq_fill(struct recvq *r)
{
	struct netq *q = &r->q;
	struct drv_buf b = { .piece = q->piece };

	while (q->nfree) {
		b.token = q->free_buf[q->nfree - 1];
		b.nwrite = (uint16_t)netq_cut(q, (unsigned)b.token, NET_HDR,
		                              q->buf_size, q->piece);
		if (drv_add(&q->ring, &b))
			break;
		q->nfree--;
	}
	drv_publish(&q->ring);
	netq_kick(q);
}

int recvq_start(struct recvq *r, const struct arena *a, uint64_t features)
{
	int err = netq_start(&r->q, a, features);

	r->mergeable = features & VIRTIO_NET_F_MRG_RXBUF;
	r->lent = r->ngot = 0;
	if (err)
		return err;
	if (r->calls_always)
		drv_call_enable(&r->q.ring, 1);
	else
		drv_call_disable(&r->q.ring);
	recvq_fill(r);
	return 0;
}

void recvq_release(struct recvq *r)
{
	struct netq *q = &r->q;
	unsigned kept = r->ngot - r->lent;

	for (unsigned i = 0; i < r->lent; i++)
		q->free_buf[q->nfree++] = (uint16_t)r->got[i].token;
	if (kept)
		memmove(r->got, r->got + r->lent, kept * sizeof(*r->got));
	r->lent = 0;
	r->ngot = kept;
	if (q->nfree >= q->vr->size / 2 || (q->nfree && !q->ring.outstanding))
		recvq_fill(r);
}

/* The header, copied; how many buffers the packet says it has, 0 nonsense. */
static unsigned header_take(const struct recvq *r, const struct drv_done *d,
                            struct vd_offload *o)
{
	struct virtio_net_hdr h;

	if (d->written < NET_HDR)
		return 0;
	memcpy(&h, netq_buf(&r->q, (unsigned)d->token), NET_HDR);
	*o = (struct vd_offload){ h.flags,
		                  h.gso_type,
		                  le16_get(h.hdr_len),
		                  le16_get(h.gso_size),
		                  le16_get(h.csum_start),
		                  le16_get(h.csum_offset) };
	return r->mergeable ? le16_get(h.num_buffers) : 1;
}

/* One packet from got[lent ...): 1 taken, 0 not all there yet. */
static int packet_take(struct recvq *r, struct vd_packet *p)
{
	struct drv_done *d = &r->got[r->lent];
	struct iovec *iov = &r->iov[r->lent];
	unsigned n = header_take(r, d, &p->offload);
	uint32_t skip = NET_HDR;

	if (unlikely(n == 0 || n > r->q.vr->size)) {
		count_add(&r->bad, 1);
		r->lent++;
		return 0;
	}
	if (n > r->ngot - r->lent)
		return 0;
	p->iov = iov;
	p->niov = n;
	p->len = 0;
	for (unsigned i = 0; i < n; i++) {
		iov[i].iov_base = netq_buf(&r->q, (unsigned)d[i].token) + skip;
		iov[i].iov_len = d[i].written - skip;
		p->len += d[i].written - skip;
		skip = 0;
	}
	r->lent += n;
	return 1;
}

int recvq_burst(struct recvq *r, struct vd_packet *p, unsigned n)
{
	unsigned npackets = 0, before;
	uint64_t bytes = 0;
	int got = 0;

	recvq_release(r);
	while (npackets < n) {
		before = r->lent;
		if (r->lent < r->ngot && packet_take(r, &p[npackets])) {
			bytes += p[npackets++].len;
			continue;
		}
		if (r->lent != before)
			continue; /* nonsense, stepped over */
		got = drv_reap(&r->q.ring, r->got + r->ngot,
		               min_of(n - npackets, r->q.vr->size - r->ngot));
		if (got <= 0)
			break;
		r->ngot += (unsigned)got;
	}
	if (r->calls_always)
		drv_call_enable(&r->q.ring, 1);
	if (!npackets)
		return got < 0 ? -EBADMSG : 0;
	count_add(&r->packets, npackets);
	count_add(&r->bytes, bytes);
	return (int)npackets;
}
