/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cycle - come and go: connect, negotiate, traffic, disconnect, many times
 *
 *   cycle [-n CYCLES] PID SOCKET SOCKET
 *   cycle -r CRASHES SOCKET SOCKET
 *
 * Two drivers attach to two ports of the viaductd with that process id, each
 * cycle with other features, exchange packets, and leave: politely, or as a
 * guest that was killed; now and then somebody comes who leaves in the middle
 * of the negotiation. Descriptors and resident memory of the daemon have to be
 * the same at the end as after the first tenth.
 *
 * With -r the drivers stay, and the daemon goes: somebody kills it and starts
 * it again whenever this program prints a line. Traffic has to flow again each
 * time.
 */
#include <viaduct/driver.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/clock.h"
#include "driver/front.h"
#include "wire/net.h"

#define PACKETS    64u
#define WAIT_MS    10000
#define RSS_SLACK  512    /* KiB */
#define SETTLE_US  500000 /* until it has noticed who left */
#define TIMEOUT_NS (20000 * CLOCK_NS_PER_MS)

struct end {
	const char *socket;
	uint8_t last; /* byte of the MAC address */
	struct vd_driver *d;
};

static const uint64_t off[] = {
	0,
	VIRTIO_F_RING_PACKED,
	VIRTIO_NET_F_MRG_RXBUF,
	VIRTIO_F_EVENT_IDX | VIRTIO_F_RING_PACKED,
	VIRTIO_F_INDIRECT_DESC | VIRTIO_F_IN_ORDER,
};

static void fail(unsigned cycle, const char *what)
{
	fprintf(stderr, "cycle %u: %s\n", cycle, what);
	exit(1);
}

static unsigned fds_of(int pid)
{
	char path[64];
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir)
		fail(0, "viaductd is gone");
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static long rss_kib_of(int pid)
{
	char path[64], line[128];
	long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	/* What is shared is the drivers' memory. */
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static void end_open(struct end *e, unsigned cycle)
{
	struct vd_driver_opts o = {
		.size = sizeof(o),
		.socket = e->socket,
		.timeout_ms = 20000,
		.features_off = off[cycle % array_len(off)],
		.pieces = 1 + cycle % 3,
		.regions = 1 + cycle % 8,
		.inflight = cycle % 2,
	};
	int err;

	e->d = vd_driver_open(&o, &err);
	if (!e->d)
		fail(cycle, strerror(-err));
}

static void send_all(struct end *from, const struct end *to, unsigned cycle)
{
	uint8_t frame[200] = { 2, 0, 0, 0, 0,          to->last, 2,
		               0, 0, 0, 0, from->last, 0x88,     0xb5 };
	struct iovec iov = { frame, sizeof(frame) };
	struct vd_packet p = { .iov = &iov, .niov = 1 };

	for (unsigned i = 0; i < PACKETS; i++) {
		frame[20] = (uint8_t)i;
		if (vd_driver_send(from->d, 0, &p, 1) != 1)
			fail(cycle, "a packet was not taken");
	}
}

static void receive_all(struct end *e, unsigned cycle)
{
	unsigned got = 0;

	while (got < PACKETS) {
		struct vd_packet p[32];
		int n;

		if (vd_driver_wait(e->d, 0, VD_WAIT_RECEIVE, WAIT_MS) <= 0)
			fail(cycle, "packets did not arrive");
		n = vd_driver_receive(e->d, 0, p, 32);
		for (int i = 0; i < n; i++) {
			const uint8_t *f = p[i].iov[0].iov_base;

			if (p[i].len != 200 || f[20] != got++)
				fail(cycle, "a packet came wrong");
		}
		vd_driver_release(e->d, 0);
	}
}

/* Somebody who leaves after @messages of the negotiation. */
static void leave_early(const char *socket, unsigned messages)
{
	struct front f;
	uint64_t features;
	int fd = sock_connect(socket, clock_ns() + TIMEOUT_NS);

	if (fd < 0)
		return;
	front_open(&f, fd, 20000, "early");
	if (messages > 0)
		front_tell(&f, VHOST_USER_SET_OWNER);
	if (messages > 1)
		front_get_u64(&f, VHOST_USER_GET_FEATURES, &features);
	if (messages > 2)
		front_set_u64(&f, VHOST_USER_SET_FEATURES, features);
	if (messages > 3)
		front_set_vring_fd(&f, VHOST_USER_SET_VRING_KICK, 1, 0);
	front_close(&f);
}

static void one_cycle(struct end *end, unsigned i)
{
	end_open(&end[0], i);
	end_open(&end[1], i + 1);
	send_all(&end[0], &end[1], i);
	receive_all(&end[1], i);
	send_all(&end[1], &end[0], i);
	receive_all(&end[0], i);
}

/* As when a guest is killed: not a word, the kernel closes its sockets. */
static void one_killed(struct end *end, unsigned i)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		one_cycle(end, i);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		fail(i, "failed in the guest that was to be killed");
}

static void run(struct end *end, unsigned cycles, int pid)
{
	unsigned fds = 0;
	long rss = 0;

	for (unsigned i = 0; i < cycles; i++) {
		if (i == cycles / 10) {
			usleep(SETTLE_US);
			fds = fds_of(pid);
			rss = rss_kib_of(pid);
		}
		if (i % 5 == 0)
			leave_early(end[i & 1].socket, i / 5 % 5);
		if (i % 3 == 0) {
			one_killed(end, i);
			continue;
		}
		one_cycle(end, i);
		vd_driver_close(end[0].d);
		vd_driver_close(end[1].d);
	}
	usleep(SETTLE_US);
	printf("%u cycles: %u descriptors, then %u; %ld KiB, then %ld\n",
	       cycles, fds, fds_of(pid), rss, rss_kib_of(pid));
	if (fds_of(pid) > fds)
		fail(cycles, "descriptors leak");
	if (cycles >= 100 && rss_kib_of(pid) > rss + RSS_SLACK)
		fail(cycles, "memory leaks");
}

/* Send until one arrives: what is sent while the other end is not back yet has
 * nowhere to go. */
static void until_one_arrives(struct end *from, struct end *to)
{
	uint8_t frame[200] = { 2, 0, 0, 0, 0,          to->last, 2,
		               0, 0, 0, 0, from->last, 0x88,     0xb5 };
	struct iovec iov = { frame, sizeof(frame) };
	struct vd_packet p = { .iov = &iov, .niov = 1 }, got;

	for (unsigned i = 0; i < 1000; i++) {
		vd_driver_service(from->d);
		vd_driver_send(from->d, 0, &p, 1);
		if (vd_driver_wait(to->d, 0, VD_WAIT_RECEIVE, 20) > 0 &&
		    vd_driver_receive(to->d, 0, &got, 1) == 1) {
			while (vd_driver_receive(to->d, 0, &got, 1) == 1)
				;
			return;
		}
	}
	fail(0, "no traffic after the daemon came back");
}

static void stay(struct end *end, unsigned crashes)
{
	struct vd_driver_stats s = { .size = sizeof(s) };

	for (unsigned i = 0; i < 2; i++) {
		struct vd_driver_opts o = { .size = sizeof(o),
			                    .socket = end[i].socket,
			                    .timeout_ms = 20000,
			                    .reconnect_ms = 100 };
		int err;

		end[i].d = vd_driver_open(&o, &err);
		if (!end[i].d)
			fail(0, strerror(-err));
	}
	for (unsigned i = 0; i <= crashes; i++) {
		until_one_arrives(&end[0], &end[1]);
		until_one_arrives(&end[1], &end[0]);
		printf("traffic flows, %u crashes\n", i);
		fflush(stdout);
		while (i < crashes && (vd_driver_service(end[0].d) == 1 ||
		                       vd_driver_service(end[1].d) == 1))
			usleep(1000);
	}
	vd_driver_stats(end[0].d, -1, &s);
	if (s.reconnects != crashes)
		fail(0, "came back more often than the daemon went");
	vd_driver_close(end[0].d);
	vd_driver_close(end[1].d);
}

int main(int argc, char **argv)
{
	struct end end[2] = { { .last = 1 }, { .last = 2 } };
	unsigned cycles = 1000, crashes = 0;
	int c;

	while ((c = getopt(argc, argv, "n:r:")) != -1) {
		if (c == 'n')
			cycles = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'r')
			crashes = (unsigned)strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	if (argc - optind != (crashes ? 2 : 3))
		return 2;
	if (crashes) {
		end[0].socket = argv[optind];
		end[1].socket = argv[optind + 1];
		stay(end, crashes);
		return 0;
	}
	end[0].socket = argv[optind + 1];
	end[1].socket = argv[optind + 2];
	run(end, cycles, atoi(argv[optind]));
	return 0;
}
