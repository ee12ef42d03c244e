/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * segment.c - software checksum, TCP segmentation, UDP segmentation and IP
 * fragmentation, without copying payload.
 *
 * The way of a frame: segment_start() copies its headers out once (gather),
 * looks at the copy, and chooses the kind. segment_next() edits the headers for
 * the next piece (kind->edit), lays the payload's pieces of memory behind them,
 * and sums what has to be summed.
 *
 * Sums are of the bytes as they are in the sender's memory now. A sender that
 * rewrites them before they are copied spoils its own checksum.
 */
#include "net/segment.h"

#include <errno.h>
#include <string.h>

#include "net/csum.h"
#include "net/layers.h"

#define TCP_FIN 0x01u
#define TCP_PSH 0x08u
#define TCP_CWR 0x80u

#define FRAGMENT_BYTES 8u
#define FRAGMENT_MORE4 0x2000u
#define PROTO_FRAGMENT 44u

struct segment_kind {
	/* Headers for the piece with @payload bytes. */
	void (*edit)(struct segmenter *s, uint32_t payload);
	/* The checksum, given the payload's sum; NULL: it needs none. */
	void (*check)(struct segmenter *s, uint32_t payload,
	              const struct csum *sum);
	uint8_t proto;
	uint8_t check_off; /* from l4 */
};

static void put16(uint8_t *p, uint32_t x)
{
	p[0] = (uint8_t)(x >> 8);
	p[1] = (uint8_t)x;
}

static void put32(uint8_t *p, uint32_t x)
{
	put16(p, x >> 16);
	put16(p + 2, x);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)be16_at(p) << 16 | be16_at(p + 2);
}

unsigned segment_allowed(uint64_t features)
{
	unsigned to = 0;

	if (!(features & VIRTIO_NET_F_GUEST_CSUM))
		return 0;
	to |= OFFLOAD_CSUM;
	to |= features & VIRTIO_NET_F_GUEST_TSO4 ? OFFLOAD_TSO4 : 0;
	to |= features & VIRTIO_NET_F_GUEST_TSO6 ? OFFLOAD_TSO6 : 0;
	to |= features & VIRTIO_NET_F_GUEST_ECN ? OFFLOAD_ECN : 0;
	to |= features & VIRTIO_NET_F_GUEST_UFO ? OFFLOAD_UFO : 0;
	to |= features & VIRTIO_NET_F_GUEST_USO4 ? OFFLOAD_USO4 : 0;
	to |= features & VIRTIO_NET_F_GUEST_USO6 ? OFFLOAD_USO6 : 0;
	return to;
}

/* UDP_L4 does not say which IP. When unsure, both are needed. */
static unsigned uso_of(const struct frame *f)
{
	uint16_t at;

	switch (layers_type(frame_head(f), f->head_len, &at)) {
	case TYPE_IPV4:
		return OFFLOAD_USO4;
	case TYPE_IPV6:
		return OFFLOAD_USO6;
	default:
		return OFFLOAD_USO4 | OFFLOAD_USO6;
	}
}

bool segment_needed(const struct frame *f, unsigned allowed)
{
	unsigned asks = 0;

	if (f->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		asks |= OFFLOAD_CSUM;
	if (f->hdr.gso_type & VIRTIO_NET_HDR_GSO_ECN)
		asks |= OFFLOAD_ECN;
	switch (f->hdr.gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_TCPV4:
		asks |= OFFLOAD_TSO4;
		break;
	case VIRTIO_NET_HDR_GSO_TCPV6:
		asks |= OFFLOAD_TSO6;
		break;
	case VIRTIO_NET_HDR_GSO_UDP:
		asks |= OFFLOAD_UFO;
		break;
	case VIRTIO_NET_HDR_GSO_UDP_L4:
		asks |= uso_of(f);
		break;
	}
	return asks & ~allowed;
}

/* Stand on byte @at of the frame, which is behind its head. */
static void seek(struct segmenter *s, uint32_t at)
{
	const struct frame *f = s->from;
	size_t off = at - f->head_len;

	s->seg_at = 0;
	while (s->seg_at < f->nseg && off >= f->seg[s->seg_at].len)
		off -= f->seg[s->seg_at++].len;
	s->seg_off = off;
	s->left = f->len - at;
}

/* Payload that was copied out with the headers goes from the copy. */
static void payload_from(struct segmenter *s, uint32_t header)
{
	s->header_len = header;
	seek(s, max_of(header, s->from->head_len));
	s->left = s->from->len - header;
}

/* Lay @n bytes of payload into s->seg behind @nseg pieces; sum them too. */
static unsigned lay(struct segmenter *s, uint32_t n, unsigned nseg,
                    struct csum *sum)
{
	const struct frame *f = s->from;
	uint32_t at = f->len - s->left;

	s->left -= n;
	if (n && at < f->head_len) {
		size_t len = min_of(n, f->head_len - at);

		s->seg[nseg] =
			(struct seg){ (void *)(frame_head(f) + at), len };
		if (sum)
			csum_feed(sum, s->seg[nseg].base, len);
		nseg++;
		n -= len;
	}
	while (n) {
		const struct seg *from = &f->seg[s->seg_at];
		size_t len = min_of(n, from->len - s->seg_off);
		uint8_t *p = (uint8_t *)from->base + s->seg_off;

		n -= len;
		s->seg_off += len;
		if (s->seg_off == from->len) {
			s->seg_at++;
			s->seg_off = 0;
		}
		if (!len)
			continue;
		s->seg[nseg++] = (struct seg){ p, len };
		if (sum)
			csum_feed(sum, p, len);
	}
	return nseg;
}

/* The header of layer 3: how long, which piece. */
static void edit_ip(struct segmenter *s, uint32_t bytes_behind_l3, uint16_t id)
{
	uint8_t *ip = s->header + s->l3;
	struct csum sum = { 0 };
	uint16_t check;

	if (s->version == 6) {
		put16(ip + 4, bytes_behind_l3 - 40);
		return;
	}
	put16(ip + 2, bytes_behind_l3);
	put16(ip + 4, id);
	put16(ip + 10, 0);
	csum_feed(&sum, ip, (ip[0] & 15u) * 4u);
	check = (uint16_t)~csum_partial(&sum);
	memcpy(ip + 10, &check, sizeof(check));
}

static void edit_tcp(struct segmenter *s, uint32_t payload)
{
	uint8_t *tcp = s->header + s->l4;
	uint8_t flags = s->tcp_flags;

	edit_ip(s, s->header_len - s->l3 + payload,
	        (uint16_t)(s->ip_id + s->index));
	put32(tcp + 4, s->tcp_seq + s->index * s->step);
	if (s->index)
		flags &= ~TCP_CWR;
	if (s->index + 1 < s->count)
		flags &= ~(TCP_FIN | TCP_PSH);
	tcp[13] = flags;
}

static void edit_udp(struct segmenter *s, uint32_t payload)
{
	edit_ip(s, s->header_len - s->l3 + payload,
	        (uint16_t)(s->ip_id + s->index));
	put16(s->header + s->l4 + 4, UDP_BYTES + payload);
}

/*
 * A fragment: the repeated headers, then for the first one the rest of what
 * was copied (header of UDP and what stands before it), which counts as
 * payload. header[] is: repeated | IPv6: fragment header | the rest.
 */
static void edit_fragment(struct segmenter *s, uint32_t payload)
{
	uint32_t head = s->frag_at;
	bool more = s->index + 1 < s->count;
	uint32_t off = s->index * s->step;

	if (s->version == 6)
		head += FRAGMENT_BYTES;
	if (s->index)
		s->header_len = head;
	if (s->version == 6) {
		uint8_t *frag = s->header + s->frag_at;

		put16(frag + 2, off | more);
		put32(frag + 4, s->frag_ident);
	} else {
		put16(s->header + s->l3 + 6,
		      off / 8 | (more ? FRAGMENT_MORE4 : 0));
	}
	edit_ip(s, s->header_len - s->l3 + payload, s->ip_id);
}

/* The sum of the pseudo header for @len bytes of layer 4. */
static void feed_pseudo(const struct segmenter *s, struct csum *sum,
                        uint32_t len)
{
	const uint8_t *ip = s->header + s->l3;

	if (s->version == 6)
		csum_feed(sum, ip + 8, 32);
	else
		csum_feed(sum, ip + 12, 8);
	csum_feed_number(sum, s->kind->proto);
	csum_feed_number(sum, (uint16_t)len);
}

/* The checksum of a piece; with csum_left only the pseudo header's part. */
static void check_piece(struct segmenter *s, uint32_t payload,
                        const struct csum *sum)
{
	uint32_t len = s->header_len - s->l4;
	uint8_t *check = s->header + s->l4 + s->kind->check_off;
	struct csum all = { 0 };
	uint16_t value;

	memset(check, 0, sizeof(value));
	feed_pseudo(s, &all, len + payload);
	if (s->csum_left) {
		value = csum_partial(&all);
	} else {
		csum_feed(&all, s->header + s->l4, len);
		csum_join(&all, sum);
		value = csum_final(&all);
	}
	memcpy(check, &value, sizeof(value));
}

/* What the sender asked for, at the end of the copied bytes: the sum of all
 * from l4 on, over the part that it put in the field. */
static void check_whole(struct segmenter *s, uint32_t payload,
                        const struct csum *sum)
{
	struct csum all = { 0 };
	uint16_t value;

	(void)payload;
	csum_feed(&all, s->header + s->l4, s->header_len - s->l4);
	csum_join(&all, sum);
	value = csum_final(&all);
	memcpy(s->header + s->header_len - sizeof(value), &value,
	       sizeof(value));
}

static const struct segment_kind kind_tcp = {
	.edit = edit_tcp,
	.check = check_piece,
	.proto = PROTO_TCP,
	.check_off = TCP_CHECK_OFF,
};
static const struct segment_kind kind_udp = {
	.edit = edit_udp,
	.check = check_piece,
	.proto = PROTO_UDP,
	.check_off = UDP_CHECK_OFF,
};
static const struct segment_kind kind_fragment = {
	.edit = edit_fragment,
	.proto = PROTO_UDP,
	.check_off = UDP_CHECK_OFF,
};
static const struct segment_kind kind_whole = { .check = check_whole };

/* One frame, its checksum finished. The field ends the copied bytes. */
static int start_whole(struct segmenter *s)
{
	const struct frame *f = s->from;
	uint32_t end = f->hdr.csum_start + f->hdr.csum_offset + 2u;

	if (end > SEGMENT_HEADER || !frame_copy(f, 0, end, s->header))
		return -EINVAL;
	s->kind = &kind_whole;
	s->l4 = f->hdr.csum_start;
	s->count = 1;
	s->step = f->len - end;
	s->csum_left = false;
	payload_from(s, end);
	return 1;
}

/* The kind that a GSO type and the layers allow; NULL: they disagree. */
static const struct segment_kind *kind_of(const struct frame_hdr *h,
                                          const struct layers *l)
{
	const struct segment_kind *kind;
	unsigned version = l->version;

	switch (h->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_TCPV4:
		kind = &kind_tcp;
		version = 4;
		break;
	case VIRTIO_NET_HDR_GSO_TCPV6:
		kind = &kind_tcp;
		version = 6;
		break;
	case VIRTIO_NET_HDR_GSO_UDP:
		kind = &kind_fragment;
		break;
	case VIRTIO_NET_HDR_GSO_UDP_L4:
		kind = &kind_udp;
		break;
	default:
		return NULL;
	}
	if (l->version != version || l->proto != kind->proto || l->fragment ||
	    h->csum_start != l->l4 || h->csum_offset != kind->check_off)
		return NULL;
	return kind;
}

/* Pieces by layer 4: @header bytes are repeated before each. */
static int start_pieces(struct segmenter *s, uint32_t header)
{
	uint32_t payload = s->from->len - header;

	s->step = s->from->hdr.gso_size;
	if (header - s->l3 + min_of(s->step, payload) > UINT16_MAX)
		return -EINVAL;
	s->count = payload ? (payload + s->step - 1) / s->step : 1;
	payload_from(s, header);
	return (int)s->count;
}

static int start_tcp(struct segmenter *s, uint32_t copied)
{
	const uint8_t *tcp = s->header + s->l4;
	uint32_t header;

	if (s->l4 + TCP_BYTES > copied)
		return -EINVAL;
	header = s->l4 + (tcp[12] >> 4) * 4u;
	if (header < s->l4 + TCP_BYTES || header > copied)
		return -EINVAL;
	s->tcp_seq = get32(tcp + 4);
	s->tcp_flags = tcp[13];
	return start_pieces(s, header);
}

/* The checksum of the whole datagram, before it is cut. */
static void check_datagram(struct segmenter *s)
{
	struct csum sum = { 0 };

	lay(s, s->left, 1, &sum);
	check_piece(s, s->from->len - s->header_len, &sum);
	payload_from(s, s->header_len);
}

static int start_fragments(struct segmenter *s, const struct layers *l)
{
	uint32_t header = l->l4 + UDP_BYTES, total;

	s->frag_at = l->version == 6 ? l->split_at : l->l4;
	s->extra = header - s->frag_at;
	s->step = s->from->hdr.gso_size & ~7u;
	total = s->from->len - s->frag_at;
	if (s->step < s->extra || total > UINT16_MAX ||
	    s->frag_at - s->l3 + FRAGMENT_BYTES + s->step > UINT16_MAX)
		return -EINVAL;
	if (total <= s->step) {
		s->extra = 0;
		return start_whole(s);
	}
	s->csum_left = false;
	payload_from(s, header);
	check_datagram(s);
	s->count = (total + s->step - 1) / s->step;
	if (l->version == 6) {
		uint8_t *frag = s->header + s->frag_at;

		memmove(frag + FRAGMENT_BYTES, frag, s->extra);
		frag[0] = s->header[l->split_next];
		frag[1] = 0;
		s->header[l->split_next] = PROTO_FRAGMENT;
		s->header_len += FRAGMENT_BYTES;
		s->frag_ident++;
	}
	return (int)s->count;
}

int segment_start(struct segmenter *s, const struct frame *f, unsigned allowed)
{
	uint32_t copied = min_of(f->len, SEGMENT_HEADER);
	struct layers l;

	s->from = f;
	s->index = s->count = s->extra = 0;
	if (f->nseg > SEGMENT_SEGS - 2)
		return -EINVAL;
	if (!f->hdr.gso_type)
		return start_whole(s);
	frame_copy(f, 0, copied, s->header);
	if (layers_find(s->header, copied, &l))
		return -EINVAL;
	s->kind = kind_of(&f->hdr, &l);
	if (!s->kind || l.l4 + UDP_BYTES > copied || !f->hdr.gso_size)
		return -EINVAL;
	s->l3 = l.l3;
	s->l4 = l.l4;
	s->version = l.version;
	s->csum_left = allowed & OFFLOAD_CSUM;
	if (l.version == 4)
		s->ip_id = be16_at(s->header + l.l3 + 4);
	if (s->kind == &kind_tcp)
		return start_tcp(s, copied);
	if (s->kind == &kind_udp)
		return start_pieces(s, l.l4 + UDP_BYTES);
	return start_fragments(s, &l);
}

/* The piece as a frame: head from the headers, then segments. */
static void piece_make(struct segmenter *s, unsigned nseg, uint32_t payload)
{
	struct frame *p = &s->piece;

	p->hdr = (struct frame_hdr){ 0 };
	if (s->csum_left) {
		p->hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		p->hdr.csum_start = s->l4;
		p->hdr.csum_offset = s->kind->check_off;
	}
	p->len = s->header_len + payload;
	p->head_at = FRAME_HEAD_ROOM;
	p->head_len = (uint8_t)min_of(s->header_len, FRAME_HEAD);
	memcpy(p->room + FRAME_HEAD_ROOM, s->header, p->head_len);
	/* seg[0] is kept for the rest of long headers. */
	s->seg[0] = (struct seg){ s->header + p->head_len,
		                  s->header_len - p->head_len };
	p->seg = s->seg[0].len ? s->seg : s->seg + 1;
	p->nseg = (uint16_t)(s->seg[0].len ? nseg : nseg - 1);
}

const struct frame *segment_next(struct segmenter *s)
{
	struct csum sum = { 0 };
	uint32_t payload;
	unsigned nseg;
	bool summed;

	if (s->index == s->count)
		return NULL;
	payload = min_of(s->left, s->step - (s->index ? 0 : s->extra));
	summed = s->kind->check && !s->csum_left;
	nseg = lay(s, payload, 1, summed ? &sum : NULL);
	if (s->kind->edit)
		s->kind->edit(s, payload);
	if (s->kind->check)
		s->kind->check(s, payload, &sum);
	piece_make(s, nseg, payload);
	s->index++;
	return &s->piece;
}
