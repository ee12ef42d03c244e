/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - what is wrong with a configuration, all of it. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void report_fini(struct report *r)
{
	for (unsigned i = 0; i < r->n; i++)
		free(r->line[i]);
	r->n = 0;
}

void report_add(struct report *r, const struct where *at, const char *fmt, ...)
{
	char *what, *line;
	va_list ap;
	int n;

	if (r->n == REPORT_MAX)
		return;
	va_start(ap, fmt);
	n = vasprintf(&what, fmt, ap);
	va_end(ap);
	if (n < 0)
		what = NULL;
	if (at->file)
		n = asprintf(&line, "%s:%u: %s", at->file, at->line,
		             what ? what : "wrong");
	else
		n = asprintf(&line, "command line: %s", what ? what : "wrong");
	free(what);
	r->line[r->n++] = n < 0 ? NULL : line;
}
