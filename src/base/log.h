/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - one line about one object. Anyone hosted may include it.
 *
 * The application gives a function; without one the library is silent. A line
 * is a tag that names the object ("net0", "net0/q1", "main"), then words, then
 * key=value fields. Nothing logs per packet; what a peer can cause goes through
 * a log_limit.
 */
#ifndef VIADUCT_BASE_LOG_H
#define VIADUCT_BASE_LOG_H

#include <stdarg.h>

#include "base/defs.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

typedef void log_fn(void *ctx, enum log_level level, const char *tag,
                    const char *text);

/* Install the application's function (NULL: silence) and the most talkative
 * level that reaches it. Before threads start. */
void log_set(log_fn *fn, void *ctx, enum log_level most);

void log_line(enum log_level level, const char *tag, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define log_error(tag, ...) log_line(LOG_LEVEL_ERROR, tag, __VA_ARGS__)
#define log_warn(tag, ...)  log_line(LOG_LEVEL_WARN, tag, __VA_ARGS__)
#define log_info(tag, ...)  log_line(LOG_LEVEL_INFO, tag, __VA_ARGS__)
#define log_debug(tag, ...) log_line(LOG_LEVEL_DEBUG, tag, __VA_ARGS__)

/* One line a second for what a peer can repeat; owner thread only. */
struct log_limit {
	uint64_t next_ms; /* monotonic */
	unsigned suppressed;
};

/**
 * log_limit_pass() - may this line be printed now?
 * @suppressed: out: how many were not since the last that was
 */
bool log_limit_pass(struct log_limit *l, unsigned *suppressed);

#endif
