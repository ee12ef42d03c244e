/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hdr.c - read, check and make the 12 bytes before every packet.
 *
 * hdr_read() is called for every packet a guest sends. Nearly always the first
 * descriptor holds the header and the first 60 bytes: two copies of constant
 * size. Everything else takes the same copies byte by byte (gather).
 */
#include "net/hdr.h"

#include <errno.h>

#include "base/order.h"

#define GSO_BIT(type) (1u << (type))
#define TCP_HEADER    20u
#define UDP_HEADER    8u

void hdr_rules_set(struct hdr_rules *r, uint64_t features)
{
	bool v1 = features & VIRTIO_F_VERSION_1;

	r->len = v1 || features & VIRTIO_NET_F_MRG_RXBUF ? NET_HDR_BYTES
	                                                 : NET_HDR_BYTES_LEGACY;
	r->ecn = features & VIRTIO_NET_F_HOST_ECN;
	r->gso_types = GSO_BIT(VIRTIO_NET_HDR_GSO_NONE);
	if (!(features & VIRTIO_NET_F_CSUM))
		return;
	if (features & VIRTIO_NET_F_HOST_TSO4)
		r->gso_types |= GSO_BIT(VIRTIO_NET_HDR_GSO_TCPV4);
	if (features & VIRTIO_NET_F_HOST_TSO6)
		r->gso_types |= GSO_BIT(VIRTIO_NET_HDR_GSO_TCPV6);
	if (features & VIRTIO_NET_F_HOST_UFO)
		r->gso_types |= GSO_BIT(VIRTIO_NET_HDR_GSO_UDP);
	if (features & VIRTIO_NET_F_HOST_USO)
		r->gso_types |= GSO_BIT(VIRTIO_NET_HDR_GSO_UDP_L4);
}

/* A request to cut the frame: known, negotiated, and possible. */
static bool gso_is_sound(const struct hdr_rules *r, const struct frame_hdr *h,
                         uint32_t len)
{
	unsigned type = h->gso_type & ~VIRTIO_NET_HDR_GSO_ECN;
	bool tcp = type == VIRTIO_NET_HDR_GSO_TCPV4 ||
	           type == VIRTIO_NET_HDR_GSO_TCPV6;

	if (type > 31 || !(r->gso_types & GSO_BIT(type)) || !type)
		return false;
	if (h->gso_type & VIRTIO_NET_HDR_GSO_ECN && !(r->ecn && tcp))
		return false;
	/* The driver MUST ask for the checksum too, and give a size. */
	return h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM && h->gso_size &&
	       h->csum_start + (tcp ? TCP_HEADER : UDP_HEADER) <= len;
}

static bool csum_is_sound(const struct frame_hdr *h, uint32_t len)
{
	return h->csum_start >= FRAME_LEN_MIN &&
	       (uint32_t)h->csum_start + h->csum_offset + 2 <= len;
}

/* The header is a hint about the headers' length. Keep it when it may be true,
 * otherwise say the least that it can be. */
static uint16_t hdr_len_of(const struct frame_hdr *h, uint32_t len)
{
	unsigned least =
		h->csum_start +
		(h->gso_type == VIRTIO_NET_HDR_GSO_UDP ||
	                         h->gso_type == VIRTIO_NET_HDR_GSO_UDP_L4
	                 ? UDP_HEADER
	                 : TCP_HEADER);

	return (uint16_t)(h->hdr_len < least || h->hdr_len > len ? least
	                                                         : h->hdr_len);
}

/* The rest of a header that asks for something. */
static noinline int hdr_check(const struct hdr_rules *r,
                              const struct virtio_net_hdr *w, struct frame *f)
{
	struct frame_hdr *h = &f->hdr;

	h->hdr_len = le16_get(w->hdr_len);
	h->gso_size = le16_get(w->gso_size);
	h->csum_start = le16_get(w->csum_start);
	h->csum_offset = le16_get(w->csum_offset);
	if (h->flags && !csum_is_sound(h, f->len))
		return -EINVAL;
	if (!h->gso_type) {
		h->hdr_len = h->gso_size = 0;
		return 0;
	}
	if (!gso_is_sound(r, h, f->len))
		return -EINVAL;
	h->hdr_len = hdr_len_of(h, f->len);
	return 0;
}

/* Copy @len bytes off the front of the segments, a byte at a time. */
static struct seg *gather(struct seg *s, uint8_t *to, unsigned len)
{
	while (len) {
		const uint8_t *from = s->base;
		unsigned n = (unsigned)min_of(len, s->len);

		for (unsigned i = 0; i < n; i++)
			to[i] = ld8(from + i);
		to += n;
		len -= n;
		s->base = (uint8_t *)s->base + n;
		s->len -= n;
		if (!s->len)
			s++;
	}
	return s;
}

/* Header and head in several pieces of memory, or short ones. */
static noinline struct seg *read_pieces(struct seg *s, struct frame *f,
                                        struct virtio_net_hdr *w, unsigned len)
{
	*w = (struct virtio_net_hdr){ 0 };
	f->head_len = (uint8_t)min_of(f->len, FRAME_HEAD);
	s = gather(s, (uint8_t *)w, len);
	return gather(s, f->room + FRAME_HEAD_ROOM, f->head_len);
}

int hdr_read(const struct hdr_rules *r, struct burst *b, const struct chain *c,
             struct frame *f)
{
	struct seg *s = &b->seg[c->first], *end = s + c->nread;
	struct virtio_net_hdr w;
	unsigned len = r->len;

	if (unlikely(c->read_len < len + FRAME_LEN_MIN ||
	             c->read_len - len > FRAME_LEN_MAX))
		return -EINVAL;
	f->len = c->read_len - len;
	f->head_at = FRAME_HEAD_ROOM;
	if (likely(s->len >= NET_HDR_BYTES + FRAME_HEAD)) {
		const uint8_t *p = s->base;

		ld_bytes(&w, p, sizeof(w));
		ld_bytes(f->room + FRAME_HEAD_ROOM, p + len, FRAME_HEAD);
		f->head_len = FRAME_HEAD;
		s->base = (uint8_t *)s->base + len + FRAME_HEAD;
		s->len -= len + FRAME_HEAD;
		s += !s->len;
	} else {
		s = read_pieces(s, f, &w, len);
	}
	f->seg = s;
	f->nseg = (uint16_t)(end - s);
	/* All of it: the frame may have held another packet before. */
	f->hdr = (struct frame_hdr){
		.flags = w.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = w.gso_type,
	};
	if (likely(!(f->hdr.flags | f->hdr.gso_type)))
		return 0;
	return hdr_check(r, &w, f);
}

struct virtio_net_hdr hdr_make(const struct frame *f, bool csum)
{
	struct virtio_net_hdr w = { .num_buffers = le16_make(1) };

	if (likely(!(f->hdr.flags | f->hdr.gso_type)) || !csum)
		return w;
	w.flags = f->hdr.flags;
	if (!(f->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return w;
	w.gso_type = f->hdr.gso_type;
	w.hdr_len = le16_make(f->hdr.hdr_len);
	w.gso_size = le16_make(f->hdr.gso_size);
	w.csum_start = le16_make(f->hdr.csum_start);
	w.csum_offset = le16_make(f->hdr.csum_offset);
	return w;
}
