/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.c - the words of fault.h as strings. Freestanding.
 */
#include "ring/fault.h"

static const struct {
	const char *word, *title, *text;
} faults[] = { { "none", "", "no rule was broken" },
#define X(name, word, title, text) { word, title, text },
	       RING_FAULTS(X)
#undef X
};

const char *ring_fault_word(enum ring_fault f)
{
	return faults[f < RING_FAULT_COUNT ? f : RING_OK].word;
}

const char *ring_fault_title(enum ring_fault f)
{
	return faults[f < RING_FAULT_COUNT ? f : RING_OK].title;
}

const char *ring_fault_text(enum ring_fault f)
{
	return faults[f < RING_FAULT_COUNT ? f : RING_OK].text;
}
