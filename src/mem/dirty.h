/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dirty.h - the dirty page log of live migration. ring and vhost include it.
 *
 * One bit a page of 4096 bytes, bit = page number, set atomically because the
 * front end reads and clears at the same time. Freestanding.
 * Spec: vhost-user, Migration.
 */
#ifndef VIADUCT_MEM_DIRTY_H
#define VIADUCT_MEM_DIRTY_H

#include "base/defs.h"

#define DIRTY_PAGE_SHIFT 12

struct dirty_log {
	uint8_t *bits;
	uint64_t size; /* bytes of the bitmap; pages beyond are ignored */
};

/**
 * dirty_mark() - say that @len bytes at guest address @gpa were written
 * @log: NULL or a log; NULL marks nothing
 *
 * Pages behind the end of the log are ignored, addresses never wrap.
 */
void dirty_mark(const struct dirty_log *log, uint64_t gpa, uint64_t len);

#endif
