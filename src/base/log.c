/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.c - where the lines of log.h go: to one function of the application.
 *
 * Formats into a buffer on the stack, cuts what is too long, and never
 * allocates. Control characters become '?', so that a peer's words cannot
 * forge a line.
 */
#include "base/log.h"

#include <stdio.h>
#include <time.h>

#define LINE_BYTES   512
#define LIMIT_GAP_MS 1000u

static struct {
	log_fn *fn;
	void *ctx;
	enum log_level most;
} sink;

void log_set(log_fn *fn, void *ctx, enum log_level most)
{
	sink.ctx = ctx;
	sink.most = most;
	sink.fn = fn;
}

static void clean(char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
	}
}

void log_line(enum log_level level, const char *tag, const char *fmt, ...)
{
	char text[LINE_BYTES];
	va_list ap;

	if (!sink.fn || level > sink.most)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	clean(text);
	sink.fn(sink.ctx, level, tag ? tag : "main", text);
}

bool log_limit_pass(struct log_limit *l, unsigned *suppressed)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	if (now < l->next_ms) {
		l->suppressed++;
		return false;
	}
	*suppressed = l->suppressed;
	l->suppressed = 0;
	l->next_ms = now + LIMIT_GAP_MS;
	return true;
}
