/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vhost_replay.c - a conversation that QEMU really had, said again: at
 * once, and byte by byte.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "peer.h"
#include "talk.h"

/* Bytes of a hexadecimal word, "-" for none. */
static size_t unhex(const char *s, uint8_t *to)
{
	size_t n = 0;
	unsigned byte;

	while (sscanf(s + 2 * n, "%2x", &byte) == 1)
		to[n++] = (uint8_t)byte;
	return n;
}

static int file_of(off_t size)
{
	int fd = memfd_create("replay", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, size), 0);
	return fd;
}

static int descriptor(const char *word)
{
	int s[2];

	if (!strcmp(word, "event"))
		return fd_event_new();
	if (!strcmp(word, "memory"))
		return file_of(TALK_MEMORY);
	if (!strcmp(word, "log"))
		return file_of(TALK_LOG);
	if (strcmp(word, "socket"))
		return -1;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	close(s[1]);
	return s[0];
}

static void say(struct peer *p, const char *line, bool in_pieces)
{
	char hex[600], word[16], name[32];
	uint8_t bytes[12 + 300];
	struct vhost_user_hdr h = { 0 };
	size_t n;
	int fd;

	assert_int_equal(sscanf(line, "> %u %u %599s %15s %31s", &h.request,
	                        &h.flags, hex, word, name),
	                 5);
	h.size = (uint32_t)unhex(hex, bytes + sizeof(h));
	memcpy(bytes, &h, sizeof(h));
	n = sizeof(h) + h.size;
	fd = descriptor(word);
	for (size_t i = 0; i < n; i += in_pieces ? 1 : n) {
		peer_put(p, bytes + i, in_pieces ? 1 : n,
		         (struct peer_fds){ &fd, i == 0 && fd >= 0 });
		if (in_pieces)
			peer_turn(p);
	}
	fd_close(&fd);
}

static void hear(struct peer *p, const char *line)
{
	uint8_t want[600];
	struct peer_msg m;
	unsigned request, size;
	char hex[600];

	assert_int_equal(sscanf(line, "< %u %u %599s", &request, &size, hex),
	                 3);
	assert_true(peer_receive(p, &m));
	assert_int_equal(m.hdr.request, request);
	assert_int_equal(m.hdr.size, size);
	if (unhex(hex, want))
		assert_memory_equal(&m.body, want, size);
}

static void replay(bool in_pieces)
{
	struct vhost_info info;
	unsigned running = 0;
	struct peer p;

	peer_open(&p);
	for (unsigned i = 0; i < array_len(talk); i++) {
		if (talk[i][0] == '>')
			say(&p, talk[i], in_pieces);
		else
			hear(&p, talk[i]);
		if (strstr(talk[i], "SET_VRING_KICK")) {
			assert_true(peer_queue(&p, running).started);
			assert_true(peer_queue(&p, running).packed);
			assert_true(peer_queue(&p, running).enabled);
			running++;
		}
	}
	assert_int_equal(running, 2);
	vhost_backend_info(p.b, &info);
	assert_int_equal(info.refused, 0);
	assert_int_equal(info.mem_bytes, TALK_MEMORY);
	assert_true(info.dirty_log);
	assert_int_equal(p.dev.starts, 2);
	assert_int_equal(p.dev.stops, 2);
	assert_true(peer_is_connected(&p));
	peer_close(&p);
}

static void test_at_once(void **state)
{
	unsigned before = peer_open_fds();

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		replay(false);
	assert_int_equal(peer_open_fds(), before);
}

static void test_byte_by_byte(void **state)
{
	(void)state;
	replay(true);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_byte_by_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
