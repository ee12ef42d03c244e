/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_poll_policy.c - adaptive polling against both fixed policies, in a world
 * with a clock of its own: arrivals come at times that a process draws, looks
 * are LOOK_NS apart, a sleep and a wake-up cost COST_NS.
 *
 * What a policy costs is the time it looks in vain, and COST_NS a sleep
 * (docs/polling.md).
 */
#include "poll/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "poll/cost.h"

#define COST_NS  10000u
#define LOOK_NS  50u
#define ARRIVALS 3000u

/* --- how arrivals come -------------------------------------------------- */

struct process {
	const char *name;
	uint64_t (*next)(uint64_t mean_ns, unsigned i);
};

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (seed >> 33) % below;
}

static uint64_t steady(uint64_t mean, unsigned i)
{
	(void)i;
	return mean;
}

static uint64_t even(uint64_t mean, unsigned i)
{
	(void)i;
	return draw(2 * mean) + 1;
}

/* About exponential: a mean's quarters, each again with probability 3/4. */
static uint64_t random_gaps(uint64_t mean, unsigned i)
{
	uint64_t ns = draw(mean / 4 + 1) + mean / 8;

	(void)i;
	while (draw(4))
		ns += mean / 4;
	return ns;
}

/* Trains of 16 with a long pause. */
static uint64_t trains(uint64_t mean, unsigned i)
{
	return i % 16 ? mean / 10 + 1 : mean * 15;
}

/* Every other silence is short. */
static uint64_t in_turn(uint64_t mean, unsigned i)
{
	return i & 1 ? 100 : 2 * mean;
}

/* Another load every 500 arrivals. */
static uint64_t changing(uint64_t mean, unsigned i)
{
	return i / 500 & 1 ? mean / 20 + 1 : mean * 2;
}

static const struct process processes[] = {
	{ "steady", steady }, { "even", even },       { "random", random_gaps },
	{ "trains", trains }, { "in turn", in_turn }, { "changing", changing },
};

/* --- one worker --------------------------------------------------------- */

struct outcome {
	uint64_t cost_ns, sleeps;
};

/* Silences of open time: @late, how long a wake-up takes. */
static struct outcome work(enum pump_policy kind, const struct process *x,
                           uint64_t mean, uint64_t late)
{
	struct outcome o = { 0, 0 };
	struct policy p;
	uint64_t now = 1000000, step;

	seed = 42;
	policy_init(&p, kind, COST_NS);
	for (unsigned i = 0; i < ARRIVALS; i++) {
		uint64_t arrival = now + x->next(mean, i);

		while (now < arrival) {
			if (!policy_look_on(&p, now)) {
				policy_sleeps(&p);
				o.cost_ns += COST_NS;
				o.sleeps++;
				now = arrival + late;
				break;
			}
			step = kind == PUMP_POLL ? arrival - now : LOOK_NS;
			now += step;
			o.cost_ns += step;
		}
		policy_found(&p, now);
	}
	return o;
}

/* At no rate more than twice the cost of the better fixed policy. */
static void test_never_twice(void **state)
{
	double worst = 0;

	(void)state;
	for (unsigned k = 0; k < array_len(processes); k++) {
		const struct process *x = &processes[k];

		for (uint64_t mean = 200; mean < 200000000; mean += mean / 3) {
			uint64_t poll = work(PUMP_POLL, x, mean, 0).cost_ns;
			uint64_t note =
				work(PUMP_NOTIFY, x, mean, COST_NS).cost_ns;
			uint64_t ours =
				work(PUMP_ADAPTIVE, x, mean, COST_NS).cost_ns;
			double ratio = (double)ours / min_of(poll, note);

			if (ratio > 2)
				printf("# %s, mean %llu ns: %.2f\n", x->name,
				       (unsigned long long)mean, ratio);
			worst = max_of(worst, ratio);
		}
	}
	printf("# worst ratio %.3f\n", worst);
	assert_true(worst <= 2);
}

/* Dense: as good as polling. Sparse: within a tenth of notifying. */
static void test_ends(void **state)
{
	uint64_t poll, ours, note;

	(void)state;
	poll = work(PUMP_POLL, &processes[0], 1000, 0).cost_ns;
	ours = work(PUMP_ADAPTIVE, &processes[0], 1000, COST_NS).cost_ns;
	assert_true(ours < poll + poll / 20);
	note = work(PUMP_NOTIFY, &processes[0], 100000000, COST_NS).cost_ns;
	ours = work(PUMP_ADAPTIVE, &processes[0], 100000000, COST_NS).cost_ns;
	assert_true(ours < note + note / 10);
}

/* Wake-ups five times as slow as was measured hide dense traffic for a while
 * only. */
static void test_slow_wakeups(void **state)
{
	struct outcome o;

	(void)state;
	o = work(PUMP_ADAPTIVE, &processes[0], 2000, 5 * COST_NS);
	assert_true(o.sleeps < ARRIVALS / 20);
}

/* From dense to silent: one more look as long as a sleep costs, one sleep. */
static void test_silence(void **state)
{
	uint64_t now = 1000, looked = 0;
	struct policy p;

	(void)state;
	policy_init(&p, PUMP_ADAPTIVE, COST_NS);
	for (unsigned i = 0; i < 100; i++) {
		policy_look_on(&p, now);
		policy_found(&p, now += 500);
	}
	while (policy_look_on(&p, now)) {
		now += LOOK_NS;
		looked += LOOK_NS;
	}
	assert_true(looked >= COST_NS && looked <= COST_NS + LOOK_NS);
	policy_sleeps(&p);
	/* Woken for nothing it goes to sleep again. */
	for (unsigned i = 0; i < 100; i++)
		assert_false(policy_look_on(&p, now += 1000000));
}

/* Finds without an empty look between them teach nothing. */
static void test_bursts_are_one(void **state)
{
	uint64_t now = 1000;
	struct policy p;

	(void)state;
	policy_init(&p, PUMP_ADAPTIVE, COST_NS);
	for (unsigned i = 0; i < 200; i++) {
		if (!policy_look_on(&p, now))
			policy_sleeps(&p);
		now += 10000000;
		for (unsigned k = 0; k < 20; k++)
			policy_found(&p, now += 1000);
	}
	assert_true(p.gain_ns < -(int64_t)COST_NS / 2);
}

static void test_fixed(void **state)
{
	struct policy p;

	(void)state;
	policy_init(&p, PUMP_POLL, COST_NS);
	assert_true(policy_look_on(&p, 1));
	assert_true(policy_look_on(&p, UINT64_MAX / 2));
	policy_init(&p, PUMP_NOTIFY, COST_NS);
	for (uint64_t now = 0; now < 1000; now++) {
		assert_false(policy_look_on(&p, now));
		policy_sleeps(&p);
		policy_found(&p, now);
	}
}

static void test_measured(void **state)
{
	uint64_t ns = cost_of_sleep_ns();

	(void)state;
	printf("# a sleep and a wake-up: %llu ns\n", (unsigned long long)ns);
	assert_true(ns >= COST_LEAST_NS && ns <= COST_MOST_NS);
	assert_int_equal(cost_of_sleep_ns(), ns);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_twice),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_slow_wakeups),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_bursts_are_one),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
