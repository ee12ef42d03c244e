/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * logger.c - log lines on standard error.
 *
 * systemd says in JOURNAL_STREAM which file the journal reads; if that is our
 * standard error, it takes levels as numbers.
 */
#include "logger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool for_journal;

static bool is_journal(void)
{
	const char *text = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return text && sscanf(text, "%llu:%llu", &dev, &ino) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == dev &&
	       st.st_ino == ino;
}

/* One write, so that lines of several threads do not mix. */
static void logger_line(void *ctx, enum log_level level, const char *tag,
                        const char *text)
{
	static const char *const words[] = { "error", "warn", "info", "debug" };
	static const char numbers[] = "3467";
	char line[1024];
	int n;

	(void)ctx;
	if (for_journal)
		n = snprintf(line, sizeof(line), "<%c>%s: %s\n", numbers[level],
		             tag, text);
	else
		n = snprintf(line, sizeof(line), "%-5s %s: %s\n", words[level],
		             tag, text);
	if (n >= (int)sizeof(line)) {
		n = sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return; /* nobody listens, and nobody to tell */
}

void logger_init(enum log_level most)
{
	for_journal = is_journal();
	log_set(logger_line, NULL, most);
}
