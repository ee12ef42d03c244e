/* SPDX-License-Identifier: BSD-2-Clause */
/* table.c - text in aligned columns. */
#include "table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void table_init(struct table *t, unsigned columns)
{
	*t = (struct table){ .columns = min_of(columns, TABLE_COLUMNS) };
}

void table_fini(struct table *t)
{
	for (unsigned i = 0; i < t->n; i++)
		free(t->cell[i]);
	free(t->cell);
}

void table_put(struct table *t, const char *fmt, ...)
{
	char **more = reallocarray(t->cell, t->n + 1, sizeof(*more));
	char *text;
	va_list ap;
	int n;

	if (!more)
		return;
	t->cell = more;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	t->cell[t->n++] = n < 0 ? NULL : text;
}

static const char *cell_at(const struct table *t, unsigned i)
{
	return t->cell[i] ? t->cell[i] : "";
}

static bool is_number(const char *text)
{
	return isdigit((unsigned char)*text) || !strcmp(text, "-");
}

static void column_measure(const struct table *t, unsigned c, int *width,
                           bool *right)
{
	*width = 0;
	*right = true;
	for (unsigned i = c; i < t->n; i += t->columns) {
		int n = (int)strlen(cell_at(t, i));

		*width = max_of(*width, n);
		if (i >= t->columns && !is_number(cell_at(t, i)))
			*right = false;
	}
}

void table_print(const struct table *t, unsigned indent, FILE *to)
{
	int width[TABLE_COLUMNS];
	bool right[TABLE_COLUMNS];

	for (unsigned c = 0; c < t->columns; c++)
		column_measure(t, c, &width[c], &right[c]);
	for (unsigned i = 0; i < t->n; i++) {
		unsigned c = i % t->columns;
		bool last = c == t->columns - 1;

		if (c == 0)
			fprintf(to, "%*s", (int)indent, "");
		if (right[c])
			fprintf(to, "%*s", width[c], cell_at(t, i));
		else
			fprintf(to, "%-*s", last ? 0 : width[c], cell_at(t, i));
		fputs(last ? "\n" : "  ", to);
	}
}
