/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packets.c - see packets.h. Shares no code with src/net on purpose.
 */
#include <assert.h>
#include <string.h>

#include "packets.h"

uint32_t dice_roll(struct dice *d, uint32_t sides)
{
	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((d->state >> 33) % sides);
}

static void add16(struct packet *p, unsigned x)
{
	p->bytes[p->len++] = (uint8_t)(x >> 8);
	p->bytes[p->len++] = (uint8_t)x;
}

static void add_random(struct packet *p, unsigned n, struct dice *d)
{
	while (n--)
		p->bytes[p->len++] = (uint8_t)dice_roll(d, 256);
}

uint16_t slow_sum(const uint8_t *p, uint32_t len, uint32_t start)
{
	uint32_t sum = start;

	for (uint32_t i = 0; i < len; i++) {
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)sum;
}

/* The pseudo header's sum; addresses are where IP has them. */
static uint16_t pseudo(const uint8_t *p, uint32_t l3, unsigned proto,
                       uint32_t len)
{
	bool v6 = p[l3] >> 4 == 6;

	return slow_sum(p + l3 + (v6 ? 8 : 12), v6 ? 32 : 8,
	                proto + (len & 0xffff));
}

bool ip_sum_is_right(const uint8_t *p, uint32_t l3)
{
	return slow_sum(p + l3, (p[l3] & 15u) * 4, 0) == 0xffff;
}

bool l4_sum_is_right(const uint8_t *p, uint32_t len, uint32_t l3, uint32_t l4)
{
	unsigned proto = p[l3 + 9];

	if (p[l3] >> 4 == 6) {
		unsigned at = l3 + 40;

		proto = p[l3 + 6];
		while (at < l4) {
			unsigned next = p[at];

			at += proto == 44 ? 8 : (p[at + 1] + 1u) * 8;
			proto = next;
		}
	}
	return slow_sum(p + l4, len - l4, pseudo(p, l3, proto, len - l4)) ==
	       0xffff;
}

static void make_ipv4(struct packet *p, const struct packet_wish *w,
                      unsigned proto, struct dice *d)
{
	unsigned options = w->options ? dice_roll(d, 11) * 4 : 0;

	p->l3 = p->len;
	p->bytes[p->len++] = (uint8_t)(0x45 + options / 4);
	add_random(p, 1, d);
	add16(p, 0);
	add_random(p, 2, d);
	add16(p, 0x4000);
	p->bytes[p->len++] = 64;
	p->bytes[p->len++] = (uint8_t)proto;
	add16(p, 0);
	add_random(p, 8, d);
	/* No operation, so that a kernel takes them. */
	memset(p->bytes + p->len, 1, options);
	p->len += options;
}

/* An extension header of padding; the byte that says what follows is set by
 * the next one. */
static unsigned make_extension(struct packet *p, unsigned next_at,
                               unsigned kind)
{
	p->bytes[next_at] = (uint8_t)kind;
	next_at = p->len;
	memcpy(p->bytes + p->len, "\0\0\1\4\0\0\0\0", 8);
	p->len += 8;
	return next_at;
}

static void make_ipv6(struct packet *p, const struct packet_wish *w,
                      unsigned proto, struct dice *d)
{
	unsigned next_at;

	p->l3 = p->len;
	add16(p, 0x6000);
	add_random(p, 2, d);
	add16(p, 0);
	next_at = p->len++;
	p->bytes[p->len++] = 64;
	add_random(p, 32, d);
	p->bytes[p->l3 + 8] = p->bytes[p->l3 + 24] = 0xfd;
	if (w->options && dice_roll(d, 2))
		next_at = make_extension(p, next_at, 0);
	if (w->options && dice_roll(d, 2))
		next_at = make_extension(p, next_at, 60);
	p->bytes[next_at] = (uint8_t)proto;
}

static void make_tcp(struct packet *p, const struct packet_wish *w,
                     struct dice *d)
{
	unsigned options = w->options ? dice_roll(d, 11) * 4 : 0;

	p->l4 = p->len;
	add_random(p, 12, d);
	p->bytes[p->len++] = (uint8_t)((5 + options / 4) << 4);
	add_random(p, 1, d);
	p->bytes[p->len - 1] &= 0xd9; /* no SYN, RST, URG */
	add_random(p, 2, d);
	add16(p, 0);
	add16(p, 0);
	memset(p->bytes + p->len, 1, options);
	p->len += options;
}

static void make_udp(struct packet *p, const struct packet_wish *w,
                     struct dice *d)
{
	p->l4 = p->len;
	add_random(p, 4, d);
	add16(p, 8 + w->payload);
	add16(p, 0);
}

static void make_eth(struct packet *p, const struct packet_wish *w, bool v6,
                     struct dice *d)
{
	add_random(p, 12, d);
	p->bytes[0] = p->bytes[6] = 2;
	if (w->vlan) {
		add16(p, 0x8100);
		add16(p, 1 + dice_roll(d, 4000));
	}
	add16(p, v6 ? 0x86dd : 0x0800);
}

static void store(uint8_t *at, uint16_t x)
{
	at[0] = (uint8_t)(x >> 8);
	at[1] = (uint8_t)x;
}

/* Lengths and checksums, now that all bytes are there. */
static void finish(struct packet *p, bool v6, bool udp, bool unfinished)
{
	uint8_t *ip = p->bytes + p->l3;
	unsigned proto = udp ? 17 : 6, off = udp ? 6 : 16;
	uint16_t sum = pseudo(p->bytes, p->l3, proto, p->len - p->l4);

	if (v6) {
		store(ip + 4, (uint16_t)(p->len - p->l3 - 40));
	} else {
		store(ip + 2, (uint16_t)(p->len - p->l3));
		store(ip + 10, (uint16_t)~slow_sum(ip, (ip[0] & 15u) * 4, 0));
	}
	if (!unfinished) {
		sum = (uint16_t)~slow_sum(p->bytes + p->l4, p->len - p->l4,
		                          sum);
		sum = sum ? sum : 0xffff;
	}
	store(p->bytes + p->l4 + off, sum);
	p->hdr.flags = unfinished ? VIRTIO_NET_HDR_F_NEEDS_CSUM : 0;
	p->hdr.csum_start = unfinished ? (uint16_t)p->l4 : 0;
	p->hdr.csum_offset = unfinished ? (uint16_t)off : 0;
}

void packet_make(struct packet *p, const struct packet_wish *w, struct dice *d)
{
	bool v6 = w->v6, udp = w->udp;

	if (w->gso_type)
		udp = w->gso_type == VIRTIO_NET_HDR_GSO_UDP ||
		      w->gso_type == VIRTIO_NET_HDR_GSO_UDP_L4;
	if (w->gso_type && !udp)
		v6 = (w->gso_type & 0x7f) == VIRTIO_NET_HDR_GSO_TCPV6;
	p->len = 0;
	p->hdr = (struct frame_hdr){ .gso_type = w->gso_type,
		                     .gso_size = w->gso_size };
	make_eth(p, w, v6, d);
	if (v6)
		make_ipv6(p, w, udp ? 17 : 6, d);
	else
		make_ipv4(p, w, udp ? 17 : 6, d);
	if (udp)
		make_udp(p, w, d);
	else
		make_tcp(p, w, d);
	p->data = p->len;
	assert(p->len + w->payload <= PACKET_MAX);
	add_random(p, w->payload, d);
	finish(p, v6, udp, w->gso_type || w->unfinished);
	if (w->gso_type)
		p->hdr.hdr_len = (uint16_t)p->data;
}

void packet_view(const struct packet *p, struct frame *f, struct seg *seg,
                 unsigned nseg, struct dice *d)
{
	uint32_t at, n = 0;

	f->hdr = p->hdr;
	f->len = p->len;
	f->head_at = FRAME_HEAD_ROOM;
	f->head_len = (uint8_t)min_of(p->len, FRAME_HEAD);
	memcpy(f->room + FRAME_HEAD_ROOM, p->bytes, f->head_len);
	f->seg = seg;
	for (at = f->head_len; at < p->len;) {
		uint32_t len = dice_roll(d, p->len / 4 + 2);

		if (n == nseg - 1 || len > p->len - at)
			len = p->len - at;
		seg[n++] = (struct seg){ (void *)(p->bytes + at), len };
		at += len;
	}
	f->nseg = (uint16_t)n;
}

uint32_t frame_flatten(const struct frame *f, uint8_t *to)
{
	uint32_t n = f->head_len;

	memcpy(to, frame_head(f), n);
	for (unsigned i = 0; i < f->nseg; i++) {
		memcpy(to + n, f->seg[i].base, f->seg[i].len);
		n += f->seg[i].len;
	}
	assert(n == f->len);
	return n;
}
