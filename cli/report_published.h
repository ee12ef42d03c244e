/* SPDX-License-Identifier: BSD-2-Clause */
/* report_published.h - figures of others. Only report includes it. */
#ifndef VIADUCT_CLI_REPORT_PUBLISHED_H
#define VIADUCT_CLI_REPORT_PUBLISHED_H

/* A row of ours and the published effect of the same technique, against a row
 * of ours that does without. */
struct published_row {
	const char *row, *base;
	double percent;
};

struct published {
	const char *question;
	const char *what; /* a sentence */
	const struct published_row *rows;
	unsigned nrows;
	const char *table; /* HTML, as it was published */
};

/* NULL: nothing was published about it. */
const struct published *published_find(const char *question);

#endif
