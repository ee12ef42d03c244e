/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mem_map.c - maps of guest memory against a linear model; the edges of
 * what a front end may describe; mappings shared by snapshots.
 */
#include "mem/map.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static uint8_t ground[1 << 16]; /* host memory of regions that are not mapped */

static struct mem_region region(uint64_t gpa, uint64_t size, uint64_t uva)
{
	return (struct mem_region){
		.gpa = gpa, .size = size, .uva = uva, .host = ground
	};
}

static uint32_t rnd(void)
{
	static uint32_t x = 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	return x ^= x << 5;
}

/* What find.c must agree with. */
static const struct mem_region *model_find(const struct mem *m, uint64_t gpa)
{
	for (unsigned i = 0; i < m->nregions; i++) {
		const struct mem_region *r = &m->region[i];

		if (gpa >= r->gpa && gpa < r->gpa + r->size)
			return r;
	}
	return NULL;
}

static void shuffle(struct mem_region *r, unsigned n)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned j = rnd() % i;
		struct mem_region t = r[i - 1];

		r[i - 1] = r[j];
		r[j] = t;
	}
}

/* @n regions, some touching, some with a gap behind them. */
static struct mem *random_map(unsigned n, uint64_t *end)
{
	struct mem_region r[MEM_REGIONS_MAX];
	uint64_t at = rnd() % 50;
	struct mem *m;
	int err;

	for (unsigned i = 0; i < n; i++) {
		uint64_t size = 1 + rnd() % 20;

		r[i] = region(at, size, at + 0x7000000);
		r[i].host = ground + at;
		at += size + (rnd() % 2 ? rnd() % 9 : 0);
	}
	shuffle(r, n);
	m = mem_new(r, n, &err);
	assert_non_null(m);
	assert_int_equal(err, 0);
	*end = at;
	return m;
}

static void check_piece(const struct mem *m, struct mem_hit *hit, uint64_t gpa)
{
	const struct mem_region *want = model_find(m, gpa);
	size_t asked = 1 + rnd() % 40, len = asked;
	void *p = mem_piece(m, hit, gpa, &len);

	if (!want) {
		assert_null(p);
		return;
	}
	assert_ptr_equal(p, ground + gpa);
	assert_int_equal(len, min_of(asked, want->gpa + want->size - gpa));
	assert_ptr_equal(mem_at_gpa(m, (gpa_t){ gpa }, len), p);
	assert_ptr_equal(mem_at_uva(m, (uva_t){ gpa + 0x7000000 }, len), p);
	assert_int_equal(mem_gpa_of_uva(m, (uva_t){ gpa + 0x7000000 },
	                                (gpa_t){ 1 << 30 })
	                         .v,
	                 gpa);
	if (len < asked) {
		assert_null(mem_at_gpa(m, (gpa_t){ gpa }, asked));
		assert_null(mem_at_uva(m, (uva_t){ gpa + 0x7000000 }, asked));
	}
}

static void test_search(void **state)
{
	static const unsigned counts[] = { 0, 1, 2, 3, 7, 8, 9, 100, 508, 509 };

	(void)state;
	for (unsigned i = 0; i < array_len(counts); i++) {
		uint64_t end;
		struct mem *m = random_map(counts[i], &end);
		struct mem_hit hit = { 0 };

		for (uint64_t gpa = 0; gpa < end + 3; gpa++) {
			assert_ptr_equal(mem_find(m, gpa), model_find(m, gpa));
			check_piece(m, &hit, gpa);
			check_piece(m, &hit, rnd() % (end + 3));
		}
		assert_null(mem_find(m, UINT64_MAX));
		mem_put(m);
	}
	assert_null(mem_find(NULL, 0));
	assert_null(mem_at_gpa(NULL, (gpa_t){ 0 }, 1));
	assert_null(mem_at_uva(NULL, (uva_t){ 0 }, 1));
	assert_int_equal(mem_gpa_of_uva(NULL, (uva_t){ 0 }, (gpa_t){ 9 }).v, 9);
}

static int new_error(const struct mem_region *r, unsigned n)
{
	int err;
	struct mem *m = mem_new(r, n, &err);

	assert_true(!m == (err != 0));
	mem_put(m);
	return err;
}

static void test_refused(void **state)
{
	struct mem_region r[MEM_REGIONS_MAX + 1];

	(void)state;
	r[0] = region(0x1000, 0, 0);
	assert_int_equal(new_error(r, 1), -EINVAL);
	r[0] = region(UINT64_MAX, 1, 0);
	assert_int_equal(new_error(r, 1), -EINVAL);
	r[0] = region(UINT64_MAX - 1, 1, 0);
	assert_int_equal(new_error(r, 1), 0);
	r[0] = region(0, 16, UINT64_MAX - 8);
	assert_int_equal(new_error(r, 1), -EINVAL);
	r[0] = region(0, UINT64_MAX, 0);
	assert_int_equal(new_error(r, 1), -EINVAL);

	/* neighbours may touch, not overlap, in either order */
	r[0] = region(0x1000, 0x1000, 0);
	r[1] = region(0x2000, 0x1000, 0x1000);
	assert_int_equal(new_error(r, 2), 0);
	r[1].gpa = 0x1fff;
	assert_int_equal(new_error(r, 2), -EINVAL);
	r[1] = region(0x0, 0x1001, 0x1000);
	assert_int_equal(new_error(r, 2), -EINVAL);
	r[1] = region(0x1000, 0x1000, 0x1000);
	assert_int_equal(new_error(r, 2), -EINVAL);
	r[1] = region(0x1800, 0x10, 0x1000);
	assert_int_equal(new_error(r, 2), -EINVAL);

	for (unsigned i = 0; i <= MEM_REGIONS_MAX; i++)
		r[i] = region(i * 16, 16, i * 16);
	assert_int_equal(new_error(r, MEM_REGIONS_MAX), 0);
	assert_int_equal(new_error(r, MEM_REGIONS_MAX + 1), -E2BIG);
}

static int file_of(off_t size)
{
	int fd = memfd_create("guest", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	return fd;
}

static int map_error(int fd, struct mem_region r)
{
	int err = mem_map_region(&r, fd);

	if (!err)
		mem_unmap_region(&r);
	else
		assert_null(r.mapping);
	return err;
}

static void test_file_end(void **state)
{
	int fd = file_of(0x3000), none = file_of(0), pipes[2];
	struct mem_region r = { .size = 0x1000 };

	(void)state;
	for (r.offset = 0; r.offset <= 0x2000; r.offset++)
		assert_int_equal(map_error(fd, r), 0);
	assert_int_equal(map_error(fd, r), -EINVAL);
	r = (struct mem_region){ .size = 0x3001 };
	assert_int_equal(map_error(fd, r), -EINVAL);
	r = (struct mem_region){ .size = 0 };
	assert_int_equal(map_error(fd, r), -EINVAL);
	r = (struct mem_region){ .size = 2, .offset = UINT64_MAX - 1 };
	assert_int_equal(map_error(fd, r), -EINVAL);
	r = (struct mem_region){ .size = UINT64_MAX, .offset = 2 };
	assert_int_equal(map_error(fd, r), -EINVAL);
	r = (struct mem_region){ .size = UINT64_MAX };
	assert_int_equal(map_error(fd, r), -EINVAL);
	r = (struct mem_region){ .size = 16, .gpa = UINT64_MAX - 8 };
	assert_int_equal(map_error(fd, r), -EINVAL);
	r = (struct mem_region){ .size = 16, .uva = UINT64_MAX - 8 };
	assert_int_equal(map_error(fd, r), -EINVAL);
	r = (struct mem_region){ .size = 16 };
	assert_int_equal(map_error(none, r), -EINVAL);
	assert_int_equal(map_error(-1, r), -EBADF);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(map_error(pipes[0], r), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	close(none);
	close(fd);
}

static void test_two_views(void **state)
{
	int fd = file_of(0x4000);
	struct mem_region a = { .size = 0x2000, .offset = 0x1234 };
	struct mem_region b = { .size = 0x1000, .offset = 0x2000 };

	(void)state;
	assert_int_equal(mem_map_region(&a, fd), 0);
	assert_int_equal(mem_map_region(&b, fd), 0);
	close(fd);
	a.host[0x2000 - 0x1234] = 77;
	assert_int_equal(b.host[0], 77);
	mem_unmap_region(&a);
	mem_unmap_region(&b);
	mem_unmap_region(&b); /* again is nothing */
}

static bool is_mapped(void *p)
{
	return msync(p, 0x1000, MS_ASYNC) == 0;
}

static void test_snapshots_share(void **state)
{
	int fd = file_of(0x4000), err;
	struct mem *m[4] = { 0 };
	struct mem_region r[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		r[i] = region(0x10000 * (3 - i), 0x1000, 0x1000 * i);
		r[i].offset = 0x1000 * i;
		assert_int_equal(mem_map_region(&r[i], fd), 0);
		m[i + 1] = mem_with(m[i], &r[i], &err);
		assert_non_null(m[i + 1]);
		assert_int_equal(m[i + 1]->nregions, i + 1);
	}
	close(fd);
	assert_ptr_equal(mem_at_gpa(m[3], (gpa_t){ 0x30000 }, 0x1000),
	                 r[0].host);
	assert_null(mem_at_gpa(m[1], (gpa_t){ 0x10000 }, 1));
	mem_put(m[1]);
	mem_put(m[2]);
	assert_true(is_mapped(r[0].mapping) && is_mapped(r[2].mapping));

	assert_null(mem_with(m[3], &r[1], &err));
	assert_int_equal(err, -EEXIST);
	m[0] = mem_without(m[3], &r[0], &err);
	assert_non_null(m[0]);
	assert_int_equal(m[0]->nregions, 2);
	assert_true(is_mapped(r[0].mapping));
	mem_put(mem_get(m[3]));
	mem_put(m[3]);
	assert_false(is_mapped(r[0].mapping));
	assert_true(is_mapped(r[1].mapping) && is_mapped(r[2].mapping));
	mem_put(m[0]);
	assert_false(is_mapped(r[1].mapping) || is_mapped(r[2].mapping));
}

static void test_without_wants_all_three(void **state)
{
	struct mem_region r = region(0x1000, 0x100, 0x9000), other = r;
	struct mem *m, *empty;
	int err;

	(void)state;
	m = mem_new(&r, 1, &err);
	assert_null(mem_without(NULL, &r, &err));
	assert_int_equal(err, -ENOENT);
	other.gpa++;
	assert_null(mem_without(m, &other, &err));
	other = r;
	other.size++;
	assert_null(mem_without(m, &other, &err));
	other = r;
	other.uva++;
	assert_null(mem_without(m, &other, &err));
	assert_int_equal(err, -ENOENT);
	other = r;
	other.offset = 5; /* ignored */
	empty = mem_without(m, &other, &err);
	assert_non_null(empty);
	assert_int_equal(empty->nregions, 0);
	mem_put(empty);
	mem_put(m);
	mem_put(NULL);
}

static void test_509_live(void **state)
{
	struct mem *m = NULL, *next;
	struct mem_region r;
	int err;

	(void)state;
	for (unsigned i = 0; i < MEM_REGIONS_MAX; i++) {
		/* from the outside in, so that places vary */
		uint64_t slot = i % 2 ? 1000 - i : i;

		r = region(slot * 8, 8, slot * 8);
		next = mem_with(m, &r, &err);
		assert_non_null(next);
		mem_put(m);
		m = next;
	}
	for (unsigned i = 1; i < m->nregions; i++)
		assert_true(m->region[i - 1].gpa < m->region[i].gpa);
	r = region(500 * 8, 8, 0);
	assert_null(mem_with(m, &r, &err));
	assert_int_equal(err, m->nregions && mem_find(m, 500 * 8) ? -EEXIST
	                                                          : -E2BIG);
	r = region(1 << 20, 8, 0);
	assert_null(mem_with(m, &r, &err));
	assert_int_equal(err, -E2BIG);
	mem_put(m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_file_end),
		cmocka_unit_test(test_two_views),
		cmocka_unit_test(test_snapshots_share),
		cmocka_unit_test(test_without_wants_all_three),
		cmocka_unit_test(test_509_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
