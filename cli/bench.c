/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.c - `viaduct bench`: one subcommand a question, one table an answer.
 */
#include "bench.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bench_load.h"
#include "command.h"

static struct bench_question *const questions[] = {
	&bench_idle, &bench_latency, &bench_order,
	&bench_pps,  &bench_rr,      &bench_shared,
};

int bench_ask(struct bench_question *q, const struct bench_opts *o)
{
	for (unsigned k = 0; k < o->repeats; k++) {
		for (unsigned i = 0; i < q->nrows; i++) {
			struct bench_row *r = &q->rows[i];
			int err;

			fprintf(stderr, "\r%s %u/%u: %-40s", q->name, k + 1,
			        o->repeats, r->name);
			err = q->measure(o, r, r->value[k]);
			if (err) {
				fprintf(stderr, "\nviaduct bench %s, %s: %s\n",
				        q->name, r->name, strerror(-err));
				return 1;
			}
		}
		if (q->compare)
			q->compare(q, k);
	}
	fprintf(stderr, "\r%60s\r", "");
	return bench_print(q, o) ? 1 : 0;
}

/* Keep the rows with @text in their name. */
static void keep_only(struct bench_question *q, const char *text)
{
	unsigned n = 0;

	for (unsigned i = 0; i < q->nrows; i++) {
		if (strstr(q->rows[i].name, text))
			q->rows[n++] = q->rows[i];
	}
	q->nrows = n;
}

static void help(FILE *to)
{
	fputs("usage: viaduct bench QUESTION [--time S] [--repeat N] "
	      "[--flows N] [--size N]\n"
	      "                     [--only TEXT] [--json | --csv]\n\n",
	      to);
	for (size_t i = 0; i < array_len(questions); i++)
		fprintf(to, "  %-8s %s\n", questions[i]->name,
		        questions[i]->text);
}

static struct bench_question *find(const char *name)
{
	for (size_t i = 0; name && i < array_len(questions); i++)
		if (!strcmp(questions[i]->name, name))
			return questions[i];
	return NULL;
}

/* 0, or -1: not understood. */
static int parse(int argc, char **argv, struct bench_opts *o)
{
	static const struct option options[] = {
		{ "time", required_argument, NULL, 't' },
		{ "repeat", required_argument, NULL, 'r' },
		{ "flows", required_argument, NULL, 'f' },
		{ "size", required_argument, NULL, 's' },
		{ "only", required_argument, NULL, 'o' },
		{ "json", no_argument, NULL, 'j' },
		{ "csv", no_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 't')
			o->seconds = atof(optarg);
		else if (c == 'r')
			o->repeats = (unsigned)atoi(optarg);
		else if (c == 'f')
			o->flows = (unsigned)atoi(optarg);
		else if (c == 's')
			o->size = (unsigned)atoi(optarg);
		else if (c == 'o')
			o->only = optarg;
		else if (c == 'j')
			o->json = true;
		else if (c == 'c')
			o->csv = true;
		else
			return -1;
	}
	if (optind != argc || o->seconds <= 0 || !o->repeats ||
	    o->repeats > BENCH_REPEATS || o->flows > LOAD_FLOWS ||
	    (o->size && (o->size < 60 || o->size > 1518)))
		return -1;
	return 0;
}

static void command_line(char *to, size_t size, int argc, char **argv)
{
	size_t at = (size_t)snprintf(to, size, "viaduct bench");

	for (int i = 0; i < argc && at < size; i++)
		at += (size_t)snprintf(to + at, size - at, " %s", argv[i]);
}

int cmd_bench(int argc, char **argv)
{
	struct bench_opts o = { .seconds = 1, .repeats = 3 };
	struct bench_question *q;
	char line[256];

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		help(stdout);
		return 0;
	}
	q = find(argc > 1 ? argv[1] : NULL);
	command_line(line, sizeof(line), argc - 1, argv + 1);
	o.command = line;
	if (!q || parse(argc - 1, argv + 1, &o)) {
		help(stderr);
		return 2;
	}
	if (o.only)
		keep_only(q, o.only);
	return bench_ask(q, &o);
}
