/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer.c - a scripted front end and a small device.
 */
#include "peer.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

/* --- the device --------------------------------------------------------- */

static void dev_connected(void *ctx)
{
	((struct peer_device *)ctx)->connects++;
}

static void dev_disconnected(void *ctx)
{
	struct peer_device *d = ctx;

	d->disconnects++;
	for (unsigned i = 0; i < PEER_QUEUES; i++)
		assert_false(d->in_queue[i]);
}

static int dev_set_features(void *ctx, uint64_t features)
{
	struct peer_device *d = ctx;

	d->features = features;
	d->feature_sets++;
	return 0;
}

static void dev_queue_start(void *ctx, struct vd_queue *q)
{
	struct peer_device *d = ctx;

	assert_false(d->in_queue[q->index]);
	d->in_queue[q->index] = true;
	d->starts++;
}

static void dev_queue_stop(void *ctx, struct vd_queue *q)
{
	struct peer_device *d = ctx;

	assert_true(d->in_queue[q->index]);
	d->in_queue[q->index] = false;
	d->stops++;
}

static void dev_queue_enable(void *ctx, struct vd_queue *q, bool on)
{
	struct peer_device *d = ctx;

	assert_true(d->in_queue[q->index]);
	assert_int_equal(q->enabled, on);
	d->enables++;
}

static void answer(struct vd_queue *q, const struct chain *c)
{
	const struct seg *s = &q->burst.seg[c->first + c->nread];

	for (unsigned i = 0; i < c->nwrite; i++)
		memset(s[i].base, 0x5a, s[i].len);
	ring_give_any(&q->ring, &q->burst, c, c->write_len);
}

static int dev_queue_ready(void *ctx, struct vd_queue *q)
{
	struct peer_device *d = ctx;
	struct burst *b = &q->burst;
	int n;

	assert_true(d->in_queue[q->index]);
	b->n = b->nseg = 0;
	n = ring_take_any(&q->ring, b, RING_BURST);
	for (int i = 0; i < n; i++)
		answer(q, &b->chain[i]);
	if (n > 0) {
		d->chains += (unsigned)n;
		queue_flush(q);
	}
	return n;
}

static int dev_get_config(void *ctx, void *to, size_t off, size_t len)
{
	assert_true(off + len <= PEER_CONFIG);
	memcpy(to, ((struct peer_device *)ctx)->config + off, len);
	return 0;
}

static int dev_set_config(void *ctx, const void *from, size_t off, size_t len,
                          bool migration)
{
	struct peer_device *d = ctx;

	assert_true(off + len <= PEER_CONFIG);
	if (off < 6 && !migration)
		return -EACCES;
	memcpy(d->config + off, from, len);
	d->migration = migration;
	d->config_sets++;
	return 0;
}

static int dev_set_mtu(void *ctx, uint64_t mtu)
{
	((struct peer_device *)ctx)->mtu = mtu;
	return mtu < 68 || mtu > 65535 ? -EINVAL : 0;
}

static int dev_send_rarp(void *ctx, const uint8_t mac[6])
{
	struct peer_device *d = ctx;

	memcpy(d->mac, mac, 6);
	d->rarps++;
	return 0;
}

static void dev_set_status(void *ctx, uint8_t status)
{
	struct peer_device *d = ctx;

	d->status = status;
	d->status_sets++;
}

static void dev_reset(void *ctx)
{
	((struct peer_device *)ctx)->resets++;
}

static const struct device_ops dev_ops = {
	.kind = "test",
	/* in order, a MAC address, and what a network device offers */
	.features = VIRTIO_F_IN_ORDER | VIRTIO_F_RING_RESET | 0x0021ffa7,
	.queues = PEER_QUEUES,
	.queue_num = PEER_QUEUES / 2,
	.config_size = PEER_CONFIG,
	.connected = dev_connected,
	.disconnected = dev_disconnected,
	.set_features = dev_set_features,
	.queue_start = dev_queue_start,
	.queue_stop = dev_queue_stop,
	.queue_enable = dev_queue_enable,
	.queue_ready = dev_queue_ready,
	.get_config = dev_get_config,
	.set_config = dev_set_config,
	.set_mtu = dev_set_mtu,
	.send_rarp = dev_send_rarp,
	.set_status = dev_set_status,
	.reset = dev_reset,
};

/* --- life --------------------------------------------------------------- */

static void peer_prepare(struct peer *p)
{
	memset(p, 0, sizeof(*p));
	p->fd = -1;
	p->dev.ops = dev_ops;
	p->memfd = memfd_create("guest", MFD_CLOEXEC);
	assert_int_equal(ftruncate(p->memfd, PEER_MEM_BYTES), 0);
	p->mem = mmap(NULL, PEER_MEM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
	              p->memfd, 0);
	assert_true(p->mem != MAP_FAILED);
	for (unsigned i = 0; i < PEER_QUEUES; i++)
		p->ring[i].kick = p->ring[i].call = p->ring[i].err = -1;
}

void peer_open_conf(struct peer *p, const struct vhost_backend_conf *c)
{
	int err;

	peer_prepare(p);
	p->loop = loop_new(&err);
	assert_non_null(p->loop);
	p->b = vhost_backend_new(p->loop, &p->dev.ops, &p->dev, c, &err);
	assert_int_equal(err, 0);
}

void peer_open(struct peer *p)
{
	struct vhost_backend_conf c = { .tag = "test" };
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s),
	                 0);
	c.fd = s[0];
	peer_open_conf(p, &c);
	p->fd = s[1];
}

void peer_open_lib(struct peer *p, const struct vd_device_ops *ops, void *ctx)
{
	struct vd_backend_opts o = { .size = sizeof(o), .tag = "lib" };
	int s[2], err;

	peer_prepare(p);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s),
	                 0);
	o.fd = s[0];
	p->fd = s[1];
	p->lib = vd_backend_new(ops, ctx, &o, &err);
	assert_non_null(p->lib);
}

void peer_close(struct peer *p)
{
	vd_backend_free(p->lib);
	vhost_backend_free(p->b);
	loop_free(p->loop);
	fd_close(&p->fd);
	munmap(p->mem, PEER_MEM_BYTES);
	close(p->memfd);
	for (unsigned i = 0; i < PEER_QUEUES; i++) {
		fd_close(&p->ring[i].kick);
		fd_close(&p->ring[i].call);
		fd_close(&p->ring[i].err);
		free(p->ring[i].slot);
		free(p->ring[i].free_id);
	}
}

void peer_turn(struct peer *p)
{
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(p->lib ? vd_backend_process(p->lib)
		                        : loop_turn(p->loop, 0),
		                 0);
}

bool peer_is_connected(struct peer *p)
{
	struct pollfd pfd = { .fd = p->fd };

	peer_turn(p);
	return p->fd >= 0 && poll(&pfd, 1, 0) >= 0 && !(pfd.revents & POLLHUP);
}

/* --- messages ----------------------------------------------------------- */

void peer_put(struct peer *p, const void *bytes, size_t n, struct peer_fds f)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(64 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)bytes, n };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (f.n) {
		h.msg_control = control.bytes;
		h.msg_controllen = CMSG_SPACE(f.n * sizeof(int));
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(f.n * sizeof(int));
		memcpy(CMSG_DATA(c), f.fd, f.n * sizeof(int));
	}
	/* A back end that has hung up is found out by who waits for it. */
	sendmsg(p->fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void send_flags(struct peer *p, const struct vhost_user_hdr *h,
                       const void *body, struct peer_fds f)
{
	char bytes[sizeof(*h) + sizeof(union vhost_user_payload)];
	size_t room = sizeof(bytes) - sizeof(*h);

	memcpy(bytes, h, sizeof(*h));
	memset(bytes + sizeof(*h), 0, room);
	if (body)
		memcpy(bytes + sizeof(*h), body, min_of(h->size, room));
	peer_put(p, bytes, sizeof(*h) + min_of(h->size, room), f);
}

void peer_send(struct peer *p, uint32_t request, const void *body,
               uint32_t size, struct peer_fds f)
{
	struct vhost_user_hdr h = { request, VHOST_USER_VERSION, size };

	send_flags(p, &h, body, f);
}

static void keep_fds(struct peer_msg *m, struct msghdr *h)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(h);

	if (!c)
		return;
	m->nfds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(m->fd, CMSG_DATA(c), m->nfds * sizeof(int));
}

static bool receive_bytes(struct peer *p, struct peer_msg *m, void *to,
                          size_t len)
{
	char control[CMSG_SPACE(VHOST_USER_FDS_MAX * sizeof(int))];
	size_t got = 0;

	for (unsigned tries = 0; got < len && tries < 100; tries++) {
		struct iovec iov = { (char *)to + got, len - got };
		struct msghdr h = { .msg_iov = &iov,
			            .msg_iovlen = 1,
			            .msg_control = control,
			            .msg_controllen = sizeof(control) };
		ssize_t n = recvmsg(p->fd, &h, MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			return false;
		if (n > 0) {
			keep_fds(m, &h);
			got += (size_t)n;
		} else {
			peer_turn(p);
		}
	}
	return got == len;
}

bool peer_receive(struct peer *p, struct peer_msg *m)
{
	memset(m, 0, sizeof(*m));
	if (!receive_bytes(p, m, &m->hdr, sizeof(m->hdr)))
		return false;
	assert_int_equal(m->hdr.flags, VHOST_USER_VERSION | VHOST_USER_F_REPLY);
	assert_true(m->hdr.size <= sizeof(m->body));
	return receive_bytes(p, m, &m->body, m->hdr.size);
}

uint64_t peer_get_u64(struct peer *p, uint32_t request)
{
	struct peer_msg m;

	peer_send(p, request, NULL, 0, NO_FDS);
	assert_true(peer_receive(p, &m));
	assert_int_equal(m.hdr.request, request);
	assert_int_equal(m.hdr.size, 8);
	return m.body.u64;
}

int peer_ask(struct peer *p, uint32_t request, const void *body, uint32_t size,
             struct peer_fds f)
{
	struct vhost_user_hdr h = {
		request, VHOST_USER_VERSION | VHOST_USER_F_NEED_REPLY, size
	};
	struct peer_msg m;

	send_flags(p, &h, body, f);
	if (!peer_receive(p, &m))
		return -1;
	assert_int_equal(m.hdr.request, request);
	assert_int_equal(m.hdr.size, 8);
	assert_int_equal(m.nfds, 0);
	return (int)m.body.u64;
}

int peer_ask_u64(struct peer *p, uint32_t request, uint64_t value)
{
	return peer_ask(p, request, &value, sizeof(value), NO_FDS);
}

int peer_ask_state(struct peer *p, uint32_t request, uint32_t index,
                   uint32_t num)
{
	struct vhost_user_vring_state s = { index, num };

	return peer_ask(p, request, &s, sizeof(s), NO_FDS);
}

int peer_ask_fd(struct peer *p, uint32_t request, uint64_t word, int fd)
{
	if (fd < 0)
		word |= VHOST_USER_VRING_NOFD;
	return peer_ask(p, request, &word, sizeof(word),
	                (struct peer_fds){ &fd, fd >= 0 });
}

uint32_t peer_get_base(struct peer *p, unsigned index)
{
	struct vhost_user_vring_state s = { index, 0 };
	struct peer_msg m;

	peer_send(p, VHOST_USER_GET_VRING_BASE, &s, sizeof(s), NO_FDS);
	assert_true(peer_receive(p, &m));
	assert_int_equal(m.hdr.request, VHOST_USER_GET_VRING_BASE);
	assert_int_equal(m.hdr.size, sizeof(s));
	assert_int_equal(m.body.state.index, index);
	return m.body.state.num;
}

/* --- steps -------------------------------------------------------------- */

void peer_negotiate(struct peer *p, uint64_t features)
{
	uint64_t offered = peer_get_u64(p, VHOST_USER_GET_FEATURES);
	uint64_t protocol;

	assert_true(offered & VHOST_USER_F_PROTOCOL_FEATURES);
	protocol = peer_get_u64(p, VHOST_USER_GET_PROTOCOL_FEATURES);
	peer_send(p, VHOST_USER_SET_PROTOCOL_FEATURES, &protocol, 8, NO_FDS);
	peer_send(p, VHOST_USER_SET_OWNER, NULL, 0, NO_FDS);
	features |= VHOST_USER_F_PROTOCOL_FEATURES;
	assert_int_equal(features & ~offered, 0);
	assert_int_equal(peer_ask_u64(p, VHOST_USER_SET_FEATURES, features), 0);
	p->features = features;
}

int peer_set_memory(struct peer *p)
{
	struct vhost_user_mem_table t = {
		.nregions = 1,
		.region = { { PEER_GPA, PEER_MEM_BYTES, PEER_UVA, 0 } }
	};

	return peer_ask(p, VHOST_USER_SET_MEM_TABLE, &t,
	                VHOST_USER_MEM_TABLE_BYTES(1),
	                (struct peer_fds){ &p->memfd, 1 });
}

int peer_set_addr(struct peer *p, unsigned index, uint32_t flags)
{
	uint64_t at = PEER_UVA + (uint64_t)index * PEER_RING_GAP;
	struct vhost_user_vring_addr a = {
		.index = index,
		.flags = flags,
		.desc = at,
		.avail = at + 0x4000,
		.used = at + 0x5000,
		.log = at - PEER_UVA + PEER_GPA + 0x5000,
	};

	return peer_ask(p, VHOST_USER_SET_VRING_ADDR, &a, sizeof(a), NO_FDS);
}

static void start_driver(struct peer *p, unsigned index, uint32_t size)
{
	uint8_t *at = p->mem + (size_t)index * PEER_RING_GAP;
	struct drv_conf c = { .features = p->features, .size = size };

	memset(at, 0, PEER_RING_GAP);
	free(p->ring[index].slot);
	free(p->ring[index].free_id);
	c.slot = p->ring[index].slot = calloc(size, sizeof(*c.slot));
	c.free_id = p->ring[index].free_id = calloc(size, sizeof(*c.free_id));
	c.desc = at;
	c.driver = at + 0x4000;
	c.device = at + 0x5000;
	assert_int_equal(drv_start(&p->ring[index].drv, &c), 0);
	p->ring[index].size = size;
}

static int fresh_event(int *fd)
{
	fd_replace(fd, fd_event_new());
	return *fd;
}

void peer_setup_ring(struct peer *p, unsigned index, uint32_t size)
{
	bool packed = p->features & VIRTIO_F_RING_PACKED;
	uint32_t base = ring_position_initial(packed);

	start_driver(p, index, size);
	assert_int_equal(peer_ask_state(p, VHOST_USER_SET_VRING_NUM, index,
	                                size),
	                 0);
	assert_int_equal(peer_ask_state(p, VHOST_USER_SET_VRING_BASE, index,
	                                base),
	                 0);
	assert_int_equal(peer_set_addr(p, index, 0), 0);
	assert_int_equal(peer_ask_fd(p, VHOST_USER_SET_VRING_CALL, index,
	                             fresh_event(&p->ring[index].call)),
	                 0);
	assert_int_equal(peer_ask_fd(p, VHOST_USER_SET_VRING_ERR, index,
	                             fresh_event(&p->ring[index].err)),
	                 0);
	assert_int_equal(peer_ask_fd(p, VHOST_USER_SET_VRING_KICK, index,
	                             fresh_event(&p->ring[index].kick)),
	                 0);
}

void peer_run(struct peer *p, uint64_t features, unsigned index, uint32_t size)
{
	peer_negotiate(p, features);
	assert_int_equal(peer_set_memory(p), 0);
	peer_setup_ring(p, index, size);
	assert_int_equal(peer_ask_state(p, VHOST_USER_SET_VRING_ENABLE, index,
	                                1),
	                 0);
}

/* --- traffic ------------------------------------------------------------ */

/* Data lies behind the rings. */
#define DATA_AT (PEER_QUEUES * PEER_RING_GAP)

void peer_offer(struct peer *p, unsigned index, uint32_t read, uint32_t write)
{
	struct drv_piece piece[2] = {
		{ PEER_GPA + DATA_AT, read },
		{ PEER_GPA + DATA_AT + 0x1000, write },
	};
	struct drv_buf buf = { .piece = read ? piece : piece + 1,
		               .nread = read != 0,
		               .nwrite = write != 0,
		               .token = 42 };
	struct drv *d = &p->ring[index].drv;

	assert_int_equal(drv_add(d, &buf), 0);
	drv_publish(d);
	if (drv_kick_wanted(d))
		fd_event_signal(p->ring[index].kick);
}

void peer_echo(struct peer *p, unsigned index, unsigned n)
{
	struct drv *d = &p->ring[index].drv;
	struct drv_done done;

	for (unsigned i = 0; i < n; i++) {
		int got = 0;

		memset(p->mem + DATA_AT + 0x1000, 0, 16);
		peer_offer(p, index, 8, 16);
		for (unsigned t = 0; !got && t < 1000; t++) {
			p->lib ? vd_backend_process(p->lib)
			       : loop_turn(p->loop, 0);
			got = drv_reap(d, &done, 1);
		}
		assert_int_equal(got, 1);
		assert_int_equal(done.written, 16);
		assert_int_equal(done.token, 42);
		for (unsigned j = 0; j < 16; j++)
			assert_int_equal(p->mem[DATA_AT + 0x1000 + j], 0x5a);
	}
}

struct vhost_queue_info peer_queue(struct peer *p, unsigned index)
{
	struct vhost_queue_info i;

	peer_turn(p);
	assert_int_equal(vhost_backend_queue_info(p->b, index, &i), 0);
	return i;
}

unsigned peer_open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}
