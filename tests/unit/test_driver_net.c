/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two drivers on two guest ports of one switch: the whole of Viaduct from one
 * end of a ring to the other. Control queue, pairs changed at run time, and
 * offloads between drivers that agreed on different things.
 */
#include <viaduct/driver.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/csum.h"
#include "port/guest.h"
#include "switch/vswitch.h"
#include "vhost/backend.h"

#define PAIRS   4u
#define WAIT_MS 10000
#define ETH     14u
#define IP      20u
#define TCP     20u
#define HEADS   (ETH + IP + TCP)

struct side {
	struct guest *g;
	struct vhost_backend *b;
	struct vd_driver *d;
	char path[64];
};

struct net {
	struct loop *loop;
	struct vswitch *sw;
	struct side side[2];
	pthread_t thread;
};

static void *net_main(void *arg)
{
	loop_run(((struct net *)arg)->loop);
	return NULL;
}

static void net_open(struct net *n)
{
	static const char *names[] = { "a", "b" };
	static unsigned count;
	struct vswitch_port_opts o;
	int err = 0;

	vswitch_port_opts_init(&o);
	n->loop = loop_new(&err);
	n->sw = vswitch_new(VSWITCH_AGE_S, &err);
	assert_true(n->loop && n->sw);
	for (unsigned i = 0; i < 2; i++) {
		struct side *s = &n->side[i];
		struct guest_conf gc = {
			.name = names[i], .net = { .pairs = PAIRS, .mtu = 9000 }
		};
		struct vhost_backend_conf bc = { .tag = names[i],
			                         .path = s->path };

		*s = (struct side){ .d = NULL };
		snprintf(s->path, sizeof(s->path), "/tmp/driver-net-%d-%u.sock",
		         getpid(), count++);
		s->g = guest_new(&gc, n->loop, &err);
		assert_non_null(s->g);
		assert_int_equal(vswitch_attach(n->sw, guest_port(s->g),
		                                n->loop, &o),
		                 0);
		s->b = vhost_backend_new(n->loop, guest_ops(s->g),
		                         guest_device(s->g), &bc, &err);
		assert_non_null(s->b);
	}
	pthread_create(&n->thread, NULL, net_main, n);
}

static void attach(struct net *n, unsigned i, struct vd_driver_opts o)
{
	int err = 0;

	o.size = sizeof(o);
	o.socket = n->side[i].path;
	n->side[i].d = vd_driver_open(&o, &err);
	if (!n->side[i].d)
		fail_msg("side %u: %s", i, strerror(-err));
}

static void net_close(struct net *n)
{
	for (unsigned i = 0; i < 2; i++)
		vd_driver_close(n->side[i].d);
	loop_stop(n->loop);
	pthread_join(n->thread, NULL);
	for (unsigned i = 0; i < 2; i++) {
		struct port *p = guest_port(n->side[i].g);

		vhost_backend_free(n->side[i].b);
		vswitch_detach(n->sw, p);
		vswitch_forget(n->sw, p);
		guest_free(n->side[i].g);
	}
	vswitch_free(n->sw);
	loop_free(n->loop);
}

/* --- control queue ----------------------------------------------------- */

static int command(struct vd_driver *d, uint8_t kind, uint8_t what,
                   const void *data, size_t len)
{
	struct vd_control c = { kind, what, data, len, NULL, 0 };

	return vd_driver_control(d, &c);
}

static void test_commands(void **state)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 7 };
	static const uint8_t on = 1;
	static uint8_t much[8192];
	le16 pairs[] = { le16_make(0), le16_make(PAIRS), le16_make(PAIRS + 1) };
	struct vd_driver *d;
	struct net n;

	(void)state;
	net_open(&n);
	attach(&n, 0,
	       (struct vd_driver_opts){ .control = true,
	                                .queue_pairs = PAIRS });
	d = n.side[0].d;
	assert_int_equal(command(d, VIRTIO_NET_CTRL_RX,
	                         VIRTIO_NET_CTRL_RX_PROMISC, &on, 1),
	                 0);
	assert_int_equal(command(d, VIRTIO_NET_CTRL_RX,
	                         VIRTIO_NET_CTRL_RX_PROMISC, &on, 0),
	                 -EREMOTEIO);
	assert_int_equal(command(d, VIRTIO_NET_CTRL_MAC,
	                         VIRTIO_NET_CTRL_MAC_ADDR_SET, mac, 6),
	                 0);
	assert_int_equal(command(d, 99, 0, NULL, 0), -EREMOTEIO);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(command(d, VIRTIO_NET_CTRL_MQ,
		                         VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET,
		                         &pairs[i], 2),
		                 i == 1 ? 0 : -EREMOTEIO);
	assert_int_equal(command(d, VIRTIO_NET_CTRL_RX, 0, much, 8192),
	                 -EMSGSIZE);
	/* Many in a row: the queue wraps. */
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(command(d, VIRTIO_NET_CTRL_RX,
		                         VIRTIO_NET_CTRL_RX_ALLMULTI, &on, 1),
		                 0);
	net_close(&n);
}

static void test_command_with_an_answer(void **state)
{
	struct {
		le16 vq, reserved;
		le32 max_packets, max_usecs;
	} set = { le16_make(1), le16_make(0), le32_make(16), le32_make(50) };
	struct {
		le32 max_packets, max_usecs;
	} got = { le32_make(0), le32_make(0) };
	struct vd_control get = { VIRTIO_NET_CTRL_NOTF_COAL,
		                  VIRTIO_NET_CTRL_NOTF_COAL_VQ_GET,
		                  &set,
		                  4,
		                  &got,
		                  sizeof(got) };
	struct net n;

	(void)state;
	net_open(&n);
	attach(&n, 0, (struct vd_driver_opts){ .control = true });
	assert_int_equal(command(n.side[0].d, VIRTIO_NET_CTRL_NOTF_COAL,
	                         VIRTIO_NET_CTRL_NOTF_COAL_VQ_SET, &set,
	                         sizeof(set)),
	                 0);
	assert_int_equal(vd_driver_control(n.side[0].d, &get), 0);
	assert_int_equal(le32_get(got.max_packets), 16);
	assert_int_equal(le32_get(got.max_usecs), 50);
	net_close(&n);
}

static void test_no_control_queue(void **state)
{
	struct net n;

	(void)state;
	net_open(&n);
	attach(&n, 0, (struct vd_driver_opts){ 0 });
	assert_int_equal(command(n.side[0].d, VIRTIO_NET_CTRL_RX, 0, "", 1),
	                 -EOPNOTSUPP);
	net_close(&n);
}

/* --- pairs ------------------------------------------------------------- */

static void address(uint8_t *frame, unsigned to, unsigned from)
{
	memcpy(frame, (uint8_t[]){ 2, 0, 0, 0, 1, (uint8_t)to }, 6);
	memcpy(frame + 6, (uint8_t[]){ 2, 0, 0, 0, 1, (uint8_t)from }, 6);
}

static void send_frame(struct vd_driver *d, unsigned pair, uint8_t *frame,
                       unsigned len, struct vd_offload o)
{
	struct iovec iov = { frame, len };
	struct vd_packet p = { .iov = &iov, .niov = 1, .offload = o };

	assert_int_equal(vd_driver_send(d, pair, &p, 1), 1);
}

/* So that the switch knows where each side is. */
static void introduce(struct net *n)
{
	uint8_t frame[60] = { 0 };

	for (unsigned i = 0; i < 2; i++) {
		struct vd_packet p;

		address(frame, 1 - i, i);
		send_frame(n->side[i].d, 0, frame, sizeof(frame),
		           (struct vd_offload){ 0 });
		if (!n->side[1 - i].d)
			continue;
		for (unsigned k = 0; k < 1000; k++) {
			bool got = false;

			for (unsigned q = 0; q < PAIRS && !got; q++)
				got = vd_driver_receive(n->side[1 - i].d, q, &p,
				                        1) > 0;
			if (got)
				break;
			usleep(1000);
		}
	}
}

/* Everything that arrives at @d on its first @pairs pairs: numbers, each once,
 * [from, from + count). */
static void collect(struct vd_driver *d, unsigned pairs, unsigned count)
{
	bool seen[512] = { false };
	unsigned got = 0;

	for (unsigned tries = 0; got < count && tries < 5000; tries++) {
		for (unsigned q = 0; q < PAIRS; q++) {
			struct vd_packet p[32];
			int n = vd_driver_receive(d, q, p, 32);

			assert_true(n >= 0);
			assert_true(n == 0 || q < pairs);
			for (int i = 0; i < n; i++) {
				const uint8_t *f = p[i].iov[0].iov_base;
				unsigned number = f[20] | f[21] << 8;

				assert_true(number < count && !seen[number]);
				seen[number] = true;
				got++;
			}
			vd_driver_release(d, q);
		}
		usleep(1000);
	}
	assert_int_equal(got, count);
}

static void send_numbers(struct vd_driver *d, unsigned pairs, unsigned count)
{
	uint8_t frame[100] = { 0 };

	address(frame, 1, 0);
	for (unsigned i = 0; i < count; i++) {
		frame[20] = (uint8_t)i;
		frame[21] = (uint8_t)(i >> 8);
		frame[30] = (uint8_t)(i * 7); /* flows differ */
		send_frame(d, i % pairs, frame, sizeof(frame),
		           (struct vd_offload){ 0 });
	}
}

static void test_pairs_change_at_run_time(void **state)
{
	(void)state;
	for (unsigned control = 0; control < 2; control++) {
		struct vd_driver_opts o = { .queue_pairs = PAIRS,
			                    .control = control };
		struct net n;

		net_open(&n);
		attach(&n, 0, o);
		attach(&n, 1, o);
		introduce(&n);
		for (unsigned round = 0; round < 6; round++) {
			unsigned to = 1 + round % PAIRS;
			unsigned from = 1 + (round + 2) % PAIRS;

			assert_int_equal(vd_driver_set_pairs(n.side[1].d, to),
			                 0);
			assert_int_equal(vd_driver_set_pairs(n.side[0].d, from),
			                 0);
			send_numbers(n.side[0].d, from, 100);
			collect(n.side[1].d, to, 100);
		}
		net_close(&n);
	}
}

/* --- offloads ---------------------------------------------------------- */

static void put16(uint8_t *p, unsigned x)
{
	p[0] = (uint8_t)(x >> 8);
	p[1] = (uint8_t)x;
}

static struct csum pseudo(const uint8_t *ip, unsigned len)
{
	struct csum c = { 0 };

	csum_feed(&c, ip + 12, 8);
	csum_feed_number(&c, 6);
	csum_feed_number(&c, (uint16_t)len);
	return c;
}

/* TCP with @len bytes that count up from 0, its checksum left to the device. */
static unsigned make_tcp(uint8_t *f, unsigned len)
{
	uint8_t *ip = f + ETH, *tcp = ip + IP;
	struct csum c = { 0 };
	uint16_t sum;

	memset(f, 0, HEADS);
	address(f, 1, 0);
	put16(f + 12, 0x0800);
	ip[0] = 0x45;
	put16(ip + 2, IP + TCP + len);
	ip[8] = 64;
	ip[9] = 6;
	ip[12] = 10;
	ip[16] = 10;
	ip[19] = 1;
	csum_feed(&c, ip, IP);
	sum = csum_final(&c);
	memcpy(ip + 10, &sum, 2);
	put16(tcp, 1000);
	put16(tcp + 2, 2000);
	tcp[12] = 0x50;
	tcp[13] = 0x10;
	for (unsigned i = 0; i < len; i++)
		f[HEADS + i] = (uint8_t)(i * 31 >> 3);
	c = pseudo(ip, TCP + len);
	sum = csum_partial(&c);
	memcpy(tcp + 16, &sum, 2);
	return HEADS + len;
}

/* One received packet: right lengths, right sums or the honest word that they
 * are not done; the payload from @at on. Return: its bytes. */
static unsigned check_tcp(const uint8_t *f, unsigned len,
                          const struct vd_offload *o, unsigned at)
{
	const uint8_t *ip = f + ETH, *tcp = ip + IP;
	unsigned payload = len - HEADS;
	struct csum c = { 0 };

	assert_true(len > HEADS);
	csum_feed(&c, ip, IP);
	assert_int_equal(csum_partial(&c), 0xffff);
	assert_int_equal((unsigned)ip[2] << 8 | ip[3], len - ETH);
	c = pseudo(ip, TCP + payload);
	if (o->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
		uint16_t sum = csum_partial(&c);

		assert_memory_equal(tcp + 16, &sum, 2);
	} else {
		csum_feed(&c, tcp, TCP + payload);
		assert_int_equal(csum_partial(&c), 0xffff);
	}
	for (unsigned i = 0; i < payload; i++)
		assert_int_equal(f[HEADS + i], (uint8_t)((at + i) * 31 >> 3));
	return payload;
}

static const struct offload_case {
	const char *name;
	uint64_t receiver; /* GUEST_* bits it agreed to */
	bool mergeable;
	unsigned len, gso_size;
	unsigned packets; /* that must arrive */
} offload_cases[] = {
	{ "checksum in software", 0, true, 1000, 0, 1 },
	{ "checksum passed on", VIRTIO_NET_F_GUEST_CSUM, true, 1000, 0, 1 },
	{ "cut in software", 0, true, 20000, 1448, 14 },
	{ "cut in software, one buffer a packet", 0, false, 20000, 1448, 14 },
	{ "cut, checksum passed on", VIRTIO_NET_F_GUEST_CSUM, true, 20000, 1448,
	  14 },
	{ "passed on whole", VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_GUEST_TSO4,
	  true, 20000, 1448, 1 },
	{ "passed on whole, in one buffer",
	  VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_GUEST_TSO4, false, 60000, 1448,
	  1 },
};

static void run_offload(const struct offload_case *oc)
{
	static uint8_t frame[70000], got[70000];
	struct vd_offload o = { .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		                .gso_type = oc->gso_size
		                                    ? VIRTIO_NET_HDR_GSO_TCPV4
		                                    : 0,
		                .hdr_len = HEADS,
		                .gso_size = (uint16_t)oc->gso_size,
		                .csum_start = ETH + IP,
		                .csum_offset = 16 };
	struct vd_driver_opts to = {
		.features_off = oc->mergeable ? 0 : VIRTIO_NET_F_MRG_RXBUF,
	};
	unsigned at = 0, packets = 0;
	struct net n;

	/* What the default is, and GUEST_* bits. */
	to.features = UINT64_MAX;
	to.features_off |= (VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_GUEST_TSO4 |
	                    VIRTIO_NET_F_GUEST_TSO6 | VIRTIO_NET_F_GUEST_UFO |
	                    VIRTIO_NET_F_GUEST_USO4 | VIRTIO_NET_F_GUEST_USO6 |
	                    VIRTIO_NET_F_GUEST_ECN) &
	                   ~oc->receiver;
	net_open(&n);
	attach(&n, 0, (struct vd_driver_opts){ 0 });
	attach(&n, 1, to);
	send_frame(n.side[0].d, 0, frame, make_tcp(frame, oc->len), o);
	while (at < oc->len) {
		struct vd_packet p;
		unsigned len = 0;

		if (vd_driver_wait(n.side[1].d, 0, VD_WAIT_RECEIVE, WAIT_MS) <=
		    0)
			fail_msg("%s: only %u of %u bytes came", oc->name, at,
			         oc->len);
		if (vd_driver_receive(n.side[1].d, 0, &p, 1) != 1)
			continue;
		for (unsigned i = 0; i < p.niov; i++) {
			memcpy(got + len, p.iov[i].iov_base, p.iov[i].iov_len);
			len += (unsigned)p.iov[i].iov_len;
		}
		at += check_tcp(got, len, &p.offload, at);
		packets++;
	}
	assert_int_equal(packets, oc->packets);
	net_close(&n);
}

static void test_offloads(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_len(offload_cases); i++) {
		print_message("           %s\n", offload_cases[i].name);
		run_offload(&offload_cases[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_command_with_an_answer),
		cmocka_unit_test(test_no_control_queue),
		cmocka_unit_test(test_pairs_change_at_run_time),
		cmocka_unit_test(test_offloads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
