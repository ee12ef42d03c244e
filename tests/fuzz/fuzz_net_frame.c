/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_net_frame.c - a chain that a guest transmits, from its header to the
 * last piece that segmentation makes of it.
 *
 * Input: four bytes of choices, then the chain's bytes: header and frame. Each
 * piece of memory is a block of its own, so that one byte too far is seen.
 * What comes out has to be as long as it says, and nothing longer than a packet
 * can be.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/filter.h"
#include "net/hdr.h"
#include "net/segment.h"
#include "net/steer.h"

#define PIECES 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct segmenter segmenter;
static struct steer steer;
static struct filter filter;
static uint8_t flat[1 << 17];

static uint32_t flatten(const struct frame *f)
{
	uint32_t n = f->head_len;

	assert(f->head_len <= FRAME_HEAD);
	memcpy(flat, frame_head(f), n);
	for (unsigned i = 0; i < f->nseg; i++) {
		assert(n + f->seg[i].len <= sizeof(flat));
		memcpy(flat + n, f->seg[i].base, f->seg[i].len);
		n += (uint32_t)f->seg[i].len;
	}
	assert(n == f->len);
	return n;
}

static void cut(const struct frame *f, unsigned allowed)
{
	const struct frame *piece;
	int count;

	if (!segment_needed(f, allowed))
		return;
	count = segment_start(&segmenter, f, allowed);
	if (count < 0)
		return;
	assert(count > 0);
	while ((piece = segment_next(&segmenter))) {
		assert(count-- > 0);
		assert(!piece->hdr.gso_type);
		flatten(piece);
	}
	assert(!count);
}

/* Memory in @n pieces of @step bytes, the last one takes the rest. */
static unsigned lay_out(struct seg *seg, const uint8_t *data, size_t size,
                        unsigned step)
{
	unsigned n = 0;

	while (size || !n) {
		size_t len = n == PIECES - 1 ? size : min_of(size, step);

		seg[n].base = malloc(len ? len : 1);
		seg[n].len = len;
		memcpy(seg[n++].base, data, len);
		data += len;
		size -= len;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seg seg[PIECES], keep[PIECES];
	struct burst b = { .seg = seg };
	struct chain c = { .first = 0 };
	struct hdr_rules rules;
	struct frame f;
	uint64_t features;

	if (size < 4)
		return 0;
	features = data[0] & 1 ? ~UINT64_C(0)
	                       : VIRTIO_F_VERSION_1 | VIRTIO_NET_F_CSUM;
	if (data[0] & 2)
		features &= ~(VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MRG_RXBUF);
	hdr_rules_set(&rules, features);
	c.nread = (uint16_t)lay_out(seg, data + 4, size - 4, data[1] + 1u);
	c.read_len = (uint32_t)(size - 4);
	memcpy(keep, seg, sizeof(keep));
	if (!hdr_read(&rules, &b, &c, &f)) {
		const struct frame *p = &f;

		flatten(&f);
		steer_set(&steer, data[3] | 1);
		steer_learn(&steer, (struct frame *const *)&p, 1, data[3] & 7);
		assert(steer_pick(&steer, &f) < 8);
		filter.vlan_open = false;
		filter_passes(&filter, &f);
		hdr_make(&f, true);
		cut(&f, data[2] & 127);
		cut(&f, 0);
	}
	for (unsigned i = 0; i < c.nread; i++)
		free(keep[i].base);
	return 0;
}
