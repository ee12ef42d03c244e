/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_result.c - medians, and the answer as a table, as JSON or as CSV. Every
 * form says on what machine and with which command it was measured.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"
#include "table.h"

#define CPU_NAME 96u

struct machine {
	char cpu[CPU_NAME];
	struct utsname os;
	long cores;
	double load; /* of the last minute: others at work */
};

static void machine_look(struct machine *m)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256], *at;

	*m = (struct machine){ .cores = sysconf(_SC_NPROCESSORS_ONLN) };
	snprintf(m->cpu, sizeof(m->cpu), "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, ": ");
		if (strncmp(line, "model name", 10) || !at)
			continue;
		at[strcspn(at, "\n")] = '\0';
		snprintf(m->cpu, sizeof(m->cpu), "%.95s", at + 2);
		break;
	}
	if (f)
		fclose(f);
	uname(&m->os);
	if (getloadavg(&m->load, 1) < 1)
		m->load = 0;
}

/* --- medians ------------------------------------------------------------ */

struct cell {
	double median, min, max;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct cell cell_of(const struct bench_row *r, unsigned column,
                           unsigned n)
{
	double v[BENCH_REPEATS];

	for (unsigned i = 0; i < n; i++)
		v[i] = r->value[i][column];
	qsort(v, n, sizeof(*v), compare);
	return (struct cell){ n & 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2,
		              v[0], v[n - 1] };
}

/* --- for people --------------------------------------------------------- */

static void put_value(struct table *t, double x)
{
	double size = x < 0 ? -x : x;

	table_put(t, "%.*f", size >= 100 || x == 0 ? 0 : size >= 1 ? 2 : 4, x);
}

/* Half of what lies between the extremes, of the first column. */
static void put_spread(struct table *t, struct cell c)
{
	if (c.median > 0)
		table_put(t, "%.0f", 50 * (c.max - c.min) / c.median);
	else
		table_put(t, "-");
}

static void print_text(const struct bench_question *q,
                       const struct bench_opts *o, const struct machine *m)
{
	struct table t;
	unsigned n = 0;

	printf("%s: %s\n%s; %s %s; %ld cores; load %.1f\n"
	       "medians of %u x %g s, interleaved; spread: of the first "
	       "column, +-%%\n\n",
	       q->name, q->text, m->cpu, m->os.sysname, m->os.release, m->cores,
	       m->load, o->repeats, o->seconds);
	while (q->columns[n])
		n++;
	table_init(&t, n + 2);
	table_put(&t, "%s", q->name);
	for (unsigned c = 0; c < n; c++)
		table_put(&t, "%s", q->columns[c]);
	table_put(&t, "spread");
	for (unsigned i = 0; i < q->nrows; i++) {
		table_put(&t, "%s", q->rows[i].name);
		for (unsigned c = 0; c < n; c++)
			put_value(&t,
			          cell_of(&q->rows[i], c, o->repeats).median);
		put_spread(&t, cell_of(&q->rows[i], 0, o->repeats));
	}
	table_print(&t, 0, stdout);
	table_fini(&t);
}

/* --- for programs ------------------------------------------------------- */

static void print_csv(const struct bench_question *q,
                      const struct bench_opts *o)
{
	printf("bench,row,column,median,min,max\n");
	for (unsigned i = 0; i < q->nrows; i++) {
		for (unsigned c = 0; q->columns[c]; c++) {
			struct cell x = cell_of(&q->rows[i], c, o->repeats);

			printf("%s,%s,%s,%.9g,%.9g,%.9g\n", q->name,
			       q->rows[i].name, q->columns[c], x.median, x.min,
			       x.max);
		}
	}
}

static json_t *json_row(const struct bench_question *q, unsigned i, unsigned n)
{
	json_t *values = json_object();

	for (unsigned c = 0; q->columns[c]; c++) {
		struct cell x = cell_of(&q->rows[i], c, n);

		json_object_set_new(values, q->columns[c],
		                    json_pack("{s:f, s:f, s:f}", "median",
		                              x.median, "min", x.min, "max",
		                              x.max));
	}
	return json_pack("{s:s, s:o}", "name", q->rows[i].name, "values",
	                 values);
}

static int print_json(const struct bench_question *q,
                      const struct bench_opts *o, const struct machine *m)
{
	json_t *rows = json_array(), *columns = json_array(), *all;
	int err;

	for (unsigned c = 0; q->columns[c]; c++)
		json_array_append_new(columns, json_string(q->columns[c]));
	for (unsigned i = 0; i < q->nrows; i++)
		json_array_append_new(rows, json_row(q, i, o->repeats));
	all = json_pack("{s:s, s:s, s:s, s:f, s:i, s:{s:s, s:s, s:i, s:f}, "
	                "s:o, s:o}",
	                "bench", q->name, "text", q->text, "command",
	                o->command, "seconds", o->seconds, "repeats",
	                (int)o->repeats, "machine", "cpu", m->cpu, "kernel",
	                m->os.release, "cores", (int)m->cores, "load", m->load,
	                "columns", columns, "rows", rows);
	err = all ? json_dumpf(all, stdout, JSON_INDENT(1)) : -1;
	putchar('\n');
	json_decref(all);
	return err;
}

int bench_print(const struct bench_question *q, const struct bench_opts *o)
{
	struct machine m;

	machine_look(&m);
	if (o->json)
		return print_json(q, o, &m);
	if (o->csv)
		print_csv(q, o);
	else
		print_text(q, o, &m);
	return 0;
}
