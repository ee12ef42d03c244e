/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared memory behind two store buffers.
 *
 * What a side stores goes into its own buffer and reaches memory later, by
 * the steps of drain(), at any time. A load takes the newest value from the
 * side's own buffer, else from memory: so a side may read what the other wrote
 * before its own earlier store is seen. That is what x86 does; nothing else
 * about the order of memory matters to pairs C and D.
 *
 * With PSO defined, a plain store (an event or a flag) may also overtake older
 * stores to other places. A release store (an index or a descriptor, both are
 * below PLAIN) waits for all that stand before it, as st16_rel does.
 *
 * fence(me) is passable when the side's buffer is empty: fence_store_load.
 */
#ifdef PSO
#define ROOM	5		/* the widest overtaking below: from index 4 */
#else
#define ROOM	6
#endif

typedef buffer {
	byte at[ROOM];		/* where, oldest first; unused slots are 0 */
	byte val[ROOM];
	byte fill
};

byte mem[PLACES];
buffer sb[2];
byte s_i;			/* scratch inside d_step, 0 outside */

#define fence(me)	(sb[me].fill == 0)

inline store(me, where, what)
{
	assert(sb[me].fill < ROOM || CUT_C || CUT_D);
	(sb[me].fill < ROOM);
	sb[me].at[sb[me].fill] = where;
	sb[me].val[sb[me].fill] = what;
	sb[me].fill++
}

inline load(me, where, into)
{
	d_step {
		into = mem[where];
		s_i = 0;
		do
		:: s_i < sb[me].fill ->
			if
			:: sb[me].at[s_i] == where -> into = sb[me].val[s_i]
			:: else
			fi;
			s_i++
		:: else -> break
		od;
		s_i = 0
	}
}

/* leave() - the store at index k reaches memory */
inline leave(me, k)
{
	mem[sb[me].at[k]] = sb[me].val[k];
	s_i = k;
	do
	:: s_i + 1 < sb[me].fill ->
		sb[me].at[s_i] = sb[me].at[s_i + 1];
		sb[me].val[s_i] = sb[me].val[s_i + 1];
		s_i++
	:: else -> break
	od;
	sb[me].at[s_i] = 0;
	sb[me].val[s_i] = 0;
	s_i = 0;
	sb[me].fill--
}

#define elsewhere(j, k)	(sb[me].at[j] != sb[me].at[k])
#define plain(k)	(sb[me].fill > k && sb[me].at[k] >= PLAIN)

proctype drain(bit me)
{
end:	do
	:: d_step { sb[me].fill > 0 -> leave(me, 0) }
#ifdef PSO
	:: d_step { plain(1) && elsewhere(0, 1) -> leave(me, 1) }
	:: d_step { plain(2) && elsewhere(0, 2) && elsewhere(1, 2) ->
		leave(me, 2) }
	:: d_step { plain(3) && elsewhere(0, 3) && elsewhere(1, 3) &&
		elsewhere(2, 3) -> leave(me, 3) }
	:: d_step { plain(4) && elsewhere(0, 4) && elsewhere(1, 4) &&
		elsewhere(2, 4) && elsewhere(3, 4) -> leave(me, 4) }
#endif
	od
}
