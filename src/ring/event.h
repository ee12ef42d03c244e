/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.h - the arithmetic of VIRTIO_F_EVENT_IDX. Only ring includes it.
 *
 * Both ends ask the same question after they published: did I just pass the
 * element that the other side named? Positions are 16 bit and wrap. A packed
 * position is a slot and a wrap counter; seen from the publisher's lap, an
 * event of the lap before lies one ring length back.
 *
 * Spec: virtio 1.3, 2.7.7 Used Buffer Notification Suppression; 2.7.10
 * Available Buffer Notification Suppression; 2.8.14 Event Suppression Structure
 * Format.
 */
#ifndef VIADUCT_RING_EVENT_H
#define VIADUCT_RING_EVENT_H

#include "wire/packed.h"

/* Is @event among the @added elements that end just before @now? */
static always_inline bool event_passed(uint16_t event, uint16_t now,
                                       uint32_t added)
{
	return (uint16_t)(now - event - 1) < added;
}

/* Where a publisher on a packed ring stands. */
struct event_packed {
	uint32_t size;
	uint16_t now; /* next slot, and its lap's wrap counter */
	bool wrap;
	bool event_idx; /* negotiated; without it DESC means nothing */
	uint32_t added; /* slots since the last decision */
};

/**
 * event_packed_passed() - the same for a packed ring
 * @both: off_wrap and flags of the other side's structure, loaded once
 * @at:   where we stand
 *
 * A slot and a wrap counter tell two laps apart, no more. Who published more
 * than one lap without asking (to an end that went on without being told) may
 * have passed the event or not; it is told.
 *
 * A value of flags that the specification reserves counts as ENABLE: one
 * notification too many harms nobody [spec: packed.event.flags].
 */
static always_inline bool event_packed_passed(uint32_t both,
                                              struct event_packed at)
{
	uint16_t flags = (both >> 16) & 3;
	uint16_t event = both & (PACKED_WRAP - 1);

	if (flags != PACKED_EVENT_DESC || !at.event_idx)
		return flags != PACKED_EVENT_DISABLE;
	if (!!(both & PACKED_WRAP) != at.wrap)
		event -= at.size;
	return at.added > at.size || event_passed(event, at.now, at.added);
}

/* Count @n more elements; 65536 stands for as many or more. */
static always_inline uint32_t event_add(uint32_t added, uint32_t n)
{
	return min_of(added + n, 65536u);
}

#endif
