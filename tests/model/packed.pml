/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packed ring as the notification protocol sees it: N descriptors that
 * both sides write, and an event structure from each side. The same verbs as
 * split.pml, in the same order.
 *
 * A position counts over two laps: offset = position % N; the wrap counter is
 * 1 on the first lap, 0 on the second. A descriptor is its two flags.
 *
 * Spec: virtio 1.3, 2.8.1 Driver and Device Ring Wrap Counters, 2.8.10 Driver
 * and Device Event Suppression
 */
#define SPAN		(2 * N)

#define PLAIN		N	/* 0 .. N - 1 are the descriptors */
#define EVENT(s)	(N + s)	/* the structure of the driver, the device */
#define OFFSET(s)	(N + 2 + s)	/* HALVES: off_wrap apart from flags */
#define PLACES		(N + 4)

#define ENABLE		0	/* desc_event_flags */
#define DISABLE		1
#define DESC		2	/* plus the position, unless HALVES */

#define F_AVAIL		1
#define F_USED		2

#define wrap(pos)	((pos) < N)
#define offered(pos)	(wrap(pos) * F_AVAIL + !wrap(pos) * F_USED)
#define used(pos)	(wrap(pos) * (F_AVAIL + F_USED))

#define slot(pos)	((pos) % N)
#define mark(me, pos)	(me == DRIVER -> offered(pos) : used(pos))

/* look() - n: does the next descriptor wait for me? 0 or 1 */
inline look(me)
{
	load(me, slot(rpos[me]), n);
	n = (n == mark(1 - me, rpos[me]))
}

/* publish() - hand one buffer over */
inline publish(me)
{
	x = mark(me, wpos[me]);
	store(me, slot(wpos[me]), x);
	x = 0;
	wpos[me] = ahead(wpos[me], 1)
}

/* hush() - ask for no notifications: a hint, needs no fence */
inline hush(me)
{
	store(me, EVENT(me), DISABLE)
}

/* ask() - ask to be told when k buffers wait */
inline ask(me, k)
{
#ifndef EVENT_IDX
	store(me, EVENT(me), ENABLE)
#elif defined(HALVES)
	store(me, OFFSET(me), ahead(rpos[me], k - 1));
	store(me, EVENT(me), DESC)
#else
	store(me, EVENT(me), DESC + ahead(rpos[me], k - 1))
#endif
}

/* ask_wanted() - x: the other side's wish */
inline ask_wanted(me)
{
	load(me, EVENT(1 - me), x)
}

#if defined(EVENT_IDX) && defined(HALVES)
#define TWO_LOADS

/* ask_wanted_more() - the second load, of the other half */
inline ask_wanted_more(me)
{
	atomic {
		if
		:: x == DESC -> load(me, OFFSET(1 - me), x); x = DESC + x
		:: else
		fi
	}
}
#endif

/*
 * is_wanted() - is the wish x about one of those added just before wpos?
 *
 * The event's lap is told by the wrap bit alone: when that is not ours, the
 * slot is taken one lap back, as event_packed_passed() does.
 */
#define back(x, me)	(N * (wrap(x) != wrap(wpos[me])))
#define is_passed(x, me) \
	passed(slot(x) - back(x, me), slot(wpos[me]), added[me])
#define is_wanted(x, me) \
	(x == ENABLE || (x >= DESC && is_passed((x - DESC), me)))
