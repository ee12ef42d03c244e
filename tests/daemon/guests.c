/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guests.c - embedded guests for the tests of viaductd.
 *
 *	guests FRAMES SOCKET...
 *
 * A guest on each socket says hello to all, then sends FRAMES frames to the
 * next one, which looks at every byte; at most a window of them is on its way,
 * so that a busy machine loses none. Prints "GUEST sent N received N", then
 * "ready", and stays until its input ends. Guest n has address
 * 02:00:00:00:00:n, the first is 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <viaduct/driver.h>

#define GUESTS_MAX 16
#define BURST      32
#define WINDOW     96u /* a ring has 256 places, at least half with buffers */
#define FRAME_MIN  60u
#define TYPE       0x88b5u

struct one {
	struct vd_driver *d;
	unsigned long sent, hellos, received;
};

static struct one guest[GUESTS_MAX];
static unsigned nguests;

static uint32_t length_of(unsigned long nr)
{
	return FRAME_MIN + (uint32_t)(nr * 7919 % 1400);
}

static void make(uint8_t *b, unsigned to, unsigned from, unsigned long nr)
{
	memset(b, 0, 12);
	if (to)
		b[0] = 2, b[5] = (uint8_t)to;
	else
		memset(b, 0xff, 6);
	b[6] = 2;
	b[11] = (uint8_t)from;
	b[12] = TYPE >> 8;
	b[13] = TYPE & 0xff;
	for (uint32_t i = 14; i < length_of(nr); i++)
		b[i] = (uint8_t)(nr + i * 3);
}

static unsigned send_some(unsigned i, unsigned to, unsigned long upto)
{
	static uint8_t byte[BURST][2048];
	struct iovec iov[BURST];
	struct vd_packet p[BURST];
	struct one *g = &guest[i];
	unsigned n = 0;
	int took;

	memset(p, 0, sizeof(p));
	for (; n < BURST && g->sent + n < upto; n++) {
		make(byte[n], to, i + 1, g->sent + n);
		iov[n] = (struct iovec){ byte[n], length_of(g->sent + n) };
		p[n].iov = &iov[n];
		p[n].niov = 1;
	}
	took = n ? vd_driver_send(g->d, 0, p, n) : 0;
	if (took < 0) {
		fprintf(stderr, "guest %u: send: %s\n", i + 1, strerror(-took));
		exit(1);
	}
	g->sent += (unsigned)took;
	return (unsigned)took;
}

static void check(unsigned i, const struct vd_packet *p)
{
	static uint8_t want[2048], is[2048];
	unsigned from = (i + nguests - 1) % nguests;
	struct one *g = &guest[i];
	uint32_t n = 0;

	for (unsigned k = 0; k < p->niov && n < sizeof(is); k++) {
		memcpy(is + n, p->iov[k].iov_base, p->iov[k].iov_len);
		n += (uint32_t)p->iov[k].iov_len;
	}
	if (is[0] == 0xff) {
		g->hellos++;
		return;
	}
	make(want, i + 1, from + 1, g->received);
	if (p->len != length_of(g->received) || memcmp(is, want, p->len)) {
		fprintf(stderr,
		        "guest %u: frame %lu is not what was sent: %u bytes, "
		        "to %u from %u, begins %u\n",
		        i + 1, g->received, p->len, is[5], is[11], is[14]);
		exit(1);
	}
	g->received++;
}

static unsigned receive_some(unsigned i)
{
	struct vd_packet p[BURST];
	int n = vd_driver_receive(guest[i].d, 0, p, BURST);

	if (n < 0) {
		fprintf(stderr, "guest %u: receive: %s\n", i + 1, strerror(-n));
		exit(1);
	}
	for (int k = 0; k < n; k++)
		check(i, &p[k]);
	vd_driver_release(guest[i].d, 0);
	return (unsigned)n;
}

/* One turn of everybody; how much happened. */
static unsigned turn(unsigned long frames)
{
	unsigned moved = 0;

	for (unsigned i = 0; i < nguests; i++) {
		unsigned next = (i + 1) % nguests;
		unsigned long upto = guest[next].received + WINDOW;

		if (upto > frames)
			upto = frames;
		moved += send_some(i, next + 1, upto);
		moved += receive_some(i);
	}
	return moved;
}

static unsigned long all_received(void)
{
	unsigned long n = 0;

	for (unsigned i = 0; i < nguests; i++)
		n += guest[i].received;
	return n;
}

static void hello(void)
{
	static const struct timespec pause = { 0, 1000000 };

	for (unsigned i = 0; i < nguests; i++) {
		send_some(i, 0, 1);
		guest[i].sent = 0;
	}
	for (unsigned k = 0; k < 1000; k++) {
		unsigned long n = 0;

		for (unsigned i = 0; i < nguests; i++) {
			receive_some(i);
			n += guest[i].hellos;
		}
		if (n == (unsigned long)nguests * (nguests - 1))
			return;
		nanosleep(&pause, NULL);
	}
	fprintf(stderr, "guests: not everybody heard hello\n");
}

int main(int argc, char **argv)
{
	static const struct timespec pause = { 0, 200000 };
	unsigned long frames = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned idle = 0;
	int err = 0;

	for (int i = 2; i < argc && nguests < GUESTS_MAX; i++) {
		struct vd_driver_opts o = { .size = sizeof(o),
			                    .socket = argv[i] };

		guest[nguests].d = vd_driver_open(&o, &err);
		if (!guest[nguests++].d) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-err));
			return 1;
		}
	}
	hello();
	while (all_received() < frames * nguests && idle < 25000) {
		idle = turn(frames) ? 0 : idle + 1;
		if (idle)
			nanosleep(&pause, NULL);
	}
	for (unsigned i = 0; i < nguests; i++)
		printf("%u sent %lu received %lu\n", i + 1, guest[i].sent,
		       guest[i].received);
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (unsigned i = 0; i < nguests; i++)
		vd_driver_close(guest[i].d);
	return all_received() == frames * nguests ? 0 : 1;
}
