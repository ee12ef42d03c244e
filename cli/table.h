/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.h - text in aligned columns. Only cli includes it.
 *
 * The first row is the heading. A column in which every cell below the heading
 * begins with a digit or a '-' stands to the right.
 */
#ifndef VIADUCT_CLI_TABLE_H
#define VIADUCT_CLI_TABLE_H

#include <stdio.h>

#include "base/defs.h"

#define TABLE_COLUMNS 16u

struct table {
	unsigned columns;
	unsigned n; /* cells */
	char **cell;
};

void table_init(struct table *t, unsigned columns);
void table_fini(struct table *t);

/* The next cell, from left to right and down. */
void table_put(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Each line with @indent blanks in front. */
void table_print(const struct table *t, unsigned indent, FILE *to);

#endif
