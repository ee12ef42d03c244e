/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_port_stream.c - what a peer of a stream port may write.
 *
 * Input: the bytes, written in pieces; the first byte of each says its length.
 * Frames that come out are of possible length and lie where they say.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "port/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct port *port;
static struct endpoint at;
static unsigned sum;

static unsigned look(struct port *p, struct frame *const *f, unsigned n,
                     unsigned flags)
{
	unsigned take =
		flags & SEND_LOSSY || p->count.in_frames++ % 7 ? n : n / 2;

	for (unsigned i = 0; i < take; i++) {
		assert(f[i]->len >= 1 && f[i]->len <= FRAME_LEN_MAX);
		for (unsigned k = 0; k < f[i]->head_len; k++)
			sum += frame_head(f[i])[k];
		for (size_t k = 0; f[i]->nseg && k < f[i]->seg->len; k++)
			sum += ((uint8_t *)f[i]->seg->base)[k];
	}
	return take;
}

static void end(void)
{
	port->ops->close(port);
	loop_free(loop);
}

static void begin(void)
{
	struct stream_port_opts o = { .name = "fuzz" };
	char path[64];
	int err = 0;

	if (port)
		return;
	snprintf(path, sizeof(path), "/tmp/viaduct-fuzz-%d", (int)getpid());
	endpoint_path(&at, path);
	loop = loop_new(&err);
	assert(loop);
	o.at = at;
	port = stream_port_new(loop, &o, &err);
	assert(port);
	port->input = look;
	atexit(end);
}

static void settle(bool connected)
{
	for (unsigned i = 0;
	     i < 1000 && stream_port_is_connected(port) != connected; i++)
		loop_turn(loop, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	begin();
	fd = endpoint_connect(&at);
	assert(fd >= 0);
	settle(true);
	while (size > 1) {
		size_t n = min_of(16u * data[0] + 1, size - 1);

		if (send(fd, data + 1, n, MSG_NOSIGNAL) < 0)
			break; /* it hung up on us */
		loop_turn(loop, 0);
		data += 1 + n;
		size -= 1 + n;
	}
	close(fd);
	settle(false);
	return 0;
}
