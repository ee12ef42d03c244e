/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.h - what the files of `viaduct bench` share. Only they include it.
 *
 * A question is a list of rows; a row is measured in two processes made for it
 * (bench_device.c is the device end, the caller the driver end) and answers
 * with one number a column. Repetitions are interleaved: all rows once, then
 * all rows again. bench_result.c takes medians and prints.
 */
#ifndef VIADUCT_CLI_BENCH_H
#define VIADUCT_CLI_BENCH_H

#include <stdio.h>

#include "base/defs.h"
#include "bench_device.h"

#define BENCH_COLUMNS 14u
#define BENCH_REPEATS 25u

struct bench_opts {
	double seconds; /* of one measurement */
	unsigned repeats;
	unsigned flows, size; /* 0: the question's own */
	bool json, csv;
	const char *only;    /* rows with this in their name; NULL: all */
	const char *command; /* as it was typed */
};

struct bench_row {
	const char *name;
	const void *arg; /* the question's */
	double value[BENCH_REPEATS][BENCH_COLUMNS];
};

struct bench_question {
	const char *name, *text;
	const char *const *columns; /* "name unit", NULL at the end */
	struct bench_row *rows;
	unsigned nrows;
	/* Into @to, one number a column. 0 or negative errno. */
	int (*measure)(const struct bench_opts *o, const struct bench_row *r,
	               double *to);
	/* After all rows of a repetition: columns that compare rows. */
	void (*compare)(struct bench_question *q, unsigned repeat);
};

/* Measure everything and print it. Exit status. */
int bench_ask(struct bench_question *q, const struct bench_opts *o);

/* bench_result.c */
int bench_print(const struct bench_question *q, const struct bench_opts *o);

extern struct bench_question bench_idle, bench_rr, bench_latency, bench_shared,
	bench_order, bench_pps;

#endif
