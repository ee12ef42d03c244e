/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The split ring as the notification protocol sees it: an index and a word of
 * suppression from each side. The same verbs as packed.pml, in the same order.
 *
 * Spec: virtio 1.3, 2.7.7 Used Buffer Notification Suppression, 2.7.10
 * Available Buffer Notification Suppression
 */
#define SPAN		SPACE	/* positions are indices, modulo SPACE */

#define INDEX(s)	(s)	/* avail.idx of the driver, used.idx */
#define PLAIN		2
#define EVENT(s)	(2 + s)	/* used_event, avail_event or the flags */
#define PLACES		4

#define QUIET		1	/* flags: no notification, please */

/* look() - n: does a buffer wait for me? 0 or 1 */
inline look(me)
{
	load(me, INDEX(1 - me), n);
	n = (n != rpos[me])
}

/* publish() - hand one buffer over */
inline publish(me)
{
	wpos[me] = ahead(wpos[me], 1);
	store(me, INDEX(me), wpos[me])
}

/* hush() - ask for no notifications: a hint; a stale event is one, too */
inline hush(me)
{
#ifndef EVENT_IDX
	store(me, EVENT(me), QUIET)
#else
	skip
#endif
}

/* ask() - ask to be told when k buffers wait */
inline ask(me, k)
{
#ifndef EVENT_IDX
	store(me, EVENT(me), 0)
#else
	store(me, EVENT(me), ahead(rpos[me], k - 1))
#endif
}

/* ask_wanted() - x: the other side's wish */
inline ask_wanted(me)
{
	load(me, EVENT(1 - me), x)
}

/* is_wanted() - is the wish x about one of those added just before wpos? */
#ifndef EVENT_IDX
#define is_wanted(x, me) (x != QUIET)
#else
#define is_wanted(x, me) (passed(x, wpos[me], added[me]))
#endif
