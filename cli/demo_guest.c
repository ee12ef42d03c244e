/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_guest.c - the smallest network stack that a demonstration needs.
 *
 * The way of a frame in: guest_poll -> serve -> arp_input or ip_input ->
 * icmp_input or udp_input. Out: a layer fills frame_next() from behind, then
 * frame_done(); guest_flush() sends the burst.
 */
#include "demo_guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "net/csum.h"
#include "wire/net.h"

#define ETH_BYTES  14u
#define IP_BYTES   20u
#define UDP_BYTES  8u
#define ARP_BYTES  28u
#define ETH_IP     0x0800u
#define ETH_ARP    0x0806u
#define PROTO_ICMP 1u
#define PROTO_UDP  17u
#define PING_BYTES 56u
#define FULL_MS    5000 /* a device that takes nothing for so long is stuck */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void put16(uint8_t *p, unsigned x)
{
	p[0] = (uint8_t)(x >> 8);
	p[1] = (uint8_t)x;
}

static unsigned get16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static uint16_t sum_of(const uint8_t *p, size_t len)
{
	struct csum c = { 0 };

	csum_feed(&c, p, len);
	return csum_final(&c);
}

/* Does the sum over @p, checksum included, come out right? */
static bool sums_up(struct csum c, const uint8_t *p, size_t len)
{
	csum_feed(&c, p, len);
	return csum_partial(&c) == 0xffff;
}

static struct csum pseudo(const uint8_t *ip, unsigned proto, unsigned len)
{
	struct csum c = { 0 };

	csum_feed(&c, ip + 12, 8);
	csum_feed_number(&c, (uint16_t)proto);
	csum_feed_number(&c, (uint16_t)len);
	return c;
}

int guest_open(struct guest *g, const char *name, const char *socket,
               uint8_t last)
{
	struct vd_driver_info info = { .size = sizeof(info) };
	struct vd_driver_opts o = { .size = sizeof(o),
		                    .tag = name,
		                    .socket = socket };
	int err = 0;

	memset(g, 0, sizeof(*g));
	g->name = name;
	memcpy(g->mac, (uint8_t[]){ 2, 0x76, 0x64, 0, 0, last }, 6);
	g->ip = htonl(0x0a4d0000u | last);
	g->d = vd_driver_open(&o, &err);
	if (!g->d)
		return err;
	vd_driver_info(g->d, &info);
	g->offload = info.features & VIRTIO_NET_F_CSUM;
	return 0;
}

void guest_close(struct guest *g)
{
	vd_driver_close(g->d);
	g->d = NULL;
}

/* --- out --------------------------------------------------------------- */

int guest_flush(struct guest *g)
{
	struct vd_packet p[GUEST_BURST];
	struct iovec iov[GUEST_BURST];
	unsigned done = 0;

	for (unsigned i = 0; i < g->nout; i++) {
		iov[i] = (struct iovec){ g->frame[i], g->len[i] };
		p[i] = (struct vd_packet){ &iov[i], 1, 0, g->todo[i] };
	}
	while (done < g->nout) {
		int n = vd_driver_send(g->d, 0, p + done, g->nout - done);

		if (n < 0)
			return n;
		done += (unsigned)n;
		if (n)
			continue;
		n = vd_driver_wait(g->d, 0, VD_WAIT_SEND, FULL_MS);
		if (n <= 0)
			return n < 0 ? n : -ETIMEDOUT;
	}
	g->nout = 0;
	return 0;
}

/* Room for the next frame, its addresses filled in. */
static uint8_t *frame_next(struct guest *g, const uint8_t *to, unsigned type)
{
	uint8_t *f = g->frame[g->nout];

	memcpy(f, to, 6);
	memcpy(f + 6, g->mac, 6);
	put16(f + 12, type);
	g->todo[g->nout] = (struct vd_offload){ 0 };
	return f;
}

static int frame_done(struct guest *g, unsigned len)
{
	g->len[g->nout++] = len;
	return g->nout == GUEST_BURST ? guest_flush(g) : 0;
}

static const uint8_t *mac_of(const struct guest *g, uint32_t ip)
{
	for (unsigned i = 0; i < g->npeers; i++)
		if (g->peer[i].ip == ip)
			return g->peer[i].mac;
	return NULL;
}

/* An IP header with room for @len bytes behind it; NULL: not resolved. */
static uint8_t *ip_next(struct guest *g, uint32_t to, unsigned proto,
                        unsigned len)
{
	const uint8_t *mac = mac_of(g, to);
	uint16_t sum;
	uint8_t *p;

	if (!mac)
		return NULL;
	p = frame_next(g, mac, ETH_IP) + ETH_BYTES;
	memset(p, 0, IP_BYTES);
	p[0] = 0x45;
	put16(p + 2, IP_BYTES + len);
	p[6] = 0x40; /* do not fragment */
	p[8] = 64;
	p[9] = (uint8_t)proto;
	memcpy(p + 12, &g->ip, 4);
	memcpy(p + 16, &to, 4);
	sum = sum_of(p, IP_BYTES);
	memcpy(p + 10, &sum, 2);
	return p + IP_BYTES;
}

static int arp_send(struct guest *g, unsigned op, const uint8_t *mac,
                    uint32_t ip)
{
	static const uint8_t everyone[6] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff
	};
	uint8_t *f = frame_next(g, op == 1 ? everyone : mac, ETH_ARP);
	uint8_t *p = f + ETH_BYTES;

	memset(p, 0, 46);
	memcpy(p, (uint8_t[]){ 0, 1, 8, 0, 6, 4 }, 6);
	put16(p + 6, op);
	memcpy(p + 8, g->mac, 6);
	memcpy(p + 14, &g->ip, 4);
	if (op == 2)
		memcpy(p + 18, mac, 6);
	memcpy(p + 24, &ip, 4);
	return frame_done(g, 60);
}

static int icmp_send(struct guest *g, uint32_t to, const uint8_t *body,
                     unsigned len)
{
	uint8_t *p = ip_next(g, to, PROTO_ICMP, len);
	uint16_t sum;

	if (!p)
		return -EHOSTUNREACH;
	memcpy(p, body, len);
	put16(p + 2, 0);
	sum = sum_of(p, len);
	memcpy(p + 2, &sum, 2);
	return frame_done(g, ETH_BYTES + IP_BYTES + len);
}

int guest_send_udp(struct guest *g, uint32_t ip, const void *payload,
                   unsigned len)
{
	unsigned bytes = UDP_BYTES + len;
	uint8_t *p = ip_next(g, ip, PROTO_UDP, bytes);
	struct csum c;
	uint16_t sum;

	if (!p)
		return -EHOSTUNREACH;
	put16(p, GUEST_PORT);
	put16(p + 2, GUEST_PORT);
	put16(p + 4, bytes);
	put16(p + 6, 0);
	memcpy(p + UDP_BYTES, payload, len);
	c = pseudo(p - IP_BYTES, PROTO_UDP, bytes);
	if (g->offload) {
		sum = csum_partial(&c);
		g->todo[g->nout].flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		g->todo[g->nout].csum_start = ETH_BYTES + IP_BYTES;
		g->todo[g->nout].csum_offset = 6;
	} else {
		csum_feed(&c, p, bytes);
		sum = csum_final(&c);
	}
	memcpy(p + 6, &sum, 2);
	return frame_done(g, ETH_BYTES + IP_BYTES + bytes);
}

/* --- in ---------------------------------------------------------------- */

static void remember(struct guest *g, uint32_t ip, const uint8_t *mac)
{
	if (mac_of(g, ip) || g->npeers == GUEST_PEERS)
		return;
	g->peer[g->npeers].ip = ip;
	memcpy(g->peer[g->npeers].mac, mac, 6);
	g->npeers++;
}

static int arp_input(struct guest *g, const uint8_t *p, unsigned len)
{
	uint32_t from, to;

	if (len < ARP_BYTES || memcmp(p, "\0\1\10\0\6\4", 6))
		return 0;
	memcpy(&from, p + 14, 4);
	memcpy(&to, p + 24, 4);
	if (to != g->ip)
		return 0;
	remember(g, from, p + 8);
	return get16(p + 6) == 1 ? arp_send(g, 2, p + 8, from) : 0;
}

static int icmp_input(struct guest *g, uint32_t from, const uint8_t *p,
                      unsigned len)
{
	uint8_t reply[GUEST_FRAME];

	if (len < 8 || len > GUEST_FRAME - ETH_BYTES - IP_BYTES)
		return 0;
	if (!sums_up((struct csum){ 0 }, p, len)) {
		g->bad_checksums++;
		return 0;
	}
	if (p[0] == 0 && get16(p + 6) == g->ping_seq)
		g->ping_rtt_ns = now_ns() - g->ping_sent_ns;
	if (p[0] != 8)
		return 0;
	memcpy(reply, p, len);
	reply[0] = 0;
	return icmp_send(g, from, reply, len);
}

static void udp_input(struct guest *g, const uint8_t *ip, const uint8_t *p,
                      unsigned len)
{
	if (len < UDP_BYTES || get16(p + 4) != len ||
	    get16(p + 2) != GUEST_PORT)
		return;
	if (!sums_up(pseudo(ip, PROTO_UDP, len), p, len)) {
		g->bad_checksums++;
		return;
	}
	if (g->input)
		g->input(g->ctx, p + UDP_BYTES, len - UDP_BYTES);
}

static int ip_input(struct guest *g, const uint8_t *mac, const uint8_t *p,
                    unsigned len)
{
	unsigned head, total;
	uint32_t from, to;

	if (len < IP_BYTES)
		return 0;
	head = (p[0] & 15u) * 4;
	total = get16(p + 2);
	memcpy(&from, p + 12, 4);
	memcpy(&to, p + 16, 4);
	if (p[0] >> 4 != 4 || head < IP_BYTES || total < head || total > len ||
	    to != g->ip)
		return 0;
	if (!sums_up((struct csum){ 0 }, p, head)) {
		g->bad_checksums++;
		return 0;
	}
	remember(g, from, mac);
	if (p[9] == PROTO_ICMP)
		return icmp_input(g, from, p + head, total - head);
	if (p[9] == PROTO_UDP)
		udp_input(g, p, p + head, total - head);
	return 0;
}

static int serve(struct guest *g, const struct vd_packet *packet)
{
	const uint8_t *f = packet->iov[0].iov_base;
	unsigned len = packet->len;

	if (packet->niov > 1) {
		uint8_t *to = g->whole;

		if (len > sizeof(g->whole))
			return 0;
		for (unsigned i = 0; i < packet->niov; i++) {
			memcpy(to, packet->iov[i].iov_base,
			       packet->iov[i].iov_len);
			to += packet->iov[i].iov_len;
		}
		f = g->whole;
	}
	if (len < ETH_BYTES)
		return 0;
	if (get16(f + 12) == ETH_ARP)
		return arp_input(g, f + ETH_BYTES, len - ETH_BYTES);
	if (get16(f + 12) == ETH_IP)
		return ip_input(g, f + 6, f + ETH_BYTES, len - ETH_BYTES);
	return 0;
}

int guest_poll(struct guest *g, int timeout_ms)
{
	struct vd_packet p[GUEST_BURST];
	int n, err = 0;

	n = vd_driver_receive(g->d, 0, p, GUEST_BURST);
	if (n == 0 && timeout_ms) {
		n = vd_driver_wait(g->d, 0, VD_WAIT_RECEIVE, timeout_ms);
		if (n > 0)
			n = vd_driver_receive(g->d, 0, p, GUEST_BURST);
	}
	for (int i = 0; i < n && !err; i++)
		err = serve(g, &p[i]);
	vd_driver_release(g->d, 0);
	if (n >= 0 && !err)
		err = guest_flush(g);
	return err ? err : n;
}

/* --- questions --------------------------------------------------------- */

int guest_resolve(struct guest *g, uint32_t ip, int timeout_ms)
{
	uint64_t end = now_ns() + (uint64_t)timeout_ms * 1000000u;
	int err;

	while (!mac_of(g, ip)) {
		if (now_ns() > end)
			return -ETIMEDOUT;
		err = arp_send(g, 1, NULL, ip);
		if (!err)
			err = guest_flush(g);
		if (!err)
			err = guest_poll(g, 100);
		if (err < 0)
			return err;
	}
	return 0;
}

int guest_ping(struct guest *g, uint32_t ip, int timeout_ms)
{
	uint8_t body[8 + PING_BYTES] = { 8 };
	uint64_t end;
	int err;

	put16(body + 4, g->mac[5]);
	put16(body + 6, ++g->ping_seq);
	for (unsigned i = 8; i < sizeof(body); i++)
		body[i] = (uint8_t)i;
	g->ping_rtt_ns = 0;
	g->ping_sent_ns = now_ns();
	end = g->ping_sent_ns + (uint64_t)timeout_ms * 1000000u;
	err = icmp_send(g, ip, body, sizeof(body));
	if (!err)
		err = guest_flush(g);
	while (!err && !g->ping_rtt_ns) {
		int n = guest_poll(g, 100);

		if (n < 0)
			err = n;
		else if (now_ns() > end)
			err = -ETIMEDOUT;
	}
	return err;
}
