/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctrlq.c - commands to the device, each waited for.
 */
#include "driver/ctrlq.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "driver/clock.h"

#define HALF     (CTRLQ_BUF / 2)
#define HDR      ((unsigned)sizeof(struct virtio_net_ctrl_hdr))
#define NO_REPLY 0xffu /* in the place of the answer; no legal one */

int ctrlq_init(struct ctrlq *c, struct vring *v)
{
	return netq_init(&c->q, &(struct netq_conf){ v, CTRLQ_BUF, 1 });
}

void ctrlq_fini(struct ctrlq *c)
{
	netq_fini(&c->q);
}

int ctrlq_start(struct ctrlq *c, const struct arena *a, uint64_t features)
{
	c->stuck = false;
	return netq_start(&c->q, a, features);
}

/* Ask, in three pieces: header and data, the answer, its data. */
static int ask(struct ctrlq *c, const struct vd_control *m)
{
	uint8_t *at = netq_buf(&c->q, 0);
	uint64_t gpa = netq_buf_gpa(&c->q, 0);
	struct drv_piece piece[] = {
		{ gpa, HDR + (uint32_t)m->len },
		{ gpa + HALF, 1 + (uint32_t)m->reply_len },
	};
	struct drv_buf b = { .piece = piece, .nread = 1, .nwrite = 1 };

	at[0] = m->kind;
	at[1] = m->command;
	if (m->len)
		memcpy(at + HDR, m->data, m->len);
	at[HALF] = NO_REPLY;
	if (drv_add(&c->q.ring, &b))
		return -EBADMSG;
	drv_publish(&c->q.ring);
	netq_kick(&c->q);
	return 0;
}

/* Until the device has used the buffer: bytes it wrote, or negative. */
static int await(struct ctrlq *c, unsigned timeout_ms)
{
	uint64_t end = clock_ns() + timeout_ms * CLOCK_NS_PER_MS;
	struct pollfd p = { .fd = c->q.vr->call_fd, .events = POLLIN };
	struct drv_done done;

	for (;;) {
		uint64_t now;
		int n = drv_reap(&c->q.ring, &done, 1);

		if (n)
			return n < 0 ? -EBADMSG : (int)done.written;
		now = clock_ns();
		if (now >= end)
			return -ETIMEDOUT;
		if (drv_call_enable(&c->q.ring, 1))
			continue;
		poll(&p, 1, (int)((end - now) / CLOCK_NS_PER_MS) + 1);
		netq_drain_calls(&c->q);
	}
}

int ctrlq_command(struct ctrlq *c, const struct vd_control *m,
                  unsigned timeout_ms)
{
	const uint8_t *answer;
	int n;

	if (m->len > HALF - HDR || m->reply_len > HALF - 1)
		return -EMSGSIZE;
	if (c->stuck)
		return -ETIMEDOUT;
	n = ask(c, m);
	if (!n)
		n = await(c, timeout_ms);
	if (n < 0) {
		c->stuck = true;
		return n;
	}
	answer = netq_buf(&c->q, 0) + HALF;
	if (n < 1 || answer[0] != VIRTIO_NET_OK)
		return -EREMOTEIO;
	if (m->reply_len) {
		if ((size_t)n < 1 + m->reply_len)
			return -EREMOTEIO;
		memcpy(m->reply, answer + 1, m->reply_len);
	}
	return 0;
}
