/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vhost_memory.c - guest memory that comes, goes and moves under running
 * rings; the dirty log; and the edges of both.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "peer.h"

#define PAGE 4096u

static struct vhost_user_mem_reg reg(uint64_t gpa, uint64_t size, uint64_t uva,
                                     uint64_t offset)
{
	return (struct vhost_user_mem_reg){ 0, { gpa, size, uva, offset } };
}

static int add(struct peer *p, struct vhost_user_mem_reg r)
{
	return peer_ask(p, VHOST_USER_ADD_MEM_REG, &r, sizeof(r),
	                (struct peer_fds){ &p->memfd, 1 });
}

static int rem(struct peer *p, struct vhost_user_mem_reg r)
{
	return peer_ask(p, VHOST_USER_REM_MEM_REG, &r, sizeof(r), NO_FDS);
}

static struct vhost_info info(struct peer *p)
{
	struct vhost_info i;

	vhost_backend_info(p->b, &i);
	return i;
}

/* Slots instead of a table; more come and go while the ring works. */
static void test_slots(void **state)
{
	struct vhost_user_mem_reg all =
		reg(PEER_GPA, PEER_MEM_BYTES, PEER_UVA, 0);
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_negotiate(&p, VIRTIO_F_VERSION_1);
	assert_int_equal(add(&p, all), 0);
	peer_setup_ring(&p, 0, 16);
	peer_echo(&p, 0, 5);
	for (unsigned i = 0; i < 100; i++) {
		struct vhost_user_mem_reg more =
			reg(0x10000000 + i * PAGE, PAGE, 0x1000 + i * PAGE, 0);

		assert_int_equal(add(&p, more), 0);
		peer_echo(&p, 0, 1);
		if (i % 3)
			assert_int_equal(rem(&p, more), 0);
	}
	assert_int_equal(info(&p).mem_regions, 35);
	assert_int_equal(p.dev.stops, 0);

	/* the ring's own memory: it stops, and goes on when it is back */
	assert_int_equal(rem(&p, all), 0);
	assert_false(peer_queue(&p, 0).started);
	assert_int_equal(add(&p, all), 0);
	assert_true(peer_queue(&p, 0).started);
	peer_echo(&p, 0, 5);
	assert_int_equal(p.dev.chains, 5 + 100 + 5);
	peer_close(&p);
}

static void test_slot_edges(void **state)
{
	struct vhost_user_mem_reg a = reg(0x10000, 2 * PAGE, 0x50000, PAGE);
	struct peer p;

	(void)state;
	peer_open(&p);
	assert_int_equal(rem(&p, a), 1);
	assert_int_equal(add(&p, reg(0, 0, 0, 0)), 1);
	assert_int_equal(add(&p, reg(0, UINT64_MAX, 0, 0)), 1);
	assert_int_equal(add(&p, reg(0, PAGE, 0, PEER_MEM_BYTES)), 1);
	assert_int_equal(add(&p, reg(0, PAGE + 1, 0, PEER_MEM_BYTES - PAGE)),
	                 1);
	assert_int_equal(add(&p, reg(0, PAGE, 0, UINT64_MAX - PAGE + 1)), 1);
	assert_int_equal(add(&p, reg(UINT64_MAX - 10, PAGE, 0, 0)), 1);
	assert_int_equal(add(&p, reg(0, PAGE, UINT64_MAX - 10, 0)), 1);
	assert_int_equal(add(&p, a), 0);
	assert_int_equal(add(&p, a), 1);
	assert_int_equal(add(&p, reg(0x10000 + 2 * PAGE - 1, 1, 0, 0)), 1);
	assert_int_equal(add(&p, reg(0x10000 + 2 * PAGE, 1, 0, 0)), 0);
	/* two of three are not enough to name one */
	assert_int_equal(rem(&p, reg(0x10000, 2 * PAGE, 0x50001, PAGE)), 1);
	assert_int_equal(rem(&p, reg(0x10000, PAGE, 0x50000, PAGE)), 1);
	assert_int_equal(rem(&p, reg(0x10001, 2 * PAGE, 0x50000, PAGE)), 1);
	/* a descriptor nobody needs is closed; the offset does not matter */
	a.region.offset = 77;
	assert_int_equal(peer_ask(&p, VHOST_USER_REM_MEM_REG, &a, sizeof(a),
	                          (struct peer_fds){ &p.memfd, 1 }),
	                 0);
	assert_int_equal(info(&p).mem_regions, 1);
	peer_close(&p);
}

static void test_all_slots(void **state)
{
	unsigned before;
	struct peer p;

	(void)state;
	peer_open(&p);
	before = peer_open_fds();
	for (unsigned i = 0; i < 509; i++)
		assert_int_equal(add(&p, reg(i * PAGE, PAGE, i * PAGE, 0)), 0);
	assert_int_equal(add(&p, reg(509 * PAGE, PAGE, 0, 0)), 1);
	assert_int_equal(info(&p).mem_regions, 509);
	for (unsigned i = 0; i < 509; i += 2)
		assert_int_equal(rem(&p, reg(i * PAGE, PAGE, i * PAGE, 0)), 0);
	assert_int_equal(info(&p).mem_regions, 254);
	assert_int_equal(peer_open_fds(), before);
	peer_close(&p);
}

/* A table with @n regions that share the file. */
static int set_table(struct peer *p, const struct vhost_user_region *r,
                     unsigned n, unsigned nfds)
{
	struct vhost_user_mem_table t = { .nregions = n };
	int fds[VHOST_USER_FDS_MAX];

	for (unsigned i = 0; i < 8; i++) {
		fds[i] = p->memfd;
		if (i < n)
			t.region[i] = r[i];
	}
	return peer_ask(p, VHOST_USER_SET_MEM_TABLE, &t,
	                VHOST_USER_MEM_TABLE_BYTES(min_of(n, 8u)),
	                (struct peer_fds){ fds, nfds });
}

static void test_table_edges(void **state)
{
	struct vhost_user_region r[8];
	struct peer p;

	(void)state;
	peer_open(&p);
	for (unsigned i = 0; i < 8; i++)
		r[i] = (struct vhost_user_region){ i * PAGE, PAGE, i * PAGE,
			                           (7 - i) * PAGE };
	assert_int_equal(set_table(&p, r, 8, 8), 0);
	assert_int_equal(set_table(&p, r, 8, 7), 1);
	assert_int_equal(set_table(&p, r, 7, 8), 1);
	assert_int_equal(set_table(&p, r, 9, 8), 1);
	assert_int_equal(set_table(&p, r, 0x10001, 1), 1);
	r[7].size = PAGE;
	r[7].gpa = 0; /* over the first */
	assert_int_equal(set_table(&p, r, 8, 8), 1);
	r[7].gpa = 7 * PAGE;
	r[7].size = 0;
	assert_int_equal(set_table(&p, r, 8, 8), 1);
	r[7].size = PEER_MEM_BYTES;
	r[7].offset = 1;
	assert_int_equal(set_table(&p, r, 8, 8), 1);
	/* what was refused changed nothing */
	assert_int_equal(info(&p).mem_regions, 8);
	assert_int_equal(set_table(&p, r, 0, 0), 0);
	assert_int_equal(info(&p).mem_regions, 0);
	peer_close(&p);
}

/* A new table while the ring works: everything is mapped anew. */
static void test_table_while_running(void **state)
{
	static const uint64_t layouts[] = {
		VIRTIO_F_VERSION_1, VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED
	};
	struct vhost_user_region other = { 0, PAGE, 0x1000, 0 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct peer p;

		peer_open(&p);
		peer_run(&p, layouts[i], 2, 16);
		for (unsigned n = 0; n < 50; n++) {
			peer_echo(&p, 2, 7);
			assert_int_equal(peer_set_memory(&p), 0);
		}
		assert_int_equal(p.dev.stops, 0);
		peer_offer(&p, 2, 8, 8);
		/* without the ring in it */
		assert_int_equal(set_table(&p, &other, 1, 1), 0);
		assert_int_equal(p.dev.stops, 1);
		assert_int_equal(peer_set_memory(&p), 0);
		peer_turn(&p);
		assert_int_equal(p.dev.chains, 50 * 7 + 1);
		peer_close(&p);
	}
}

/* Areas that are not wholly there. */
static void test_ring_edges(void **state)
{
	struct vhost_user_region r = { PEER_GPA, PEER_MEM_BYTES, PEER_UVA, 0 };
	struct peer p;
	int code;

	(void)state;
	for (unsigned cut = 0; cut < 3; cut++) {
		/* 64 descriptors, available and used ring: the region ends
		 * one byte before the end of one of them */
		static const uint32_t ends[] = { 64 * 16, 0x4000 + 6 + 2 * 64,
			                         0x5000 + 6 + 8 * 64 };

		for (unsigned less = 0; less < 2; less++) {
			peer_open(&p);
			peer_negotiate(&p, VIRTIO_F_VERSION_1);
			r.size = ends[cut] - less;
			assert_int_equal(set_table(&p, &r, 1, 1), 0);
			peer_ask_state(&p, VHOST_USER_SET_VRING_NUM, 0, 64);
			peer_set_addr(&p, 0, 0);
			code = peer_ask_fd(&p, VHOST_USER_SET_VRING_KICK, 0,
			                   -1);
			assert_int_equal(code, cut == 2 && !less ? 0 : 1);
			assert_int_equal(peer_queue(&p, 0).started, !code);
			peer_close(&p);
		}
	}
}

/* --- dirty log ---------------------------------------------------------- */

static int log_file(uint64_t size)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

/* SET_LOG_BASE is answered always, asked or not. */
static int set_log(struct peer *p, int fd, uint64_t size, uint64_t offset)
{
	struct vhost_user_log l = { size, offset };
	struct peer_msg m;

	peer_send(p, VHOST_USER_SET_LOG_BASE, &l, sizeof(l),
	          (struct peer_fds){ &fd, 1 });
	assert_true(peer_receive(p, &m));
	assert_int_equal(m.hdr.request, VHOST_USER_SET_LOG_BASE);
	return (int)m.body.u64;
}

static void test_log_edges(void **state)
{
	static const uint64_t size = 0x3000;
	int fd = log_file(size);
	struct peer p;

	(void)state;
	peer_open(&p);
	assert_int_equal(set_log(&p, fd, size, 0), 0);
	assert_int_equal(set_log(&p, fd, size - 1, 1), 0);
	assert_int_equal(set_log(&p, fd, 1, size - 1), 0);
	assert_int_equal(set_log(&p, fd, size, 1), 1);
	assert_int_equal(set_log(&p, fd, 1, size), 1);
	assert_int_equal(set_log(&p, fd, 0, 0), 1);
	assert_int_equal(set_log(&p, fd, UINT64_MAX, 1), 1);
	assert_int_equal(set_log(&p, fd, 1, UINT64_MAX), 1);
	assert_int_equal(set_log(&p, fd, UINT64_MAX, UINT64_MAX), 1);
	assert_int_equal(set_log(&p, fd, 1ull << 63, 1ull << 63), 1);
	assert_int_equal(set_log(&p, fd, 2, UINT64_MAX - 1), 1);
	assert_int_equal(peer_ask(&p, VHOST_USER_SET_LOG_FD, NULL, 0,
	                          (struct peer_fds){ &fd, 1 }),
	                 0);
	assert_true(peer_is_connected(&p));
	close(fd);
	peer_close(&p);
}

static void set_features(struct peer *p, uint64_t more)
{
	assert_int_equal(peer_ask_u64(p, VHOST_USER_SET_FEATURES,
	                              p->features | more),
	                 0);
}

/* Pages that are marked: those written, no others. */
static void expect_pages(struct peer *p, uint8_t *log, const uint64_t *gpa,
                         unsigned n)
{
	uint8_t want[0x1000] = { 0 };

	peer_turn(p); /* a ring that goes to sleep writes, too */
	for (unsigned i = 0; i < n; i++)
		want[gpa[i] / PAGE / 8] |= 1u << (gpa[i] / PAGE % 8);
	assert_memory_equal(log, want, sizeof(want));
	memset(log, 0, sizeof(want));
}

static void test_log(void **state)
{
	static const uint64_t layouts[] = {
		VIRTIO_F_VERSION_1, VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED
	};
	const uint64_t data = PEER_GPA + PEER_QUEUES * PEER_RING_GAP + 0x1000;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		/* used ring; packed: the descriptors themselves */
		uint64_t ring = PEER_GPA + (i ? 0 : 0x5000);
		int fd = log_file(0x4000);
		uint8_t *log;
		struct peer p;

		log = mmap(NULL, 0x4000, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		           0);
		peer_open(&p);
		peer_run(&p, layouts[i], 0, 16);
		peer_echo(&p, 0, 9);
		/* the log lies in the middle of the file */
		assert_int_equal(set_log(&p, fd, 0x1000, 0x1000), 0);
		peer_echo(&p, 0, 9);
		expect_pages(&p, log + 0x1000, NULL, 0);

		set_features(&p, VHOST_F_LOG_ALL);
		assert_true(info(&p).dirty_log);
		peer_echo(&p, 0, 3);
		expect_pages(&p, log + 0x1000, &data, 1);

		/* and the used ring, live */
		assert_int_equal(peer_set_addr(&p, 0, VHOST_USER_VRING_F_LOG),
		                 0);
		peer_echo(&p, 0, 3);
		expect_pages(&p, log + 0x1000, (uint64_t[]){ data, ring }, 2);

		/* the same log again and again, as once a queue pair */
		for (unsigned n = 0; n < 20; n++) {
			assert_int_equal(set_log(&p, fd, 0x1000, 0x1000), 0);
			peer_echo(&p, 0, 2);
		}
		expect_pages(&p, log + 0x1000, (uint64_t[]){ data, ring }, 2);

		set_features(&p, 0);
		peer_echo(&p, 0, 3);
		expect_pages(&p, log + 0x1000, NULL, 0);
		for (unsigned n = 0; n < 0x1000; n++)
			assert_int_equal(log[n] | log[0x2000 + n], 0);

		/* too small for the guest: what is beyond is left out */
		assert_int_equal(set_log(&p, fd, 1, 0x1000), 0);
		set_features(&p, VHOST_F_LOG_ALL);
		peer_echo(&p, 0, 3);
		expect_pages(&p, log + 0x1000, NULL, 0);
		peer_close(&p);
		munmap(log, 0x4000);
		close(fd);
	}
}

static void test_descriptors_do_not_pile_up(void **state)
{
	int fd = log_file(0x1000);
	unsigned before;
	struct peer p;

	(void)state;
	peer_open(&p);
	peer_run(&p, VIRTIO_F_VERSION_1, 0, 16);
	before = peer_open_fds();
	for (unsigned i = 0; i < 300; i++) {
		assert_int_equal(peer_set_memory(&p), 0);
		assert_int_equal(set_log(&p, fd, 0x1000, 0), 0);
		assert_int_equal(set_log(&p, fd, 0x1001, 0), 1);
		assert_int_equal(add(&p, reg(0, PAGE, 0, 0)), 0);
		assert_int_equal(add(&p, reg(0, PAGE, 0, 0)), 1);
	}
	peer_echo(&p, 0, 3);
	assert_int_equal(peer_open_fds(), before);
	close(fd);
	peer_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_slot_edges),
		cmocka_unit_test(test_all_slots),
		cmocka_unit_test(test_table_edges),
		cmocka_unit_test(test_table_while_running),
		cmocka_unit_test(test_ring_edges),
		cmocka_unit_test(test_log_edges),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_descriptors_do_not_pile_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
