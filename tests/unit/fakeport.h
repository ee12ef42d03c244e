/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fakeport.h - a port that remembers what it was sent, and frames to send. Unit
 * tests of switch and port include it.
 */
#ifndef VIADUCT_TESTS_FAKEPORT_H
#define VIADUCT_TESTS_FAKEPORT_H

#include "port/port.h"

#define FAKE_KEEP 256u  /* frames that one port remembers */
#define FAKE_LEN  2048u /* bytes of each */

/* A frame as plain bytes. */
struct flat {
	uint32_t len; /* true length; only FAKE_LEN bytes are kept */
	struct frame_hdr hdr;
	uint8_t byte[FAKE_LEN];
};

struct fake_port {
	struct port port;
	unsigned room; /* frames it still takes; UINT_MAX: any number */
	unsigned sends, flushes;
	unsigned n; /* frames remembered, those beyond FAKE_KEEP forgotten */
	struct flat got[FAKE_KEEP];
};

void fake_port_init(struct fake_port *p, const char *name);

/* An input that remembers too: what a port under test put into the switch. */
unsigned fake_input(struct port *p, struct frame *const *f, unsigned n,
                    unsigned flags);
/* The port that fake_input() remembers for; its room counts. */
void fake_input_into(struct port *from, struct fake_port *into);

/* A frame in its sender's memory. */
struct made {
	struct frame frame;
	struct seg seg[2];
	uint8_t byte[70000];
	uint32_t len;
};

/* Cut @len bytes (at most 70000) into head and two segments. */
void made_init(struct made *m, const uint8_t *byte, uint32_t len);

void flat_of(struct flat *to, const struct frame *f);

#endif
