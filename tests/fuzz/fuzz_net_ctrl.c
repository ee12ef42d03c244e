/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_net_ctrl.c - commands over the control queue, several in a row.
 *
 * Input: for each command a byte of length, a byte of framing, and the bytes.
 * Each has to be answered at once, with an ack and a true length; what was
 * asked for has to leave the device able to receive.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "netrig.h"

#define CTRL 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rig rig;

static void command(const uint8_t *bytes, uint32_t len, unsigned framing)
{
	uint64_t gpa = rig_alloc(&rig, len), back = rig_alloc(&rig, 16);
	struct drv_piece p[3] = { { gpa, len }, { back, 1 }, { back + 1, 8 } };
	unsigned nwrite = framing & 1 ? 2 : 1;
	uint32_t written = 0;

	memcpy(rig_at(&rig, gpa), bytes, len);
	*rig_at(&rig, back) = 7;
	assert(rig_offer(&rig, CTRL, len ? p : p + 1, !!len, nwrite) >= 0);
	drv_publish(&rig.queue[CTRL].drv);
	assert(rig.ops->queue_ready(rig.dev, &rig.queue[CTRL].q) == 1);
	assert(rig_reap(&rig, CTRL, &written) >= 0);
	assert(written == 1 || (written == 9 && nwrite == 2));
	assert(*rig_at(&rig, back) <= 1);
}

static void receive(void)
{
	struct frame f = { .len = 60,
		           .head_len = 60,
		           .head_at = FRAME_HEAD_ROOM };
	struct frame *p = &f;
	struct rx_result r = { 0 };

	assert(net_send(rig.dev, &p, 1, RX_LOSSY, &r) == 1);
	net_flush(rig.dev);
	assert(r.frames + r.drop_full <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct net_conf conf = { .pairs = 4 };
	static const struct net_events events;
	static bool open;

	if (!open)
		rig_open(&rig, &conf, &events,
		         ~UINT64_C(0) & ~(VIRTIO_F_RING_PACKED |
		                          VIRTIO_F_INDIRECT_DESC),
		         16);
	open = true;
	while (size >= 2) {
		uint32_t len = min_of(size - 2, data[0]);

		command(data + 2, len, data[1]);
		data += 2 + len;
		size -= 2 + len;
	}
	receive();
	return 0;
}
