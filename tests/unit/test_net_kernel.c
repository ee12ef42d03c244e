/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_net_kernel.c - our segmentation against the kernel's own, byte for byte.
 *
 * A packet socket gives the kernel a large frame and its header for a tap that
 * offers nothing: the kernel has to cut it and sum it. What comes out of the
 * tap is compared with our pieces. Needs a network namespace; 77 without.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/segment.h"
#include "packets.h"

#define NAME    "vdseg0"
#define HDR     10u
#define WAIT_MS 2000

static int tap_fd, packet_fd;
static struct packet packet;
static struct segmenter segmenter;
static struct frame frame;
static struct seg seg[64];
static uint8_t ours[PACKET_MAX], theirs[PACKET_MAX];

static void give_up(const char *what)
{
	printf("skipped: %s: %s\n", what, strerror(errno));
	exit(77);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		perror(path);
	close(fd);
}

static void open_tap(void)
{
	struct ifreq r = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(r.ifr_name, NAME);
	tap_fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (tap_fd < 0 || ioctl(tap_fd, TUNSETIFF, &r))
		give_up("no tap");
	write_file("/proc/sys/net/ipv6/conf/" NAME "/disable_ipv6", "1");
	r.ifr_mtu = 9500;
	if (ioctl(s, SIOCSIFMTU, &r))
		give_up("mtu");
	r.ifr_flags = IFF_UP;
	if (ioctl(s, SIOCSIFFLAGS, &r))
		give_up("up");
	close(s);
}

static void open_packet(void)
{
	struct sockaddr_ll a = { .sll_family = AF_PACKET,
		                 .sll_ifindex = (int)if_nametoindex(NAME) };
	int one = 1, room = 1 << 20;

	packet_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (packet_fd < 0)
		give_up("no packet socket");
	if (setsockopt(packet_fd, SOL_PACKET, PACKET_VNET_HDR, &one,
	               sizeof(one)))
		give_up("PACKET_VNET_HDR");
	setsockopt(packet_fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (bind(packet_fd, (struct sockaddr *)&a, sizeof(a)))
		give_up("bind");
}

static void give_kernel(void)
{
	static uint8_t bytes[HDR + PACKET_MAX];
	struct virtio_net_hdr h = {
		.flags = packet.hdr.flags,
		.gso_type = packet.hdr.gso_type,
		.hdr_len = le16_make(packet.hdr.hdr_len),
		.gso_size = le16_make(packet.hdr.gso_size),
		.csum_start = le16_make(packet.hdr.csum_start),
		.csum_offset = le16_make(packet.hdr.csum_offset),
	};
	ssize_t n = HDR + packet.len;

	memcpy(bytes, &h, HDR);
	memcpy(bytes + HDR, packet.bytes, packet.len);
	assert_int_equal(send(packet_fd, bytes, (size_t)n, 0), n);
}

/* The next frame of ours out of the tap; 0 when none comes. */
static uint32_t take_kernel(void)
{
	struct pollfd p = { .fd = tap_fd, .events = POLLIN };
	ssize_t n;

	for (;;) {
		n = read(tap_fd, theirs, sizeof(theirs));
		if (n >= 14 && !memcmp(theirs, packet.bytes, 12))
			return (uint32_t)n;
		if (n < 0 && poll(&p, 1, WAIT_MS) <= 0)
			return 0;
	}
}

/* Two ways to write the same sum, and what is random. */
static void level(uint8_t *p, uint32_t len)
{
	static const uint8_t none[2] = { 0, 0 };
	unsigned off = packet.l4 + packet.hdr.csum_offset;
	uint32_t frag = packet.l3 + 40;

	if (packet.hdr.gso_type != VIRTIO_NET_HDR_GSO_UDP) {
		if (!memcmp(p + off, none, 2))
			memset(p + off, 0xff, 2);
	} else if (p[packet.l3] >> 4 == 6 && frag + 8 <= len) {
		memset(p + frag + 4, 0, 4);
	}
}

static void compare(unsigned round)
{
	const struct frame *piece;
	uint32_t n, len;
	int count;

	count = segment_start(&segmenter, &frame, 0);
	assert_true(count > 0);
	give_kernel();
	while ((piece = segment_next(&segmenter))) {
		n = frame_flatten(piece, ours);
		len = take_kernel();
		if (len != n)
			print_error("round %u type %u piece %u of %d\n", round,
			            packet.hdr.gso_type, segmenter.index,
			            count);
		assert_int_equal(len, n);
		level(ours, n);
		level(theirs, n);
		assert_memory_equal(ours, theirs, n);
	}
}

static void run(struct dice *d, uint8_t type, unsigned rounds)
{
	bool ufo = type == VIRTIO_NET_HDR_GSO_UDP;

	for (unsigned i = 0; i < rounds; i++) {
		struct packet_wish w = { .gso_type = type };

		w.v6 = dice_roll(d, 2);
		w.udp = dice_roll(d, 2);
		w.vlan = dice_roll(d, 2);
		w.options = dice_roll(d, 2) && !ufo;
		w.unfinished = !type;
		w.gso_size = (uint16_t)(536 + dice_roll(d, 900));
		if (ufo)
			w.gso_size &= (uint16_t)~7u;
		w.payload = type ? w.gso_size + 100 + dice_roll(d, 20000)
		                 : dice_roll(d, 1300);
		packet_make(&packet, &w, d);
		packet_view(&packet, &frame, seg, 1 + dice_roll(d, 60), d);
		compare(i);
	}
}

static void test_tcp4(void **state)
{
	struct dice d = { 1 };

	(void)state;
	run(&d, VIRTIO_NET_HDR_GSO_TCPV4, 150);
	run(&d, VIRTIO_NET_HDR_GSO_TCPV4 | VIRTIO_NET_HDR_GSO_ECN, 50);
}

static void test_tcp6(void **state)
{
	struct dice d = { 2 };

	(void)state;
	run(&d, VIRTIO_NET_HDR_GSO_TCPV6, 150);
	run(&d, VIRTIO_NET_HDR_GSO_TCPV6 | VIRTIO_NET_HDR_GSO_ECN, 50);
}

static void test_udp(void **state)
{
	struct dice d = { 3 };

	(void)state;
	run(&d, VIRTIO_NET_HDR_GSO_UDP_L4, 200);
}

static void test_fragments(void **state)
{
	struct dice d = { 4 };

	(void)state;
	run(&d, VIRTIO_NET_HDR_GSO_UDP, 200);
}

static void test_sums(void **state)
{
	struct dice d = { 5 };

	(void)state;
	run(&d, VIRTIO_NET_HDR_GSO_NONE, 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp4),      cmocka_unit_test(test_tcp6),
		cmocka_unit_test(test_udp),       cmocka_unit_test(test_sums),
		cmocka_unit_test(test_fragments),
	};

	if (unshare(CLONE_NEWNET))
		give_up("no network namespace");
	open_tap();
	open_packet();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
