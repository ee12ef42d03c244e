/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a wake-up ever lost? The notification protocol of a virtqueue.
 *
 * N buffers go round between two sides. Each side looks for buffers that the
 * other published, takes some, publishes some of those in its hand, and asks
 * for a notification before it sleeps. The two differ in one thing: the driver
 * starts with all buffers in its hand, the device with none. So one body is
 * both, and a kick and an interrupt are the same model twice.
 *
 *	busy ----- look, take ----> hand > 0 ----> publish, fence [C],
 *	 ^  ^                                      wanted? ring --> busy
 *	 |  '- found -.
 *	 |            |
 *	 |    ask, fence [D], look again -- nothing --> asleep
 *	 |                                                |
 *	 '------------------- rung -----------------------'
 *
 * Every choice that a real driver or device has is left open: how many to
 * take, to publish, how long to delay the notification, when to stop.
 *
 * Parameters (cpp): PACKED, EVENT_IDX, N buffers, SPACE the modulus of the
 * event arithmetic (65536 in life, 2 * N is the tightest legal), PSO, and
 * CUT_C, CUT_D: whose fence is missing, 1 the driver's, 2 the device's.
 * RING_FENCE makes ringing a full fence, too: never in a run that has to pass.
 *
 * Not here: what is in a buffer (pairs A, B, E, F), chains, faults.
 *
 * [spec: split.avail-notify.barrier, packed.avail-notify.barrier,
 * split.avail-notify.event-sends, split.avail-notify.flags-zero-sends,
 * split.used-notify.event-sends, split.used-notify.flags-zero-sends,
 * split.avail-notify.spurious, split.used-notify.spurious]
 */
#define DRIVER		0
#define DEVICE		1

#ifndef N
#define N		2
#endif
#ifndef SPACE
#define SPACE		(2 * N)
#endif
#ifndef CUT_C
#define CUT_C		0
#endif
#ifndef CUT_D
#define CUT_D		0
#endif

#define is_cut(cut, me)	((cut >> me) & 1)
#define fence_c(me)	(is_cut(CUT_C, me) || fence(me))
#define fence_d(me)	(is_cut(CUT_D, me) || fence(me))

/* The position n steps on; the number of steps from b forward to a, both positions. */
#define ahead(pos, n)	((pos + (n)) % SPAN)
#define away(a, b)	((a + SPAN - b) % SPAN)
/* The last `count` steps to `now` passed event + 1: need_event in the code. */
#define passed(event, now, count) \
	(((now + 2 * SPACE - (event) - 1) % SPACE) < (count))

#ifdef PACKED
#define RING_FILE	"packed.pml"
#endif

byte wpos[2];			/* position of the next buffer to publish */
byte rpos[2];			/* position of the next buffer to take */
byte added[2];			/* published since the last decision to ring */

#ifdef PACKED
#include "packed.pml"
#else
#include "split.pml"
#endif
#include "memory.pml"

#define AWAKE		0
#define ASLEEP		1	/* waits to be rung */
#define OFF		2	/* sleeps, and does not care what comes back */

bit rung[2];			/* an eventfd: set until it is read */
byte rest[2];
byte want[2];			/* who is asleep wants to hear of this many */

inline ring(me)
{
#ifdef RING_FENCE
	fence(me);
#endif
	rung[1 - me] = 1
}

/* At most this many buffers can come to me: ask for no more than these. */
#ifdef EVENT_IDX
#define most(me)	(me == DRIVER && hand < N -> N - hand : 1)
#else
#define most(me)	1
#endif

proctype side(bit me)
{
	byte hand = (me == DRIVER -> N : 0);
	byte n, x, c;
	bit asked = 1;		/* my last word stands: tell me */

busy:	atomic {
		if			/* who is awake may read its eventfd */
		:: rung[me] = 0
		:: skip
		fi;
		look(me);
		if
		:: n > 0 -> goto take
		:: n == 0 && hand > 0 -> goto give
		:: n == 0 && hand > 0 && me == DRIVER -> goto off
		:: n == 0 -> goto arm
		fi
	}

take:	atomic {
		hand++;
		rpos[me] = ahead(rpos[me], 1);
		n = 0;
		want[me] = 0;
		if
		:: asked -> hush(me)
		:: skip
		fi;
		asked = 0
	}
progress:
	atomic {
		if
		:: goto busy
		:: goto give
		:: goto arm
		fi
	}

give:	atomic {
		publish(me);
		hand--;
		added[me] = (added[me] < SPACE - 1 -> added[me] + 1 : SPACE - 1);
		if
		:: hand > 0 -> goto give	/* the notification can wait */
		:: skip
		fi
	}
	atomic {
		fence_c(me);
		ask_wanted(me)
	}
#ifdef TWO_LOADS
	ask_wanted_more(me);
#endif
	atomic {
		if
		:: is_wanted(x, me) -> ring(me)
		:: else
		fi;
		x = 0;
		added[me] = 0;
		if
		:: asked -> goto sleep
		:: goto busy
		fi
	}

arm:	atomic {
		c = 1;
		do
		:: c < most(me) -> c++
		:: break
		od;
		ask(me, c);
		want[me] = c;
		c = 0;
		asked = 1
	}
	atomic {
		fence_d(me);
		look(me);
		if
		:: n > 0 -> goto take
		:: else
		fi
	}
sleep:	atomic {
		rest[me] = ASLEEP;
		goto wait
	}
off:	rest[me] = OFF;
wait:	atomic {
		if
		:: rung[me] -> rung[me] = 0; rest[me] = AWAKE; goto busy
		:: hand > 0 -> rest[me] = AWAKE; goto give
		fi
	}
}

/* At rest: nothing will happen until somebody outside wants something. */
#define is_at_rest \
	(rest[DRIVER] && rest[DEVICE] && !rung[DRIVER] && !rung[DEVICE] && \
	fence(DRIVER) && fence(DEVICE))
#define is_forgotten(s) \
	(rest[s] == ASLEEP && away(wpos[1 - s], rpos[s]) >= want[s])

proctype watch()
{
	bool lost_wake_up = true;

end:	atomic {
		is_at_rest && (is_forgotten(DRIVER) || is_forgotten(DEVICE)) ->
		assert(!lost_wake_up)
	}
}

init {
	atomic {
		want[DRIVER] = 1; want[DEVICE] = 1;
		run side(DRIVER);
		run side(DEVICE);
		run drain(DRIVER);
		run drain(DEVICE);
		run watch()
	}
}
