/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_port_pcap.c - what was captured is replayed byte for byte; files of
 * other machines are read; damaged ones end without harm.
 */
#include "port/pcap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fakeport.h"
#include "port/pcapfile.h"

static char path[] = "/tmp/viaduct-pcap-XXXXXX";
static struct loop *loop;
static struct made made;
static struct fake_port got;

static int group_setup(void **state)
{
	int err = 0, fd = mkstemp(path);

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	close(fd);
	loop = loop_new(&err);
	return loop ? 0 : err;
}

static int group_teardown(void **state)
{
	(void)state;
	loop_free(loop);
	return unlink(path);
}

static struct frame *frame_of(uint32_t len)
{
	static uint8_t byte[70000];

	for (uint32_t i = 0; i < len; i++)
		byte[i] = (uint8_t)(i * 7 + len);
	made_init(&made, byte, len);
	return &made.frame;
}

static const uint32_t lens[] = { 60,   14,  61, 1514, 65550, 1,
	                         9014, 100, 59, 2000, 42 };

static void capture_all(uint32_t snaplen)
{
	struct pcap_port_opts o = { "cap", path, NULL, snaplen };
	struct frame *f;
	struct port *p;
	int err = 0;

	p = pcap_port_new(loop, &o, &err);
	assert_non_null(p);
	for (size_t i = 0; i < array_len(lens); i++) {
		f = frame_of(lens[i]);
		assert_int_equal(p->ops->send(p, &f, 1, 0), 1);
	}
	p->ops->flush(p);
	assert_int_equal(p->count.out_frames, array_len(lens));
	p->ops->close(p);
}

/* Replays the file into got; returns the port. */
static struct port *replay_start(void)
{
	struct pcap_port_opts o = { "play", NULL, path, 0 };
	struct port *p;
	int err = 0;

	p = pcap_port_new(loop, &o, &err);
	assert_non_null(p);
	fake_port_init(&got, "got");
	fake_input_into(p, &got);
	return p;
}

static void replay_all(void)
{
	struct port *p = replay_start();

	for (unsigned i = 0; !pcap_port_is_done(p); i++) {
		assert_in_range(i, 0, 1000);
		loop_turn(loop, 10);
	}
	p->ops->close(p);
}

static void replays_what_it_captured(void **state)
{
	struct stat st;

	(void)state;
	capture_all(0);
	stat(path, &st);
	assert_int_equal(st.st_mode & 077, 0);
	replay_all();
	assert_int_equal(got.n, array_len(lens));
	for (size_t i = 0; i < array_len(lens); i++) {
		struct frame *f = frame_of(lens[i]);

		assert_int_equal(got.got[i].len, f->len);
		assert_memory_equal(got.got[i].byte, made.byte,
		                    min_of(f->len, FAKE_LEN));
	}
}

static void keeps_only_snaplen(void **state)
{
	(void)state;
	capture_all(64);
	replay_all();
	assert_int_equal(got.n, array_len(lens));
	for (size_t i = 0; i < array_len(lens); i++)
		assert_int_equal(got.got[i].len, min_of(lens[i], 64));
}

/* A full destination is waited for, but not for ever. */
static void waits_for_room(void **state)
{
	struct port *p;

	(void)state;
	capture_all(0);
	p = replay_start();
	got.room = 3;
	loop_turn(loop, 0);
	loop_turn(loop, 5);
	assert_int_equal(got.n, 3);
	assert_false(pcap_port_is_done(p));
	got.room = UINT_MAX;
	for (unsigned i = 0; i < 100 && !pcap_port_is_done(p); i++)
		loop_turn(loop, 5);
	assert_int_equal(got.n, array_len(lens));
	assert_int_equal(got.port.count.drop_full, 0);
	p->ops->close(p);

	p = replay_start();
	got.room = 3;
	for (unsigned i = 0; i < 1000 && !pcap_port_is_done(p); i++)
		loop_turn(loop, 5);
	assert_true(pcap_port_is_done(p));
	assert_int_equal(got.port.count.drop_full, array_len(lens) - 3);
	p->ops->close(p);
}

static void write_file(const void *byte, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(byte, 1, n, f), n);
	fclose(f);
}

static int open_error(const char *name)
{
	struct pcap_port_opts o = { "play", NULL, name, 0 };
	int err = 0;

	assert_null(pcap_port_new(loop, &o, &err));
	return err;
}

/* Big-endian, microseconds, one packet of 3 bytes. */
static const uint8_t big_endian[] = {
	0xa1, 0xb2, 0xc3, 0xd4, 0,    2, 0, 4, 0, 0, 0,   0,   0,   0, 0,
	0,    0,    0,    0xff, 0xff, 0, 0, 0, 1, 0, 0,   0,   9,   0, 0,
	0,    8,    0,    0,    0,    3, 0, 0, 0, 4, 'a', 'b', 'c',
};

static void reads_the_other_byte_order(void **state)
{
	(void)state;
	write_file(big_endian, sizeof(big_endian));
	replay_all();
	assert_int_equal(got.n, 1);
	assert_int_equal(got.got[0].len, 3);
	assert_memory_equal(got.got[0].byte, "abc", 3);
}

static void refuses_other_files(void **state)
{
	static const uint8_t ng[24] = { 0x0a, 0x0d, 0x0d, 0x0a };
	uint8_t wifi[sizeof(big_endian)];

	(void)state;
	assert_int_equal(open_error("/nowhere/at/all"), -ENOENT);
	write_file("hello", 5);
	assert_int_equal(open_error(path), -EBADMSG);
	write_file(ng, sizeof(ng));
	assert_int_equal(open_error(path), -EPROTONOSUPPORT);
	memcpy(wifi, big_endian, sizeof(wifi));
	wifi[23] = 105;
	write_file(wifi, sizeof(wifi));
	assert_int_equal(open_error(path), -EPROTOTYPE);
}

/* Cut anywhere, and with lengths that cannot be. */
static void survives_damage(void **state)
{
	uint8_t bad[sizeof(big_endian)];

	(void)state;
	for (size_t n = 24; n < sizeof(big_endian); n++) {
		write_file(big_endian, n);
		replay_all();
		assert_int_equal(got.n, 0);
	}
	memcpy(bad, big_endian, sizeof(bad));
	bad[32] = 0xff;
	write_file(bad, sizeof(bad));
	replay_all();
	assert_int_equal(got.n, 0);
}

/* A disk is full from the start, or when a reader of the pipe is gone. */
static void full_disk_ends_the_capture(void **state)
{
	struct pcap_port_opts o = { "cap", "/dev/full", NULL, 0 };
	struct frame *f = frame_of(1514);
	struct port *p;
	int err = 0, reader;

	(void)state;
	assert_null(pcap_port_new(loop, &o, &err));
	assert_int_equal(err, -EIO);

	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	o.capture = path;
	assert_null(pcap_port_new(loop, &o, &err)); /* does not wait */
	assert_int_equal(err, -ENXIO);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	p = pcap_port_new(loop, &o, &err);
	assert_non_null(p);
	assert_int_equal(p->ops->send(p, &f, 1, 0), 1);
	p->ops->flush(p);
	assert_int_equal(p->count.out_frames, 1);
	close(reader);
	assert_int_equal(p->ops->send(p, &f, 1, 0), 1);
	p->ops->flush(p);
	assert_int_equal(p->ops->send(p, &f, 1, 0), 1);
	assert_int_equal(p->count.drop_down, 1);
	p->ops->close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replays_what_it_captured),
		cmocka_unit_test(keeps_only_snaplen),
		cmocka_unit_test(waits_for_room),
		cmocka_unit_test(reads_the_other_byte_order),
		cmocka_unit_test(refuses_other_files),
		cmocka_unit_test(survives_damage),
		cmocka_unit_test(full_disk_ends_the_capture),
	};

	return cmocka_run_group_tests_name("port_pcap", tests, group_setup,
	                                   group_teardown);
}
