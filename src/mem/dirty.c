/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dirty.c - set the bits of pages that we wrote. Freestanding.
 */
#include "mem/dirty.h"

#include "base/order.h"

void dirty_mark(const struct dirty_log *log, uint64_t gpa, uint64_t len)
{
	uint64_t page, last;

	if (!log || !len || !log->size)
		return;
	if (len - 1 > UINT64_MAX - gpa)
		len = UINT64_MAX - gpa + 1; /* to the end, not around it */
	page = gpa >> DIRTY_PAGE_SHIFT;
	last = (gpa + (len - 1)) >> DIRTY_PAGE_SHIFT;
	/* Pages fit in 52 bits, so page / 8 compares with any size. */
	for (; page <= last && page / 8 < log->size; page++)
		bits_or8(&log->bits[page / 8], (uint8_t)(1u << (page % 8)));
}
