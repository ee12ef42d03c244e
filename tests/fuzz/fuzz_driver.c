/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device that answers and writes what it likes. The first part of an input is
 * laid over the answers of a well-behaved device, byte by byte; when the driver
 * opens in spite of it, the rest are writes into the rings and the buffers,
 * between bursts. Whatever it is, what the driver hands out lies in its own
 * memory.
 */
#include <viaduct/driver.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "driver/state.h"

#define PAIRS 2u
#define SIZE  8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct script {
	uint8_t bytes[4096];
	size_t len;
};

static void say(struct script *s, uint32_t request, const void *body,
                uint32_t len)
{
	struct vhost_user_hdr h = { request,
		                    VHOST_USER_VERSION | VHOST_USER_F_REPLY,
		                    len };

	memcpy(s->bytes + s->len, &h, sizeof(h));
	memcpy(s->bytes + s->len + sizeof(h), body, len);
	s->len += sizeof(h) + len;
}

static void say_u64(struct script *s, uint32_t request, uint64_t x)
{
	say(s, request, &x, sizeof(x));
}

static void say_vring(struct script *s)
{
	static const uint32_t order[] = {
		VHOST_USER_SET_VRING_NUM,  VHOST_USER_SET_VRING_BASE,
		VHOST_USER_SET_VRING_ADDR, VHOST_USER_SET_VRING_ERR,
		VHOST_USER_SET_VRING_CALL, VHOST_USER_SET_VRING_KICK,
	};

	for (size_t i = 0; i < array_len(order); i++)
		say_u64(s, order[i], 0);
}

/* What a device says from the first message to the last. */
static void write_script(struct script *s, uint64_t features)
{
	uint64_t protocol =
		VHOST_USER_PROTOCOL_F_REPLY_ACK | VHOST_USER_PROTOCOL_F_MQ |
		VHOST_USER_PROTOCOL_F_CONFIG | VHOST_USER_PROTOCOL_F_STATUS;
	struct vhost_user_config c = {
		.size = offsetof(struct virtio_net_config, speed)
	};

	say_u64(s, VHOST_USER_GET_FEATURES,
	        features | VHOST_USER_F_PROTOCOL_FEATURES | VIRTIO_NET_F_MQ |
	                VIRTIO_F_VERSION_1);
	say_u64(s, VHOST_USER_GET_PROTOCOL_FEATURES, protocol);
	say_u64(s, VHOST_USER_GET_QUEUE_NUM, PAIRS);
	say_u64(s, VHOST_USER_SET_STATUS, 0);
	say(s, VHOST_USER_GET_CONFIG, &c, VHOST_USER_CONFIG_HDR_BYTES + c.size);
	say_u64(s, VHOST_USER_SET_FEATURES, 0);
	say_u64(s, VHOST_USER_SET_STATUS, 0);
	say_u64(s, VHOST_USER_GET_STATUS, VIRTIO_STATUS_FEATURES_OK);
	say_u64(s, VHOST_USER_SET_MEM_TABLE, 0);
	for (unsigned i = 0; i < 2 * PAIRS; i++)
		say_vring(s);
	say_u64(s, VHOST_USER_SET_STATUS, 0);
	for (unsigned i = 0; i < 2 * PAIRS; i++)
		say_u64(s, VHOST_USER_SET_VRING_ENABLE, 0);
}

static void must_be_ours(const struct vd_driver *d, const struct vd_packet *p)
{
	const uint8_t *from = d->arena.base, *to = from + d->arena.size;
	size_t len = 0;

	for (unsigned i = 0; i < p->niov; i++) {
		const uint8_t *at = p->iov[i].iov_base;

		if (at < from || p->iov[i].iov_len > (size_t)(to - at))
			abort();
		len += p->iov[i].iov_len;
	}
	if (len != p->len)
		abort();
}

static void bursts(struct vd_driver *d, unsigned pair)
{
	static uint8_t frame[5000];
	struct iovec iov[2] = { { frame, 14 }, { frame + 14, 3000 } };
	struct vd_packet out = { .iov = iov, .niov = 1 + pair }, in[4];
	int n;

	vd_driver_send(d, pair, &out, 1);
	n = vd_driver_receive(d, pair, in, 4);
	for (int i = 0; i < n; i++)
		must_be_ours(d, &in[i]);
	vd_driver_pending(d, pair);
}

/* Four bytes a write: where (ring areas come first), and what. */
static void scribble(struct vd_driver *d, const uint8_t *data, size_t size)
{
	for (; size >= 4; data += 4, size -= 4) {
		size_t at = (size_t)(data[0] | data[1] << 8) * 2;
		const struct vring *v = &d->vring[data[0] % (2 * PAIRS)];

		/* Half of them go where they hurt most. */
		if (data[1] & 0x80)
			at = (v->packed ? v->desc : v->device) +
			     (data[1] & 0x7f);
		if (at + 2 <= d->arena.size)
			memcpy(d->arena.base + at, data + 2, 2);
		bursts(d, data[0] % PAIRS);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vd_driver_opts o = { .size = sizeof(o),
		                    .queue_pairs = PAIRS,
		                    .queue_size = SIZE,
		                    .timeout_ms = 100 };
	struct script s = { .len = 0 };
	struct vd_driver *d;
	size_t lies, at;
	int pair[2], err;

	if (size < 4 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return 0;
	write_script(&s, (uint64_t)data[0] << 28 | (uint64_t)data[1] << 8);
	/* Each lie: two bytes say where, one what. */
	lies = data[2] % 4;
	for (at = 3; lies && at + 3 <= size; at += 3, lies--)
		s.bytes[(data[at] | data[at + 1] << 8) % s.len] ^= data[at + 2];
	if (write(pair[1], s.bytes, s.len) != (ssize_t)s.len)
		abort();
	shutdown(pair[1], SHUT_WR);
	fd_set_nonblock(pair[0]);
	o.fd = pair[0];
	d = vd_driver_open(&o, &err);
	if (d && d->npairs == PAIRS && at < size)
		scribble(d, data + at, size - at);
	vd_driver_close(d);
	close(pair[1]);
	return 0;
}
