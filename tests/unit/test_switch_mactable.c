/* SPDX-License-Identifier: BSD-2-Clause */
/* test_switch_mactable.c - the table of stations, alone and with writers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "switch/mactable.h"

static uint64_t key_nr(uint64_t nr)
{
	uint8_t mac[6] = { 2 };

	for (unsigned i = 1; i < 6; i++)
		mac[i] = (uint8_t)(nr >> (8 * (i - 1)));
	return mac_key(mac, (uint16_t)(nr & 7));
}

static int setup(void **state)
{
	int err = 0;

	*state = mac_table_new(300, &err);
	return err;
}

static int teardown(void **state)
{
	mac_table_free(*state);
	return 0;
}

static void finds_what_it_learned(void **state)
{
	struct mac_table *t = *state;

	assert_int_equal(mac_table_find(t, key_nr(1), 10), -1);
	mac_table_learn(t, key_nr(1), 7, 10);
	assert_int_equal(mac_table_find(t, key_nr(1), 10), 7);
	assert_int_equal(mac_table_find(t, key_nr(2), 10), -1);
	mac_table_learn(t, key_nr(1), 8, 11);
	assert_int_equal(mac_table_find(t, key_nr(1), 11), 8);
}

static void tells_vlans_apart(void **state)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	struct mac_table *t = *state;

	mac_table_learn(t, mac_key(mac, 0), 1, 0);
	mac_table_learn(t, mac_key(mac, 4094), 2, 0);
	assert_int_equal(mac_table_find(t, mac_key(mac, 0), 0), 1);
	assert_int_equal(mac_table_find(t, mac_key(mac, 4094), 0), 2);
	assert_int_equal(mac_table_find(t, mac_key(mac, 1), 0), -1);
}

static void ages(void **state)
{
	struct mac_table *t = *state;

	mac_table_learn(t, key_nr(1), 7, 1000);
	assert_int_equal(mac_table_find(t, key_nr(1), 1299), 7);
	assert_int_equal(mac_table_find(t, key_nr(1), 1300), -1);
	assert_false(mac_table_refresh(t, key_nr(1), 7, 1300));
	mac_table_learn(t, key_nr(1), 7, 1300);
	assert_int_equal(mac_table_find(t, key_nr(1), 1599), 7);
	assert_false(mac_table_refresh(t, key_nr(1), 8, 1500));
	assert_false(mac_table_refresh(t, key_nr(2), 7, 1500));
	assert_true(mac_table_refresh(t, key_nr(1), 7, 1500));
	assert_int_equal(mac_table_find(t, key_nr(1), 1799), 7);
	/* Another worker's clock may be a little behind. */
	assert_int_equal(mac_table_find(t, key_nr(1), 1299), 7);
}

static void forgets_a_port(void **state)
{
	struct mac_table *t = *state;

	for (unsigned i = 0; i < 100; i++)
		mac_table_learn(t, key_nr(i), i % 3, 0);
	mac_table_forget(t, 1);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(mac_table_find(t, key_nr(i), 0),
		                 i % 3 == 1 ? -1 : (int)(i % 3));
}

/* A port that invents addresses costs its neighbours next to nothing, whatever
 * the secret of the table is. */
static void flooder_forgets_its_own(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		unsigned left = 0;
		int err = 0;
		struct mac_table *t = mac_table_new(300, &err);

		assert_non_null(t);
		for (unsigned i = 0; i < 200; i++)
			mac_table_learn(t, key_nr(i), 1, 0);
		for (unsigned i = 0; i < 20000; i++)
			mac_table_learn(t, key_nr(1000000 + i), 2, 1);
		for (unsigned i = 0; i < 200; i++)
			left += mac_table_find(t, key_nr(i), 1) == 1;
		assert_in_range(left, 195, 200);
		mac_table_free(t);
	}
}

/* Half full, nothing is forgotten for want of a place: well, hardly. */
static void spreads_stations(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		unsigned left = 0;
		int err = 0;
		struct mac_table *t = mac_table_new(300, &err);

		assert_non_null(t);
		for (unsigned i = 0; i < 1000; i++)
			mac_table_learn(t, key_nr(i), i % 100, 0);
		for (unsigned i = 0; i < 1000; i++)
			left += mac_table_find(t, key_nr(i), 1) >= 0;
		assert_in_range(left, 980, 1000);
		mac_table_free(t);
	}
}

static void count_entry(void *ctx, const struct mac_entry *e)
{
	unsigned *seen = ctx;
	unsigned nr = e->mac[1];

	assert_int_equal(e->mac[0], 2);
	assert_int_equal(e->vlan, nr & 7);
	assert_int_equal(e->port, nr % 5);
	assert_int_equal(e->age_s, 9);
	seen[nr]++;
}

static void walks_each_once(void **state)
{
	struct mac_table *t = *state;
	unsigned seen[100] = { 0 };

	mac_table_learn(t, key_nr(200), 0, 0); /* will be too old */
	for (unsigned i = 0; i < 20; i++)
		mac_table_learn(t, key_nr(i), i % 5, 400);
	mac_table_walk(t, 409, count_entry, seen);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(seen[i], i < 20);
}

/* Every key is only ever learned on the port that it spells. */
static void *writer(void *arg)
{
	struct mac_table *t = arg;

	for (unsigned i = 0; i < 200000; i++) {
		unsigned nr = (i * 7919u) % 20000;

		mac_table_learn(t, key_nr(nr), nr % 200, i / 1000);
		if (i % 50000 == 0)
			mac_table_forget(t, 3);
	}
	return NULL;
}

static void readers_see_no_mixture(void **state)
{
	struct mac_table *t = *state;
	pthread_t thread[2];
	unsigned hits = 0;

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, writer, t),
		                 0);
	for (unsigned i = 0; i < 400000; i++) {
		unsigned nr = (i * 104729u) % 20000;
		int port = mac_table_find(t, key_nr(nr), 0);

		if (port < 0)
			continue;
		assert_int_equal(port, nr % 200);
		hits++;
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (unsigned nr = 0; nr < 20000; nr++)
		hits += mac_table_find(t, key_nr(nr), 200) >= 0;
	assert_int_not_equal(hits, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(finds_what_it_learned),
		T(tells_vlans_apart),
		T(ages),
		T(forgets_a_port),
		T(flooder_forgets_its_own),
		T(walks_each_once),
		T(spreads_stations),
		T(readers_see_no_mixture),
#undef T
	};

	return cmocka_run_group_tests_name("switch_mactable", tests, NULL,
	                                   NULL);
}
