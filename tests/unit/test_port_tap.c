/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_port_tap.c - a tap in a network namespace of its own, and a packet
 * socket on the kernel's side of it.
 */
#include "port/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "fakeport.h"
#include "port/tapfd.h"

#define TYPE    0x88b5u /* for experiments */
#define HDR_LEN sizeof(struct virtio_net_hdr)
#define BIG     (14u + 40u + 9u * 1000u)

static struct loop *loop;
static struct port *tap;
static struct fake_port got;
static struct made made[64];
static int host;
static uint8_t byte[HDR_LEN + 70000];

/* The kernel's side: sees whole frames with their headers, sends them. */
static void host_open(void)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(0x0003),
		.sll_ifindex = (int)if_nametoindex(tap_port_ifname(tap)),
	};
	int on = 1;

	host = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
	assert_true(host >= 0);
	assert_int_equal(setsockopt(host, SOL_PACKET, PACKET_VNET_HDR, &on,
	                            sizeof(on)),
	                 0);
	assert_int_equal(bind(host, (struct sockaddr *)&at, sizeof(at)), 0);
}

static void tap_new(bool plain)
{
	struct tap_port_opts o = { "up", "vdtest0", -1, 4000, plain };
	int err = 0;

	tap = tap_port_new(loop, &o, &err);
	if (!tap)
		fail_msg("tap_port_new: %s", strerror(-err));
	fake_port_init(&got, "got");
	fake_input_into(tap, &got);
	host_open();
}

static void tap_end(void)
{
	close(host);
	tap->ops->close(tap);
	tap = NULL;
}

/* An Ethernet frame of the test's type, with a number in it. */
static void fill(uint8_t *b, uint32_t len, uint8_t nr)
{
	memset(b, 0xff, 6);
	memcpy(b + 6, "\x02\x00\x00\x00\x00\x01", 6);
	b[12] = TYPE >> 8;
	b[13] = TYPE & 0xff;
	for (uint32_t i = 14; i < len; i++)
		b[i] = (uint8_t)(i * 3 + nr);
}

/* TCP over IPv4 that is to be cut to 1000 bytes each. */
static struct frame_hdr fill_tso(uint8_t *b)
{
	static const uint8_t head[54] = { 0xff,
		                          0xff,
		                          0xff,
		                          0xff,
		                          0xff,
		                          0xff,
		                          2,
		                          0,
		                          0,
		                          0,
		                          0,
		                          1,
		                          8,
		                          0,
		                          /* IPv4 */ 0x45,
		                          0,
		                          (BIG - 14) >> 8,
		                          (BIG - 14) & 0xff,
		                          0,
		                          1,
		                          0x40,
		                          0,
		                          64,
		                          6,
		                          0,
		                          0,
		                          10,
		                          0,
		                          0,
		                          1,
		                          10,
		                          0,
		                          0,
		                          2,
		                          /* TCP */ 0,
		                          1,
		                          0,
		                          2,
		                          0,
		                          0,
		                          0,
		                          0,
		                          0,
		                          0,
		                          0,
		                          0,
		                          0x50,
		                          0x10,
		                          1,
		                          0,
		                          0,
		                          0,
		                          0,
		                          0 };

	memcpy(b, head, sizeof(head));
	for (uint32_t i = sizeof(head); i < BIG; i++)
		b[i] = (uint8_t)(i * 5);
	return (struct frame_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.hdr_len = sizeof(head),
		.gso_size = 1000,
		.csum_start = 34,
		.csum_offset = 16,
	};
}

/* The next frame of ours on the kernel's side; its bytes with 10 of header. */
static int host_read(uint8_t *to, size_t room)
{
	struct pollfd p = { host, POLLIN, 0 };
	struct sockaddr_ll from;
	socklen_t n = sizeof(from);
	ssize_t len;

	while (poll(&p, 1, 1000) == 1) {
		len = recvfrom(host, to, room, 0, (struct sockaddr *)&from, &n);
		if (len > 24 && from.sll_pkttype != PACKET_OUTGOING &&
		    (to[22] == TYPE >> 8 || (to[22] == 8 && to[23] == 0)))
			return (int)len;
	}
	return -1;
}

static unsigned send_n(unsigned n, uint32_t len)
{
	struct frame *f[64];

	for (unsigned i = 0; i < n; i++) {
		fill(byte, len, (uint8_t)i);
		made_init(&made[i], byte, len);
		f[i] = &made[i].frame;
	}
	return tap->ops->send(tap, f, n, 0);
}

static void guest_to_host(bool plain)
{
	uint8_t want[2000];

	tap_new(plain);
	assert_int_equal(send_n(50, 200), 50);
	tap->ops->flush(tap);
	for (unsigned i = 0; i < 50; i++) {
		fill(want, 200, (uint8_t)i);
		assert_int_equal(host_read(byte, sizeof(byte)), 10 + 200);
		assert_memory_equal(byte + 10, want, 200);
	}
	assert_int_equal(tap->count.out_frames, 50);
	assert_int_equal(tap->count.out_bytes, 50 * 200);
	tap_end();
}

static void host_to_guest(bool plain)
{
	uint8_t want[300];

	tap_new(plain);
	for (unsigned i = 0; i < 50; i++) {
		memset(byte, 0, 10);
		fill(byte + 10, 300, (uint8_t)i);
		assert_int_equal(write(host, byte, 310), 310);
	}
	for (unsigned i = 0; i < 100 && got.n < 50; i++)
		loop_turn(loop, 10);
	assert_int_equal(got.n, 50);
	for (unsigned i = 0; i < 50; i++) {
		fill(want, 300, (uint8_t)i);
		assert_int_equal(got.got[i].len, 300);
		assert_memory_equal(got.got[i].byte, want, 300);
	}
	tap_end();
}

static void offloads_out(bool plain)
{
	struct frame *f = &made[0].frame;
	struct virtio_net_hdr h;

	tap_new(plain);
	f->hdr = fill_tso(byte);
	made_init(&made[0], byte, BIG);
	f->hdr = fill_tso(byte);
	assert_int_equal(tap->ops->send(tap, &f, 1, 0), 1);
	assert_int_equal(host_read(byte, sizeof(byte)), 10 + BIG);
	memcpy(&h, byte, 10);
	assert_int_equal(h.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
	assert_int_equal(h.gso_type, VIRTIO_NET_HDR_GSO_TCPV4);
	assert_int_equal(le16_get(h.gso_size), 1000);
	assert_memory_equal(byte + 10 + 54, made[0].byte + 54, BIG - 54);
	tap_end();
}

static void offloads_in(bool plain)
{
	struct frame_hdr want = fill_tso(byte + 10);
	struct virtio_net_hdr h = {
		.flags = want.flags,
		.gso_type = want.gso_type,
		.hdr_len = le16_make(want.hdr_len),
		.gso_size = le16_make(want.gso_size),
		.csum_start = le16_make(want.csum_start),
		.csum_offset = le16_make(want.csum_offset),
	};

	tap_new(plain);
	memcpy(byte, &h, 10);
	assert_int_equal(write(host, byte, 10 + BIG), 10 + BIG);
	for (unsigned i = 0; i < 100 && !got.n; i++)
		loop_turn(loop, 10);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.got[0].len, BIG);
	assert_memory_equal(got.got[0].byte, byte + 10, FAKE_LEN);
	assert_int_equal(got.got[0].hdr.flags & 1, 1);
	assert_int_equal(got.got[0].hdr.gso_type, want.gso_type);
	assert_int_equal(got.got[0].hdr.gso_size, 1000);
	assert_int_equal(got.got[0].hdr.csum_start, 34);
	tap_end();
}

static void all_ways(void **state)
{
	(void)state;
	for (int plain = 0; plain < 2; plain++) {
		guest_to_host(plain);
		host_to_guest(plain);
		offloads_out(plain);
		offloads_in(plain);
	}
}

/* What a full destination leaves waits, in order, and nothing is read. */
static void waits_for_room(void **state)
{
	(void)state;
	tap_new(false);
	got.room = 5;
	for (unsigned i = 0; i < 20; i++) {
		memset(byte, 0, 10);
		fill(byte + 10, 100, (uint8_t)i);
		assert_int_equal(write(host, byte, 110), 110);
	}
	for (unsigned i = 0; i < 5; i++)
		loop_turn(loop, 1);
	assert_int_equal(got.n, 5);
	got.room = UINT_MAX;
	for (unsigned i = 0; i < 100 && got.n < 20; i++)
		loop_turn(loop, 10);
	assert_int_equal(got.n, 20);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(got.got[i].byte[14], (uint8_t)(42 + i));
	assert_int_equal(got.port.count.drop_full, 0);
	tap_end();
}

static void down_is_down(void **state)
{
	struct ifreq r = { .ifr_flags = 0 };

	(void)state;
	tap_new(false);
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", tap_port_ifname(tap));
	assert_int_equal(ioctl(host, SIOCSIFFLAGS, &r), 0);
	assert_int_equal(send_n(3, 100), 3);
	assert_int_equal(tap->count.drop_down, 3);
	assert_int_equal(tap->count.out_frames, 0);
	tap_end();
}

static void nonsense_is_counted(void **state)
{
	struct frame *f = &made[0].frame;

	(void)state;
	tap_new(false);
	fill(byte, 100, 0);
	made_init(&made[0], byte, 100);
	f->hdr = (struct frame_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.csum_start = 99,
		.csum_offset = 16,
	};
	assert_int_equal(tap->ops->send(tap, &f, 1, 0), 1);
	assert_int_equal(tap->count.drop_bad, 1);
	tap_end();
}

/* Given open, with its name found out; refused when it is no tap. */
static void by_descriptor(void **state)
{
	struct tap_port_opts o = { "up", NULL, -1, 0, false };
	int err = 0;

	(void)state;
	o.fd = tapfd_open("vdtest7");
	assert_true(o.fd >= 0);
	tap = tap_port_new(loop, &o, &err);
	assert_non_null(tap);
	assert_string_equal(tap_port_ifname(tap), "vdtest7");
	tap->ops->close(tap);

	o.fd = open("/dev/null", O_RDWR);
	assert_null(tap_port_new(loop, &o, &err));
	assert_int_equal(err, -EPROTOTYPE);
	assert_int_equal(close(o.fd), 0);
	o.ifname = "much-too-long-a-name";
	assert_null(tap_port_new(loop, &o, &err));
	assert_int_equal(err, -ENAMETOOLONG);
}

static bool namespace_enter(void)
{
	static const char quiet[] =
		"/proc/sys/net/ipv6/conf/default/disable_ipv6";
	int fd;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	fd = open(quiet, O_WRONLY);
	if (fd >= 0) {
		if (write(fd, "1", 1) != 1)
			perror(quiet);
		close(fd);
	}
	fd = tapfd_open("vdprobe");
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_ways),
		cmocka_unit_test(waits_for_room),
		cmocka_unit_test(down_is_down),
		cmocka_unit_test(nonsense_is_counted),
		cmocka_unit_test(by_descriptor),
	};
	int err = 0, failed;

	if (!namespace_enter()) {
		printf("no tap in a network namespace: not permitted here\n");
		return 77;
	}
	loop = loop_new(&err);
	failed = cmocka_run_group_tests_name("port_tap", tests, NULL, NULL);
	loop_free(loop);
	return failed;
}
