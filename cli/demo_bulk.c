/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_bulk.c - windowed, numbered, hashed.
 */
#include "demo_bulk.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAGIC     0x76646275u
#define STALL_S   8.0
#define HASH_SEED UINT64_C(0xcbf29ce484222325)

enum kind { DATA, ACK, END, END_ACK };

struct head {
	uint32_t magic;
	uint32_t kind;
	uint64_t number; /* DATA: of this; ACK, END: how many */
	uint64_t hash;   /* END: of all */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int fail(struct bulk *b, const char *fmt, ...)
{
	va_list ap;

	if (b->failure[0])
		return -1;
	va_start(ap, fmt);
	vsnprintf(b->failure, sizeof(b->failure), fmt, ap);
	va_end(ap);
	return -1;
}

static uint64_t hash_of(uint64_t h, const uint8_t *p, size_t len)
{
	while (len) {
		size_t n = min_of(len, sizeof(uint64_t));
		uint64_t x = 0;

		memcpy(&x, p, n);
		h = (h ^ x) * UINT64_C(0x9fb21c651e98df25);
		h ^= h >> 32;
		p += n;
		len -= n;
	}
	return h;
}

void bulk_init(struct bulk *b, const struct bulk_way *way, uint64_t seed)
{
	const char *here = b->here, *there = b->there;

	*b = (struct bulk){ .here = here,
		            .there = there,
		            .way = *way,
		            .random = seed | 1,
		            .sent_hash = HASH_SEED,
		            .received_hash = HASH_SEED };
}

/* --- in ---------------------------------------------------------------- */

static void data_input(struct bulk *b, const struct head *h, const uint8_t *p,
                       size_t len)
{
	if (h->number != b->received) {
		fail(b, "%s got datagram %llu of %s when %llu was due", b->here,
		     (unsigned long long)h->number, b->there,
		     (unsigned long long)b->received);
		return;
	}
	b->received_hash = hash_of(b->received_hash, p, len);
	b->received++;
	b->bytes_received += len;
}

static void end_input(struct bulk *b, const struct head *h)
{
	if (h->number != b->received)
		fail(b, "%s got %llu of the %llu datagrams of %s", b->here,
		     (unsigned long long)b->received,
		     (unsigned long long)h->number, b->there);
	else if (h->hash != b->received_hash)
		fail(b,
		     "the data of %s came out wrong at %s: its checksum "
		     "differs",
		     b->there, b->here);
	b->end_received = true;
}

void bulk_input(struct bulk *b, const uint8_t *p, unsigned len)
{
	struct head h;

	if (len < sizeof(h))
		return;
	memcpy(&h, p, sizeof(h));
	if (h.magic != MAGIC)
		return;
	switch (h.kind) {
	case DATA:
		data_input(b, &h, p + sizeof(h), len - sizeof(h));
		break;
	case ACK:
		if (h.number <= b->sent)
			b->acked = max_of(b->acked, h.number);
		break;
	case END:
		end_input(b, &h);
		break;
	case END_ACK:
		b->end_acked = true;
		break;
	default:
		break;
	}
}

/* --- out --------------------------------------------------------------- */

static int send_data(struct bulk *b)
{
	uint8_t p[BULK_PAYLOAD];
	struct head h = { MAGIC, DATA, b->sent, 0 };
	size_t len = b->way.payload;
	int err;

	memcpy(p, &h, sizeof(h));
	for (size_t i = sizeof(h); i < len; i += sizeof(b->random)) {
		b->random ^= b->random << 13;
		b->random ^= b->random >> 7;
		b->random ^= b->random << 17;
		memcpy(p + i, &b->random, min_of(sizeof(b->random), len - i));
	}
	err = b->way.send(b->way.ctx, p, b->way.payload);
	if (err < 0)
		return fail(b, "%s cannot send: %s", b->here, strerror(-err));
	len -= sizeof(h);
	b->sent_hash = hash_of(b->sent_hash, p + sizeof(h), len);
	b->sent++;
	b->bytes_sent += len;
	return 0;
}

static int send_word(struct bulk *b, enum kind kind, uint64_t number,
                     uint64_t hash)
{
	struct head h = { MAGIC, kind, number, hash };
	int err = b->way.send(b->way.ctx, &h, sizeof(h));

	if (err < 0)
		return fail(b, "%s cannot send: %s", b->here, strerror(-err));
	return 0;
}

/* What there is to say besides data. */
static int send_words(struct bulk *b, bool over)
{
	if (b->told != b->received) {
		b->told = b->received;
		if (send_word(b, ACK, b->received, 0))
			return -1;
	}
	if (over && !b->end_sent && b->acked == b->sent) {
		b->end_sent = true;
		return send_word(b, END, b->sent, b->sent_hash);
	}
	return 0;
}

static uint64_t progress_of(const struct bulk *b)
{
	return b->sent + b->acked + b->received + b->end_acked +
	       b->end_received;
}

/* One turn: send what the window allows, then serve what came. */
static int turn(struct bulk *b, bool over)
{
	bool full;
	int err;

	for (unsigned i = 0; i < 32; i++) {
		if (over || b->sent - b->acked >= b->way.window)
			break;
		if (send_data(b))
			return -1;
	}
	full = over || b->sent - b->acked >= b->way.window;
	if (send_words(b, over))
		return -1;
	err = b->way.flush(b->way.ctx);
	if (err >= 0)
		err = b->way.poll(b->way.ctx, full ? 100 : 0);
	if (err < 0)
		return fail(b, "%s cannot go on: %s", b->here, strerror(-err));
	return b->failure[0] ? -1 : 0;
}

int bulk_run(struct bulk *b, double seconds)
{
	double start = now(), last = start;
	uint64_t progress = 0;
	bool answered = false;

	while (!b->end_acked || !answered) {
		if (turn(b, now() - start >= seconds))
			return -1;
		if (b->end_received && !answered) {
			answered = true;
			if (send_word(b, END_ACK, 0, 0) ||
			    b->way.flush(b->way.ctx) < 0)
				return -1;
		}
		if (progress_of(b) != progress) {
			progress = progress_of(b);
			last = now();
		} else if (now() - last > STALL_S) {
			return fail(b,
			            "%s heard nothing from %s for %.0f s; %llu "
			            "datagrams were sent, %llu acknowledged",
			            b->here, b->there, STALL_S,
			            (unsigned long long)b->sent,
			            (unsigned long long)b->acked);
		}
	}
	b->seconds = now() - start;
	return 0;
}
