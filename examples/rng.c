/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rng.c - a whole vhost-user entropy device.
 *
 *     cc rng.c $(pkg-config --cflags --libs viaduct) -o rng
 *     ./rng /tmp/rng.sock
 *     qemu-system-x86_64 ... -chardev socket,id=rng,path=/tmp/rng.sock \
 *         -device vhost-user-rng-pci,chardev=rng
 *
 * One queue: the driver offers buffers, we fill them with random bytes.
 * Spec: virtio 1.3, 5.4 Entropy Device.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <viaduct/device.h>

static struct vd_backend *backend;

/* Fill the writable buffers of a chain; how many bytes. */
static size_t fill(const struct vd_chain *c)
{
	size_t sum = 0;

	for (unsigned i = 0; i < c->nin; i++) {
		ssize_t n = getrandom(c->in[i].iov_base, c->in[i].iov_len, 0);

		if (n < 0)
			break;
		sum += (size_t)n;
		if ((size_t)n < c->in[i].iov_len)
			break;
	}
	return sum;
}

static void ready(void *ctx, struct vd_queue *q)
{
	struct vd_chain c;

	(void)ctx;
	while (vd_queue_take(q, &c) > 0)
		vd_queue_give(q, &c, fill(&c));
	vd_queue_flush(q);
}

static void print(void *ctx, enum vd_log_level level, const char *tag,
                  const char *text)
{
	(void)ctx;
	(void)level;
	fprintf(stderr, "%s: %s\n", tag, text);
}

static void on_signal(int nr)
{
	(void)nr;
	vd_backend_stop(backend);
}

int main(int argc, char **argv)
{
	struct vd_device_ops ops = {
		.size = sizeof(ops),
		.queues = 1,
		.queue_ready = ready,
	};
	struct vd_backend_opts opts = { .size = sizeof(opts), .tag = "rng" };
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: rng SOCKET\n");
		return 2;
	}
	opts.socket = argv[1];
	vd_log_set(print, NULL, VD_LOG_INFO);
	backend = vd_backend_new(&ops, NULL, &opts, &err);
	if (!backend) {
		fprintf(stderr, "rng: %s: %s\n", argv[1], strerror(-err));
		return 1;
	}
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	err = vd_backend_run(backend);
	vd_backend_free(backend);
	return err ? 1 : 0;
}
