/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_one.c - one thread plays both ends at random, beside the model: order,
 * tokens, lengths, every byte, positions, each decision about a notification,
 * and the dirty log, over two mappings of the memory.
 *
 * [spec: split.framing.no-assumption] [spec: split.desc.readable-untouched]
 * [spec: split.used-notify.event-sends] [spec: split.used-notify.flags-ignored]
 * [spec: split.used-notify.flags-zero-sends]
 * [spec: split.avail-notify.event-sends]
 * [spec: split.avail-notify.flags-zero-sends] [spec: packed.event.flags]
 * [spec: queue.notify-data.position] [spec: packed.notify-data.position]
 * [spec: queue.in-order.same-order] [spec: packed.next.one-used]
 * [spec: packed.order.used-as-completed] [spec: packed.desc.readable-untouched]
 * [spec: packed.wrap.start-one] [spec: packed.size] [spec: split.size]
 * [spec: packed.list.same-order] [spec: split.used.data-before-idx]
 */
#include "model.h"

#include <string.h>

struct one {
	struct arena arena;
	uint8_t *at_front, *at_back;
	struct front f;
	struct back d;
	struct model m;
	struct rng rng;
	bool packed, event_idx;
};

static void one_open(struct one *o, const struct row *w)
{
	arena_open(&o->arena, w);
	o->at_front = arena_map(&o->arena);
	o->at_back = arena_map(&o->arena);
	front_open(&o->f, &o->arena, o->at_front);
	back_open(&o->d, &o->arena, o->at_back);
	model_open(&o->m, w);
	o->rng.s = w->seed;
	o->packed = w->features & VIRTIO_F_RING_PACKED;
	o->event_idx = w->features & VIRTIO_F_EVENT_IDX;
}

static void one_close(struct one *o)
{
	front_close(&o->f);
	back_close(&o->d);
	model_close(&o->m);
	arena_unmap(&o->arena, o->at_front);
	arena_unmap(&o->arena, o->at_back);
	arena_close(&o->arena);
}

/* --- the driver's turn --------------------------------------------------- */

static void add(struct one *o, uint32_t n)
{
	while (n-- && o->f.next < o->m.row->buffers) {
		const struct record *rec = front_add(&o->f);

		if (!rec)
			return;
		o->m.avail.filled += rec->slots;
		o->m.place[o->m.nadded++] = rec - o->f.rec;
	}
}

static void show(struct one *o)
{
	drv_publish(&o->f.drv);
	o->m.avail.shown = o->m.avail.filled;
}

static void reap(struct one *o, unsigned max)
{
	struct model *m = &o->m;
	unsigned n = front_reap(&o->f, max);

	/* All of them, up to the burst's length, in the order of the gives. */
	CHECK(m->row,
	      n == min_of(min_of(max, REAP_MAX), m->nshown - m->nreaped));
	for (unsigned i = 0; i < n; i++) {
		uint64_t token = o->f.done[i].token;

		CHECK(m->row, front_number(token) == m->order[m->nreaped++]);
		m->reaped += front_record(&o->f, token)->slots;
	}
	CHECK(m->row, drv_has_used(&o->f.drv) == (m->nshown > m->nreaped));
}

static void wish_calls(struct one *o)
{
	struct model *m = &o->m;
	uint32_t after = 1 + rng_below(&o->rng, 8);
	bool more;

	if (rng_one_in(&o->rng, 3)) {
		drv_call_disable(&o->f.drv);
		if (o->packed || !o->event_idx)
			m->used.wish = WISH_NEVER;
		return;
	}
	more = drv_call_enable(&o->f.drv, after);
	CHECK(m->row, more == (m->nshown > m->nreaped));
	m->used.wish = o->event_idx ? WISH_EVENT : WISH_ALWAYS;
	after = min_of(after, m->nadded - m->nreaped);
	m->used.event = m->reaped + (after ? after - 1 : 0);
}

static void driver_turn(struct one *o)
{
	struct model *m = &o->m;
	uint32_t most = rng_one_in(&o->rng, 8) ? m->row->size : 8;

	add(o, rng_below(&o->rng, most + 1));
	if (!rng_one_in(&o->rng, 4))
		show(o);
	if (rng_one_in(&o->rng, 4)) /* not shown yet, and changes nothing */
		add(o, 2);
	CHECK(m->row,
	      drv_kick_data(&o->f.drv) == model_position(m, m->avail.shown));
	if (!rng_one_in(&o->rng, 4))
		CHECK(m->row,
		      drv_kick_wanted(&o->f.drv) == model_due(m, &m->avail));
	if (rng_one_in(&o->rng, 3))
		wish_calls(o);
	if (!rng_one_in(&o->rng, 4))
		reap(o, rng_below(&o->rng, most + 1));
}

/* --- the device's turn --------------------------------------------------- */

/* Buffer @k was given at used slot m->used.filled: what does that dirty? */
static void dirty_give(struct one *o, uint64_t k, uint64_t slot)
{
	uint32_t i = slot % o->m.row->size, left;
	uint32_t at = o->m.place[k] * o->arena.chunk;
	struct shape s;

	if (!o->packed)
		model_dirty(&o->m, GPA_USED + 4 + 8 * i, 8);
	else if (slot != o->m.used.shown) /* else publish writes it */
		model_dirty(&o->m, GPA_USED + 16 * i, 16);
	shape_of(o->m.row, k, &s);
	left = s.written;
	for (unsigned p = 0; p < s.nread + s.nwrite; p++) {
		uint32_t n = p < s.nread ? 0 : min_of(left, s.len[p]);

		model_dirty(&o->m, GPA_DATA + at + s.gap[p], n);
		at += s.gap[p] + s.len[p];
		left -= n;
	}
}

/* Everything given is visible now. */
static void shown(struct one *o)
{
	struct model *m = &o->m;
	uint32_t first = o->packed ? m->used.shown % m->row->size : 0;

	if (m->used.filled != m->used.shown)
		model_dirty(m, GPA_USED + 16 * first, o->packed ? 16 : 4);
	m->used.shown = m->used.filled;
	m->nshown = m->ngiven;
}

static bool is_left(const struct one *o)
{
	return o->m.avail.shown > o->m.taken || o->d.again_at < o->d.again_end;
}

static void take(struct one *o, unsigned max)
{
	unsigned from = o->d.b.n, n;

	/* A packed record has no place for the two at once. */
	if (o->packed && o->m.row->record && o->d.again_at == o->d.again_end)
		shown(o);
	n = back_take(&o->d, max);
	for (; n--; from++)
		if (!o->m.row->record || !o->d.chain[from].again)
			o->m.taken += o->d.chain[from].ndesc;
	CHECK(o->m.row, ring_has_work_any(&o->d.ring) == is_left(o));
}

static void untake(struct one *o)
{
	unsigned n = back_untake(&o->d);

	if (n && o->packed && o->m.row->record)
		shown(o);
	while (n--) {
		const struct chain *c = &o->d.chain[o->d.b.n + n];

		if (!o->m.row->record || !c->again)
			o->m.taken -= c->ndesc;
	}
}

static void give(struct one *o, unsigned n)
{
	while (n-- && back_held(&o->d)) {
		unsigned i = back_give(&o->d);

		o->m.order[o->m.ngiven++] = o->d.k[i];
		if (o->m.row->tracked)
			dirty_give(o, o->d.k[i], o->m.used.filled);
		o->m.used.filled += o->d.chain[i].ndesc;
	}
}

static void publish(struct one *o)
{
	back_verbs(&o->d)->publish(&o->d.ring);
	shown(o);
}

/* The device dies with what it holds; what nobody saw is undone. */
static void die(struct one *o)
{
	struct model *m = &o->m;

	back_die(&o->d, m->order + m->nshown, m->ngiven - m->nshown);
	m->used.filled = m->used.decided = m->used.shown;
	m->ngiven = m->nshown;
}

static void wish_kicks(struct one *o)
{
	uint64_t gpa = GPA_USED;
	struct model *m = &o->m;
	bool more;

	if (o->event_idx)
		gpa += 4 + 8 * m->row->size;
	if (!o->packed)
		model_dirty(m, gpa, 2);
	if (rng_one_in(&o->rng, 3)) {
		back_verbs(&o->d)->kick_disable(&o->d.ring);
		if (o->packed || !o->event_idx)
			m->avail.wish = WISH_NEVER;
		return;
	}
	more = back_verbs(&o->d)->kick_enable(&o->d.ring);
	CHECK(m->row, more == is_left(o));
	m->avail.wish = o->event_idx ? WISH_EVENT : WISH_ALWAYS;
	m->avail.event = m->taken;
}

/* Positions as vhost-user would save them. */
static void check_position(struct one *o)
{
	uint32_t at = model_position(&o->m, o->m.taken);

	if (o->packed)
		at |= (uint32_t)model_position(&o->m, o->m.used.filled) << 16;
	CHECK(o->m.row, ring_position(&o->d.ring) == at);
}

static void device_turn(struct one *o)
{
	struct model *m = &o->m;

	take(o, rng_below(&o->rng, RING_BURST + 1));
	if (rng_one_in(&o->rng, 4))
		untake(o);
	if (rng_one_in(&o->rng, 4))
		take(o, rng_below(&o->rng, 4));
	give(o, rng_below(&o->rng, RING_BURST + 1));
	if (!rng_one_in(&o->rng, 4))
		publish(o);
	if (rng_one_in(&o->rng, 4)) /* not shown yet, and changes nothing */
		give(o, 1);
	if (!rng_one_in(&o->rng, 4))
		CHECK(m->row, back_verbs(&o->d)->call_wanted(&o->d.ring) ==
		                      model_due(m, &m->used));
	if (rng_one_in(&o->rng, 3))
		wish_kicks(o);
	check_position(o);
	if (!back_held(&o->d) && o->d.again_at == o->d.again_end &&
	    m->used.decided == m->used.filled && rng_one_in(&o->rng, 8))
		back_restart(&o->d);
	else if (m->row->record && rng_one_in(&o->rng, 8))
		die(o);
	if (m->row->tracked)
		CHECK(m->row, !memcmp(m->bits, o->d.bits, LOG_BYTES));
	if (m->row->tracked && rng_one_in(&o->rng, 16)) {
		memset(m->bits, 0, LOG_BYTES);
		memset(o->d.bits, 0, LOG_BYTES);
	}
}

/* --- rows ---------------------------------------------------------------- */

static void run(const struct row *w)
{
	static struct one o;
	uint64_t turns = 0;

	one_open(&o, w);
	while (o.f.reaped < w->buffers) {
		driver_turn(&o);
		device_turn(&o);
		CHECK(w, ++turns < 1000 + 100 * w->buffers);
	}
	CHECK(w, o.f.drv.nfree == w->size && !o.f.drv.outstanding);
	CHECK(w, o.f.drv.tables_free == o.f.drv.ntables);
	CHECK(w, !o.f.drv.fault && !o.d.ring.fault);
	one_close(&o);
}

/* One line for each combination of features; each runs over these. */
static const struct place {
	uint32_t size;
	enum layout layout;
	uint32_t buffers;
} places[] = {
	{ 1, LAYOUT_ONE, 300 },         { 2, LAYOUT_SEVERAL, 300 },
	{ 3, LAYOUT_ONE, 300 },         { 7, LAYOUT_BYTES, 400 },
	{ 8, LAYOUT_CROSSING, 600 },    { 8, LAYOUT_BYTES, 400 },
	{ 16, LAYOUT_SEVERAL, 600 },    { 64, LAYOUT_BYTES, 600 },
	{ 255, LAYOUT_CROSSING, 2000 }, { 256, LAYOUT_ONE, 4000 },
	{ 256, LAYOUT_CROSSING, 2000 }, { 1000, LAYOUT_SEVERAL, 6000 },
	{ 1024, LAYOUT_ONE, 6000 },
};

static uint64_t run_features(struct row w, uint64_t slow)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < array_len(places); i++) {
		const struct place *p = &places[i];
		bool power = !(p->size & (p->size - 1));

		if (!power && !(w.features & VIRTIO_F_RING_PACKED))
			continue;
		w.seed += 1000003;
		w.size = p->size;
		w.layout = p->layout;
		w.buffers = p->buffers / 3 / slow + 100;
		row_name(&w);
		run(&w);
		sum += w.buffers;
	}
	return sum;
}

static uint64_t run_all_features(uint64_t slow)
{
	static const uint64_t bits[] = { VIRTIO_F_RING_PACKED,
		                         VIRTIO_F_EVENT_IDX, VIRTIO_F_IN_ORDER,
		                         VIRTIO_F_ORDER_PLATFORM };
	uint64_t total = 0;

	for (unsigned i = 0; i < 192; i++) {
		struct row w = { .tables = i % 3,
			         .tracked = i / 3 % 2,
			         .record = i / 96 };

		w.seed = UINT64_C(77) << 32 | i;
		if (w.tables)
			w.features |= VIRTIO_F_INDIRECT_DESC;
		for (unsigned b = 0; b < array_len(bits); b++) {
			if (i % 96 / 6 >> b & 1)
				w.features |= bits[b];
		}
		w.buffers = run_features(w, slow);
		row_name(&w);
		pair_ok(&w);
		total += w.buffers;
	}
	return total;
}

/* Large queues, and buffers of many kilobytes. */
static const struct row large[] = {
	{ .size = 4096, .layout = LAYOUT_SEVERAL, .buffers = 16000 },
	{ .size = 32768, .layout = LAYOUT_ONE, .buffers = 70000 },
	{ .size = 5000,
	  .layout = LAYOUT_ONE,
	  .buffers = 20000,
	  .features = VIRTIO_F_RING_PACKED },
	{ .size = 32767,
	  .layout = LAYOUT_SEVERAL,
	  .buffers = 70000,
	  .features = VIRTIO_F_RING_PACKED },
	{ .size = 32768,
	  .layout = LAYOUT_ONE,
	  .buffers = 70000,
	  .features = VIRTIO_F_RING_PACKED },
	{ .size = 256,
	  .layout = LAYOUT_SEVERAL,
	  .buffers = 400,
	  .chunk = 70000 },
	{ .size = 255,
	  .layout = LAYOUT_CROSSING,
	  .buffers = 400,
	  .chunk = 70000,
	  .features = VIRTIO_F_RING_PACKED },
};

static uint64_t run_large(uint64_t slow)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < 4 * array_len(large); i++) {
		struct row w = large[i / 4];

		w.seed = UINT64_C(78) << 32 | i;
		if (i % 4 == 1 || i % 4 == 2) {
			w.features |= VIRTIO_F_INDIRECT_DESC;
			w.tables = i % 4;
		}
		if (i % 4 >= 2)
			w.features |= VIRTIO_F_EVENT_IDX;
		if (i % 4 == 3)
			w.features |= VIRTIO_F_IN_ORDER;
		w.tracked = i % 2;
		w.record = i % 4 >= 2;
		w.buffers = w.buffers / slow + 10;
		row_name(&w);
		run(&w);
		pair_ok(&w);
		total += w.buffers;
	}
	return total;
}

int main(int argc, char **argv)
{
	uint64_t slow = pair_slow(argc, argv), total = 0;

	total += run_all_features(slow);
	total += run_large(slow);
	pair_plan(total);
	return 0;
}
