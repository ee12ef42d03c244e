/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - what is wrong with a configuration, all of it. Only the daemon
 * includes it.
 *
 * A complaint is "where: what", one line each. They are gathered, so that a
 * file is checked whole before anything starts, and are printed or logged by
 * whoever asked.
 */
#ifndef VIADUCTD_REPORT_H
#define VIADUCTD_REPORT_H

#include "base/defs.h"

/* A place in what the user wrote. */
struct where {
	const char *file; /* NULL: the command line */
	unsigned line;    /* from 1 */
};

#define REPORT_MAX 64u /* more complaints than anybody reads */

struct report {
	unsigned n;
	char *line[REPORT_MAX]; /* n of them, as far as memory went */
};

void report_fini(struct report *r);

void report_add(struct report *r, const struct where *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
