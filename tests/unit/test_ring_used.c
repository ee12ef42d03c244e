/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_used.c - the bad device: each rule broken once, by hand; and the
 * batches of IN_ORDER that a good one may return.
 */
#include "desk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define P VIRTIO_F_RING_PACKED
#define O VIRTIO_F_IN_ORDER

static struct desk desk;

/* What the device returns, in this order, after four buffers of two pieces, one
 * of 256 bytes to write, were published and one more was added. Ids on a fresh
 * queue: split 0, 2, 4, 6 and 8; packed 0 to 4, slots 0, 2, 4, 6. */
static const struct bad {
	enum ring_fault fault;
	uint64_t features;
	const char *what;
	int before;   /* reaped before the fault shows */
	uint16_t idx; /* split: 0, or what the index says in the end */
	unsigned n;   /* of used[] */
	struct {
		uint32_t id, len;
	} used[4];
} bads[] = {
	{ USED_BAD_ID,
	  0,
	  "the first id beyond",
	  1,
	  0,
	  2,
	  { { 0, 1 }, { 16, 1 } } },
	{ USED_BAD_ID, 0, "32 bits wide", 0, 0, 1, { { 0x10000, 1 } } },
	{ USED_BAD_ID,
	  P,
	  "the first id beyond",
	  1,
	  0,
	  2,
	  { { 0, 1 }, { 16, 1 } } },
	{ USED_BAD_ID, O, "in order", 0, 0, 1, { { 16, 1 } } },
	{ USED_BAD_ID, O | P, "in order", 0, 0, 1, { { 16, 1 } } },
	{ USED_NOT_OUTSTANDING, 0, "twice", 1, 0, 2, { { 2, 1 }, { 2, 1 } } },
	{ USED_NOT_OUTSTANDING, P, "twice", 1, 0, 2, { { 2, 1 }, { 2, 1 } } },
	{ USED_NOT_OUTSTANDING, 0, "never issued", 0, 0, 1, { { 12, 1 } } },
	{ USED_NOT_OUTSTANDING, P, "never issued", 0, 0, 1, { { 12, 1 } } },
	{ USED_NOT_OUTSTANDING, 0, "middle of a chain", 0, 0, 1, { { 1, 1 } } },
	{ USED_NOT_OUTSTANDING, 0, "not published yet", 0, 0, 1, { { 8, 1 } } },
	{ USED_NOT_OUTSTANDING, P, "not published yet", 0, 0, 1, { { 4, 1 } } },
	{ USED_NOT_OUTSTANDING, O, "not published yet", 0, 0, 1, { { 8, 1 } } },
	{ USED_NOT_OUTSTANDING,
	  O | P,
	  "not published yet",
	  0,
	  0,
	  1,
	  { { 4, 1 } } },
	{ USED_NOT_OUTSTANDING, O, "twice", 1, 0, 2, { { 0, 1 }, { 0, 1 } } },
	{ USED_NOT_OUTSTANDING,
	  O | P,
	  "twice",
	  1,
	  0,
	  2,
	  { { 0, 1 }, { 0, 1 } } },
	{ USED_TOO_LONG,
	  0,
	  "a byte more",
	  1,
	  0,
	  2,
	  { { 0, 256 }, { 2, 257 } } },
	{ USED_TOO_LONG,
	  P,
	  "a byte more",
	  1,
	  0,
	  2,
	  { { 0, 256 }, { 1, 257 } } },
	{ USED_TOO_LONG, O, "the last of a batch", 1, 2, 1, { { 2, 257 } } },
	{ USED_TOO_LONG,
	  O | P,
	  "the last of a batch",
	  1,
	  0,
	  1,
	  { { 1, 257 } } },
	{ USED_TOO_LONG, 0, "all there is", 0, 0, 1, { { 0, UINT32_MAX } } },
	{ USED_BAD_JUMP, 0, "more than is there", 0, 6, 1, { { 0, 1 } } },
	{ USED_BAD_JUMP, 0, "back", 0, 65535, 1, { { 0, 1 } } },
	{ USED_BAD_JUMP, O, "more than is there", 0, 6, 1, { { 0, 1 } } },
	{ USED_BAD_ORDER, O, "the second first", 1, 1, 1, { { 2, 1 } } },
	{ USED_BAD_ORDER,
	  O,
	  "index short of the batch",
	  2,
	  2,
	  1,
	  { { 4, 1 } } },
};

static void open_five(uint64_t features)
{
	desk_open(&desk, 16, features);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(desk_add(&desk, 1, 1), 0);
	drv_publish(&desk.drv);
	assert_int_equal(desk_add(&desk, 1, 1), 0);
}

static void use_all(const struct bad *bad)
{
	for (unsigned i = 0; i < bad->n; i++) {
		struct desc d = { 0, bad->used[i].len, DESC_WRITE,
			          bad->used[i].id };

		if (bad->features & P)
			desk_use_packed(&desk, 2 * i, true, d);
		else
			desk_use_split(&desk, bad->used[i].id, d.len);
	}
	if (bad->idx)
		st16(&desk.used->idx, bad->idx);
}

static void test_bad_device(void **state)
{
	struct drv *d = &desk.drv;

	(void)state;
	for (unsigned i = 0; i < array_len(bads); i++) {
		const struct bad *bad = &bads[i];
		uint64_t token, left = 0;

		print_message("%s%s: %s\n",
		              bad->features & P ? "packed" : "split",
		              bad->features & O ? " in-order" : "", bad->what);
		open_five(bad->features);
		use_all(bad);
		assert_int_equal(drv_reap(d, desk.done, 16),
		                 bad->before ? bad->before : DRV_EBADMSG);
		assert_string_equal(ring_fault_word(d->fault),
		                    ring_fault_word(bad->fault));
		assert_int_equal(drv_reap(d, desk.done, 16), DRV_EBADMSG);
		assert_int_equal(desk_add(&desk, 1, 1), DRV_EBADMSG);
		drv_break(d, USED_BAD_ID);
		assert_int_equal(d->fault, bad->fault);

		/* What the device still had comes out, each once. */
		while (drv_detach(d, &token)) {
			assert_in_range(token, 100, 104);
			left++;
		}
		assert_int_equal(left, 5 - bad->before);
		assert_int_equal(d->nfree, 16);
		desk_restart(&desk);
		assert_int_equal(desk_add(&desk, 1, 1), 0);
	}
}

/* A device that skips: one element, where the first of the batch would stand,
 * for all up to the one it names. The ones before were used completely
 * [spec: split.in-order.batch] [spec: packed.in-order.batch]. */
static void test_batches(void **state)
{
	struct drv *d = &desk.drv;

	(void)state;
	for (unsigned packed = 0; packed < 2; packed++) {
		struct desc last = { 0, 7, DESC_WRITE, 3 };

		open_five(O | (packed ? P : 0));
		if (packed) {
			desk_use_packed(&desk, 0, true, last);
		} else {
			desk_use_split(&desk, 6, 7);
			st16(&desk.used->idx, 4);
		}
		/* In two reaps: a batch outlives the call. */
		assert_int_equal(drv_reap(d, desk.done, 3), 3);
		assert_true(drv_has_used(d));
		assert_int_equal(drv_reap(d, desk.done + 3, 3), 1);
		assert_false(drv_has_used(d));
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(desk.done[i].token, 100 + i);
			assert_int_equal(desk.done[i].written, i < 3 ? 256 : 7);
		}
		assert_int_equal(d->outstanding, 1);

		/* The next element stands behind the whole batch. */
		drv_publish(d);
		last = (struct desc){ 0, 9, DESC_WRITE, 4 };
		desk.nused = 4;
		if (packed)
			desk_use_packed(&desk, 8, true, last);
		else
			desk_use_split(&desk, 8, 9);
		assert_int_equal(drv_reap(d, desk.done, 16), 1);
		assert_int_equal(desk.done[0].token, 104);
		assert_int_equal(desk.done[0].written, 9);
		assert_int_equal(d->nfree, 16);
	}
}

/* Packed: without WRITE the length is not looked at, other flags never
 * [spec: packed.used.len-only-written] [spec: packed.next.reserved-in-used]. */
static void test_packed_used_flags(void **state)
{
	struct drv *d = &desk.drv;

	(void)state;
	open_five(P);
	desk_use_packed(&desk, 0, true,
	                (struct desc){ 0, UINT32_MAX, DESC_NEXT, 1 });
	desk_use_packed(&desk, 2, true,
	                (struct desc){ 0, 5, DESC_WRITE | DESC_NEXT, 0 });
	assert_int_equal(drv_reap(d, desk.done, 16), 2);
	assert_int_equal(desk.done[0].token, 101);
	assert_int_equal(desk.done[0].written, 0);
	assert_int_equal(desk.done[1].token, 100);
	assert_int_equal(desk.done[1].written, 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_device),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_packed_used_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
