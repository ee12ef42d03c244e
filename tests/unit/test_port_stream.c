/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_port_stream.c - peers that write byte by byte, read slowly, go away,
 * come back and lie about lengths.
 */
#include "port/stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "fakeport.h"

static char dir[] = "/tmp/viaduct-stream-XXXXXX";
static char path[64];
static struct loop *loop;
static struct stream_port_opts opts = { .name = "s" };
static struct port *port;
static struct fake_port got;
static struct made made[32];
static uint8_t byte[80000];
static int peer = -1;

static int group_setup(void **state)
{
	int err = 0;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/sock", dir);
	loop = loop_new(&err);
	return loop ? 0 : -1;
}

static int group_teardown(void **state)
{
	(void)state;
	loop_free(loop);
	unlink(path);
	return rmdir(dir);
}

static void turns(unsigned n)
{
	while (n--)
		loop_turn(loop, 1);
}

static void wait_connected(bool connected)
{
	for (unsigned i = 0; i < 2000; i++) {
		if (stream_port_is_connected(port) == connected)
			return;
		loop_turn(loop, 1);
	}
	fail_msg("still %sconnected", connected ? "not " : "");
}

static void port_new(bool client)
{
	int err = 0;

	opts.client = client;
	port = stream_port_new(loop, &opts, &err);
	if (!port)
		fail_msg("stream_port_new: %s", strerror(-err));
	fake_port_init(&got, "got");
	fake_input_into(port, &got);
}

static void peer_connect(void)
{
	peer = endpoint_connect(&opts.at);
	assert_true(peer >= 0);
	wait_connected(true);
}

/* A port that listens, with a peer. */
static int setup(void **state)
{
	(void)state;
	endpoint_path(&opts.at, path);
	port_new(false);
	peer_connect();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (peer >= 0)
		close(peer);
	peer = -1;
	if (port)
		port->ops->close(port);
	port = NULL;
	return 0;
}

static uint32_t put_frame(uint8_t *b, uint32_t len, uint8_t nr)
{
	uint32_t be = htonl(len);

	memcpy(b, &be, 4);
	for (uint32_t i = 0; i < len; i++)
		b[4 + i] = (uint8_t)(i * 3 + nr);
	return 4 + len;
}

static void check_got(unsigned i, uint32_t len, uint8_t nr)
{
	uint8_t want[FAKE_LEN + 4];

	assert_int_equal(got.got[i].len, len);
	put_frame(want, min_of(len, FAKE_LEN), nr);
	assert_memory_equal(got.got[i].byte, want + 4, min_of(len, FAKE_LEN));
}

static struct frame *frame_of(unsigned slot, uint32_t len, uint8_t nr)
{
	put_frame(byte, len, nr);
	made_init(&made[slot], byte + 4, len);
	return &made[slot].frame;
}

/* Exactly @n bytes from the peer's end, turning the loop meanwhile. */
static void peer_read(uint8_t *to, size_t n)
{
	ssize_t k;

	for (unsigned i = 0; n && i < 100000; i++) {
		k = read(peer, to, n);
		if (k > 0) {
			to += k;
			n -= (size_t)k;
		} else {
			assert_true(k < 0 && errno == EAGAIN);
			loop_turn(loop, 0);
		}
	}
	assert_int_equal(n, 0);
}

static void check_peer(uint32_t len, uint8_t nr)
{
	static uint8_t in[80000], want[80000];
	uint32_t n = put_frame(want, len, nr);

	peer_read(in, n);
	assert_memory_equal(in, want, n);
}

static void byte_by_byte(void **state)
{
	uint32_t n = put_frame(byte, 60, 1);

	(void)state;
	n += put_frame(byte + n, 1, 2);
	n += put_frame(byte + n, 200, 3);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(write(peer, byte + i, 1), 1);
		loop_turn(loop, 1);
	}
	assert_int_equal(got.n, 3);
	check_got(0, 60, 1);
	check_got(1, 1, 2);
	check_got(2, 200, 3);
}

static void many_at_once(void **state)
{
	uint32_t n = 0;

	(void)state;
	for (uint8_t i = 0; i < 100; i++)
		n += put_frame(byte + n, 100 + i, i);
	assert_int_equal(write(peer, byte, n), n);
	turns(10);
	assert_int_equal(got.n, 100);
	for (uint8_t i = 0; i < 100; i++)
		check_got(i, 100u + i, i);
}

static void longest_frames(void **state)
{
	uint32_t n = put_frame(byte, FRAME_LEN_MAX, 9), at = 0;
	struct frame *f;

	(void)state;
	for (unsigned i = 0; i < 1000 && !got.n; i++) {
		ssize_t k = write(peer, byte + at, n - at);

		at += k > 0 ? (uint32_t)k : 0;
		loop_turn(loop, 1);
	}
	assert_int_equal(got.n, 1);
	check_got(0, FRAME_LEN_MAX, 9);
	f = frame_of(0, 65000, 7);
	assert_int_equal(port->ops->send(port, &f, 1, 0), 1);
	port->ops->flush(port);
	check_peer(65000, 7);
}

static void sends_frames(void **state)
{
	struct frame *f[32];

	(void)state;
	for (unsigned i = 0; i < 32; i++)
		f[i] = frame_of(i, 60 + 40 * i, (uint8_t)i);
	assert_int_equal(port->ops->send(port, f, 32, 0), 32);
	port->ops->flush(port);
	for (unsigned i = 0; i < 32; i++)
		check_peer(60 + 40 * i, (uint8_t)i);
	assert_int_equal(port->count.out_frames, 32);
}

/* A peer that does not read: frames gather, then stay with their sender; none
 * is lost, repeated or torn when it reads on. */
static void slow_reader(void **state)
{
	unsigned sent = 0, read = 0;
	struct frame *f;

	(void)state;
	for (;; sent++) {
		f = frame_of(0, 1000 + sent % 500, (uint8_t)sent);
		if (!port->ops->send(port, &f, 1, 0))
			break;
		port->ops->flush(port);
		assert_in_range(sent, 0, 10000);
	}
	assert_in_range(sent, 100, 10000);
	assert_int_equal(port->ops->send(port, &f, 1, SEND_LOSSY), 1);
	assert_int_equal(port->count.drop_full, 1);
	f = frame_of(0, 1000 + sent % 500, (uint8_t)sent);
	while (!port->ops->send(port, &f, 1, 0)) {
		check_peer(1000 + read % 500, (uint8_t)read);
		read++;
		turns(1);
	}
	assert_in_range(read, 1, sent);
	port->ops->flush(port);
	for (; read <= sent; read++)
		check_peer(1000 + read % 500, (uint8_t)read);
	turns(3);
	assert_int_equal(recv(peer, byte, 1, MSG_DONTWAIT), -1);
}

/* TCP/IPv4 with 3,000 bytes, to be cut to 1,000. */
static void finishes_in_software(void **state)
{
	static const uint8_t head[54] =
		"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0"
		"\x45\0\x0b\xe0\0\x01\x40\0\x40\x06\0\0" /* IPv4, 3040 */
		"\x0a\0\0\x01\x0a\0\0\x02"
		"\0\x01\0\x02\0\0\0\0\0\0\0\0\x50\x10\x01"; /* TCP */
	struct frame *f = &made[0].frame;
	uint32_t len;

	(void)state;
	memset(byte, 0x5a, 3054);
	memcpy(byte, head, sizeof(head));
	made_init(&made[0], byte, 3054);
	f->hdr = (struct frame_hdr){ VIRTIO_NET_HDR_F_NEEDS_CSUM,
		                     VIRTIO_NET_HDR_GSO_TCPV4,
		                     54,
		                     1000,
		                     34,
		                     16 };
	assert_int_equal(port->ops->send(port, &f, 1, 0), 1);
	port->ops->flush(port);
	for (unsigned i = 0; i < 3; i++) {
		peer_read((uint8_t *)&len, 4);
		assert_int_equal(ntohl(len), 1054);
		peer_read(byte, 1054);
		assert_int_equal(byte[41], (1000 * i) & 0xff); /* sequence */
		assert_int_equal(byte[40], (1000 * i) >> 8);
		assert_int_equal(byte[1053], 0x5a);
	}
	assert_int_equal(port->count.out_frames, 3);
	f->hdr.csum_start = 5000;
	assert_int_equal(port->ops->send(port, &f, 1, 0), 1);
	assert_int_equal(port->count.drop_offload, 1);
}

static void peers_come_and_go(void **state)
{
	struct frame *f = frame_of(0, 100, 1);

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		/* It goes in the middle of a frame. */
		put_frame(byte, 100, 0);
		assert_int_equal(write(peer, byte, 50), 50);
		turns(2);
		close(peer);
		wait_connected(false);
		assert_int_equal(port->ops->send(port, &f, 1, 0), 1);
		assert_int_equal(port->count.drop_down, i + 1);
		port->ops->flush(port);
		peer_connect();
	}
	put_frame(byte, 100, 5);
	assert_int_equal(write(peer, byte, 104), 104);
	turns(3);
	assert_int_equal(got.n, 1);
	check_got(0, 100, 5);
}

/* A second peer waits for the first to go. */
static void one_at_a_time(void **state)
{
	struct frame *f = frame_of(0, 100, 1);
	int first = peer;

	(void)state;
	peer = endpoint_connect(&opts.at);
	assert_true(peer >= 0);
	turns(5);
	port->ops->send(port, &f, 1, 0);
	port->ops->flush(port);
	assert_int_equal(recv(peer, byte, 1, MSG_DONTWAIT), -1);
	close(first);
	turns(5);
	wait_connected(true);
	port->ops->send(port, &f, 1, 0);
	port->ops->flush(port);
	check_peer(100, 1);
}

static void refuses_impossible_lengths(void **state)
{
	static const uint32_t bad[] = { 0, FRAME_LEN_MAX + 1, 0x7fffffff,
		                        0xffffffff };

	(void)state;
	for (size_t i = 0; i < array_len(bad); i++) {
		uint32_t n = put_frame(byte, 60, 1), be = htonl(bad[i]);

		memcpy(byte + n, &be, 4);
		assert_int_equal(write(peer, byte, n + 4), n + 4);
		wait_connected(false);
		assert_int_equal(got.n, i + 1); /* what was before counts */
		close(peer);
		peer_connect();
	}
}

static void waits_for_room(void **state)
{
	uint32_t n = 0;

	(void)state;
	for (uint8_t i = 0; i < 50; i++)
		n += put_frame(byte + n, 100, i);
	got.room = 7;
	assert_int_equal(write(peer, byte, n), n);
	turns(3);
	assert_int_equal(got.n, 7);
	got.room = UINT_MAX;
	for (unsigned i = 0; i < 100 && got.n < 50; i++)
		turns(1);
	assert_int_equal(got.n, 50);
	for (uint8_t i = 0; i < 50; i++)
		check_got(i, 100, i);
	/* And reads on. */
	put_frame(byte, 100, 77);
	assert_int_equal(write(peer, byte, 104), 104);
	turns(3);
	check_got(50, 100, 77);
}

/* As a client: before there is a server, and after it was gone for a while. */
static void looks_for_its_peer(const struct endpoint *at)
{
	struct frame *f = frame_of(0, 100, 3);
	int server;

	opts.at = *at;
	port_new(true);
	turns(20);
	assert_false(stream_port_is_connected(port));
	for (unsigned i = 0; i < 2; i++) {
		server = endpoint_listen(at, NULL);
		assert_true(server >= 0);
		wait_connected(true);
		peer = endpoint_accept(server);
		assert_true(peer >= 0);
		port->ops->send(port, &f, 1, 0);
		port->ops->flush(port);
		check_peer(100, 3);
		close(server);
		endpoint_remove(at);
		close(peer);
		wait_connected(false);
		turns(20);
	}
	peer = -1;
}

static void client_of_a_path(void **state)
{
	struct endpoint at;

	(void)state;
	endpoint_path(&at, path);
	looks_for_its_peer(&at);
}

static void client_of_an_address(void **state)
{
	struct endpoint at;

	(void)state;
	assert_int_equal(endpoint_loopback(&at, "127.0.0.1:39217"), 0);
	looks_for_its_peer(&at);
}

static void removes_its_file(void **state)
{
	(void)state;
	assert_int_equal(access(path, F_OK), 0);
	port->ops->close(port);
	port = NULL;
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(byte_by_byte),
		T(many_at_once),
		T(longest_frames),
		T(sends_frames),
		T(slow_reader),
		T(finishes_in_software),
		T(peers_come_and_go),
		T(one_at_a_time),
		T(refuses_impossible_lengths),
		T(waits_for_room),
		T(removes_its_file),
#undef T
		cmocka_unit_test_teardown(client_of_a_path, teardown),
		cmocka_unit_test_teardown(client_of_an_address, teardown),
	};

	return cmocka_run_group_tests_name("port_stream", tests, group_setup,
	                                   group_teardown);
}
