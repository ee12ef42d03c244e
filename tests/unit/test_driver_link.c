/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole driver against a device of our own making, in a thread: one that
 * answers well, one that fails at each step in each way, one that writes
 * nonsense into its rings, one that goes away and comes back.
 */
#include <viaduct/driver.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/order.h"
#include "driver/arena.h"
#include "driver/sock.h"
#include "wire/net.h"
#include "wire/split.h"

enum failure { WELL, CLOSE, CLOSE_MIDWAY, WRONG_REQUEST, REFUSE, FAILURES };

struct device {
	int fd;
	pthread_t thread;
	uint64_t features, protocol;
	/* What goes wrong, at which message. */
	enum failure how;
	unsigned at, messages;

	uint64_t agreed, agreed_protocol;
	uint8_t status;
	uint8_t *memory; /* the first region */
	uint64_t memory_uva, memory_size;
	struct vhost_user_vring_addr ring[4];
	unsigned enabled;
	int call[4];
};

#define DEVICE_FEATURES                                               \
	(VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | VIRTIO_NET_F_MAC | \
	 VIRTIO_NET_F_MTU | VIRTIO_NET_F_STATUS | VIRTIO_NET_F_MQ |   \
	 VIRTIO_NET_F_MRG_RXBUF | VHOST_USER_F_PROTOCOL_FEATURES)
#define DEVICE_PROTOCOL                                            \
	(VHOST_USER_PROTOCOL_F_MQ | VHOST_USER_PROTOCOL_F_CONFIG | \
	 VHOST_USER_PROTOCOL_F_STATUS | VHOST_USER_PROTOCOL_F_BACKEND_REQ)

static void map_region(struct device *d, const struct vhost_user_region *r,
                       int fd)
{
	void *p = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	               (off_t)r->offset);

	if (p == MAP_FAILED || d->memory)
		return;
	d->memory = p;
	d->memory_uva = r->uva;
	d->memory_size = r->size;
}

static void *at_uva(const struct device *d, uint64_t uva)
{
	return d->memory + (uva - d->memory_uva);
}

/* Act on a message; true when it has an answer of its own, then in @m. */
static bool act(struct device *d, struct sock_msg *m)
{
	struct virtio_net_config c = { .mac = { 2, 0, 0, 0, 0, 9 },
		                       .status = le16_make(1),
		                       .mtu = le16_make(1400) };
	unsigned i = m->body.u64 & 0xff;

	switch (m->hdr.request) {
	case VHOST_USER_GET_FEATURES:
		m->body.u64 = d->features;
		break;
	case VHOST_USER_GET_PROTOCOL_FEATURES:
		m->body.u64 = d->protocol;
		break;
	case VHOST_USER_GET_QUEUE_NUM:
		m->body.u64 = 2;
		break;
	case VHOST_USER_GET_MAX_MEM_SLOTS:
		m->body.u64 = 8;
		break;
	case VHOST_USER_GET_STATUS:
		m->body.u64 = d->status;
		break;
	case VHOST_USER_GET_CONFIG:
		memcpy(m->body.config.bytes, &c, m->body.config.size);
		return true;
	case VHOST_USER_GET_VRING_BASE:
		return true;
	case VHOST_USER_SET_FEATURES:
		d->agreed = m->body.u64;
		return false;
	case VHOST_USER_SET_PROTOCOL_FEATURES:
		d->agreed_protocol = m->body.u64;
		return false;
	case VHOST_USER_SET_STATUS:
		d->status = (uint8_t)m->body.u64;
		return false;
	case VHOST_USER_SET_MEM_TABLE:
		map_region(d, &m->body.mem.region[0], m->fd[0]);
		return false;
	case VHOST_USER_ADD_MEM_REG:
		map_region(d, &m->body.mem_reg.region, m->fd[0]);
		return false;
	case VHOST_USER_SET_VRING_ADDR:
		d->ring[m->body.addr.index & 3] = m->body.addr;
		return false;
	case VHOST_USER_SET_VRING_CALL:
		fd_replace(&d->call[i & 3], fd_move(&m->fd[0]));
		return false;
	case VHOST_USER_SET_VRING_ENABLE:
		d->enabled += m->body.state.num ? 1 : -1;
		return false;
	default:
		return false;
	}
	m->hdr.size = sizeof(uint64_t);
	return true;
}

/* Answer; false: hang up. */
static bool answer(struct device *d, struct sock *s, struct sock_msg *m)
{
	bool need = m->hdr.flags & VHOST_USER_F_NEED_REPLY;
	enum failure how = d->messages++ == d->at ? d->how : WELL;
	uint32_t request = m->hdr.request;
	bool own = act(d, m);

	sock_msg_drop(m);
	if (how == CLOSE)
		return false;
	if (!own && !need)
		return how == WELL;
	m->hdr.flags = VHOST_USER_VERSION | VHOST_USER_F_REPLY;
	if (!own) {
		m->hdr.size = sizeof(uint64_t);
		m->body.u64 = how == REFUSE;
	}
	if (how == WRONG_REQUEST)
		m->hdr.request = request ^ 64;
	if (how == CLOSE_MIDWAY) {
		send(s->fd, &m->hdr, 7, MSG_NOSIGNAL);
		return false;
	}
	return sock_send(s, m, UINT64_MAX) == 0;
}

static void *device_main(void *arg)
{
	struct device *d = arg;
	struct sock s = { .fd = d->fd, .side_fd = -1 };
	struct sock_msg m;

	while (sock_recv(&s, &m, UINT64_MAX) == 0)
		if (!answer(d, &s, &m))
			break;
	shutdown(d->fd, SHUT_RDWR);
	return NULL;
}

static void device_start(struct device *d, int fd)
{
	d->fd = fd;
	d->messages = 0;
	for (int i = 0; i < 4; i++)
		d->call[i] = -1;
	assert_int_equal(pthread_create(&d->thread, NULL, device_main, d), 0);
}

static void device_join(struct device *d)
{
	pthread_join(d->thread, NULL);
	fd_close(&d->fd);
	for (int i = 0; i < 4; i++)
		fd_close(&d->call[i]);
	if (d->memory)
		munmap(d->memory, d->memory_size);
	d->memory = NULL;
	d->enabled = 0;
}

/* A driver and its device, connected; NULL and *err. */
static struct vd_driver *open_pair(struct device *d, struct vd_driver_opts *o,
                                   int *err)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	                            pair),
	                 0);
	fd_set_nonblock(pair[0]);
	o->size = sizeof(*o);
	o->fd = pair[0];
	o->queue_size = 8;
	o->timeout_ms = 2000;
	device_start(d, pair[1]);
	return vd_driver_open(o, err);
}

static unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* --- negotiation ------------------------------------------------------- */

static const struct row {
	const char *name;
	uint64_t features, protocol;
	unsigned pairs; /* that a driver which asks for two gets */
} rows[] = {
	{ "old", DEVICE_FEATURES & ~VHOST_USER_F_PROTOCOL_FEATURES, 0, 1 },
	{ "no protocol features", DEVICE_FEATURES, 0, 1 },
	{ "no ack", DEVICE_FEATURES, DEVICE_PROTOCOL, 2 },
	{ "ack", DEVICE_FEATURES,
	  DEVICE_PROTOCOL | VHOST_USER_PROTOCOL_F_REPLY_ACK, 2 },
	{ "slots", DEVICE_FEATURES,
	  DEVICE_PROTOCOL | VHOST_USER_PROTOCOL_F_REPLY_ACK |
	          VHOST_USER_PROTOCOL_F_CONFIGURE_MEM_SLOTS,
	  2 },
	{ "no MQ", DEVICE_FEATURES,
	  (DEVICE_PROTOCOL & ~VHOST_USER_PROTOCOL_F_MQ) |
	          VHOST_USER_PROTOCOL_F_REPLY_ACK,
	  1 },
};

static void check_row(const struct row *row)
{
	struct vd_driver_info info = { .size = sizeof(info) };
	struct vd_driver_opts o = { .queue_pairs = 2 };
	struct device dev = { .features = row->features,
		              .protocol = row->protocol };
	bool config = row->protocol & VHOST_USER_PROTOCOL_F_CONFIG;
	struct vd_driver *d;
	int err;

	d = open_pair(&dev, &o, &err);
	if (!d)
		fail_msg("%s: %s", row->name, strerror(-err));
	vd_driver_info(d, &info);
	assert_int_equal(info.queue_pairs, row->pairs);
	assert_int_equal(info.mtu, config ? 1400 : 0);
	assert_int_equal(info.mac[5], config ? 9 : 0);
	assert_true(info.link_up && info.connected);
	assert_true(info.features & VIRTIO_F_VERSION_1);
	assert_int_equal(!!(info.features & VIRTIO_NET_F_MQ), row->pairs > 1);
	assert_true(vd_driver_set_pairs(d, 1) == 0 ||
	            !(row->features & VHOST_USER_F_PROTOCOL_FEATURES));
	vd_driver_close(d);
	device_join(&dev);
	assert_true((dev.agreed & ~VHOST_USER_F_PROTOCOL_FEATURES) ==
	            info.features);
	assert_true(dev.agreed_protocol == row->protocol);
}

static void test_every_kind_of_device(void **state)
{
	unsigned before = open_fds();

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++)
		check_row(&rows[i]);
	assert_int_equal(open_fds(), before);
}

/* How many messages it takes to open a driver of this row. */
static unsigned messages_to_open(const struct row *row)
{
	struct vd_driver_opts o = { .queue_pairs = 2 };
	struct device dev = { .features = row->features,
		              .protocol = row->protocol };
	struct vd_driver *d;
	unsigned n;
	int err;

	d = open_pair(&dev, &o, &err);
	assert_non_null(d);
	n = dev.messages;
	vd_driver_close(d);
	device_join(&dev);
	return n;
}

static void fail_once(const struct row *row, unsigned at, enum failure how)
{
	struct vd_driver_opts o = { .queue_pairs = 2 };
	struct device dev = { .features = row->features,
		              .protocol = row->protocol,
		              .how = how,
		              .at = at };
	struct vd_driver *d;
	int err = 0;

	d = open_pair(&dev, &o, &err);
	/* A number that was asked for cannot be refused. */
	if (d && how != REFUSE)
		fail_msg("%s: opened in spite of message %u, failure %d",
		         row->name, at, how);
	if (!d && how == REFUSE)
		assert_int_equal(err, -EREMOTEIO);
	if (!d && (how == CLOSE || how == CLOSE_MIDWAY))
		assert_int_equal(err, -ECONNRESET);
	if (!d && how == WRONG_REQUEST)
		assert_int_equal(err, -EPROTO);
	vd_driver_close(d);
	device_join(&dev);
}

/* Every answer is missing, cut, of another message, or a refusal. */
static void test_failure_at_every_step(void **state)
{
	const struct row *row = &rows[4];
	unsigned before = open_fds();
	unsigned n = messages_to_open(row);

	(void)state;
	assert_true(n > 30);
	for (unsigned how = CLOSE; how < FAILURES; how++)
		for (unsigned at = 0; at < n; at++) {
			bool acked = at > 3; /* REPLY_ACK is in force */

			if (acked)
				fail_once(row, at, (enum failure)how);
			else if (how == CLOSE)
				fail_once(row, at, CLOSE);
		}
	assert_int_equal(open_fds(), before);
}

static void test_needs(void **state)
{
	struct vd_driver_opts o = { .features_need = VIRTIO_F_RING_PACKED };
	struct device dev = { .features = DEVICE_FEATURES,
		              .protocol = DEVICE_PROTOCOL };
	struct vd_driver *d;
	int err = 0;

	(void)state;
	d = open_pair(&dev, &o, &err);
	assert_null(d);
	assert_int_equal(err, -ENOTSUP);
	device_join(&dev);

	/* Older than VIRTIO 1. */
	o.features_need = 0;
	dev.features &= ~VIRTIO_F_VERSION_1;
	assert_null(open_pair(&dev, &o, &err));
	assert_int_equal(err, -ENOTSUP);
	device_join(&dev);
}

static void test_refused_options(void **state)
{
	struct vd_driver_opts o = { .size = sizeof(o), .fd = -1 };
	int err = 0;

	(void)state;
	o.queue_size = 65536;
	assert_null(vd_driver_open(&o, &err));
	assert_int_equal(err, -EINVAL);
	o.queue_size = 4;
	o.pieces = 5;
	assert_null(vd_driver_open(&o, &err));
	assert_int_equal(err, -EINVAL);
	o.pieces = 0;
	o.size = sizeof(o) + 8;
	assert_null(vd_driver_open(&o, &err));
	assert_int_equal(err, -E2BIG);
}

/* --- a hostile device -------------------------------------------------- */

struct lie {
	const char *fault;
	uint32_t id, len;
	uint16_t idx;
};

static const struct lie lies[] = {
	{ "used-id", 8, 12, 1 },         { "used-id", 0xffff0001, 12, 1 },
	{ "used-too-long", 0, 2049, 1 }, { "used-jump", 0, 12, 9 },
	{ "used-jump", 0, 12, 0xffff },
};

static void tell_lie(const struct lie *lie)
{
	struct vd_driver_opts o = { .queue_pairs = 2 };
	struct device dev = { .features = DEVICE_FEATURES,
		              .protocol = DEVICE_PROTOCOL |
		                          VHOST_USER_PROTOCOL_F_REPLY_ACK };
	struct vd_packet p[8];
	struct split_used *used;
	struct vd_driver *d;
	int err;

	d = open_pair(&dev, &o, &err);
	assert_non_null(d);
	used = at_uva(&dev, dev.ring[0].used);
	st32(&used->ring[0].id, lie->id);
	st32(&used->ring[0].len, lie->len);
	st16_rel(&used->idx, lie->idx);
	assert_int_equal(vd_driver_receive(d, 0, p, 8), -EBADMSG);
	assert_string_equal(vd_driver_fault(d, 0), lie->fault);
	assert_int_equal(vd_driver_wait(d, 0, VD_WAIT_RECEIVE, 1000), -EBADMSG);
	/* The other pair lives. */
	assert_int_equal(vd_driver_receive(d, 1, p, 8), 0);
	assert_string_equal(vd_driver_fault(d, 1), "none");
	vd_driver_close(d);
	device_join(&dev);
}

static void test_lies_break_their_queue(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_len(lies); i++)
		tell_lie(&lies[i]);
}

/* Headers that cannot be: such packets are dropped, the queue lives. */
static void test_bad_headers(void **state)
{
	static const struct {
		uint32_t len;
		uint16_t num_buffers;
	} bad[] = { { 0, 1 }, { 11, 1 }, { 60, 0 }, { 60, 9 } };
	struct vd_driver_stats s = { .size = sizeof(s) };
	struct vd_driver_opts o = { 0 };
	struct device dev = { .features = DEVICE_FEATURES,
		              .protocol = DEVICE_PROTOCOL |
		                          VHOST_USER_PROTOCOL_F_REPLY_ACK };
	struct vd_packet p[8];
	struct split_desc *desc;
	struct split_used *used;
	struct vd_driver *d;
	int err;

	(void)state;
	d = open_pair(&dev, &o, &err);
	assert_non_null(d);
	desc = at_uva(&dev, dev.ring[0].desc);
	used = at_uva(&dev, dev.ring[0].used);
	for (uint16_t i = 0; i < array_len(bad); i++) {
		struct virtio_net_hdr h = { .num_buffers = le16_make(
						    bad[i].num_buffers) };

		memcpy(dev.memory + (ld64(&desc[i].addr) - ARENA_GPA), &h,
		       sizeof(h));
		st32(&used->ring[i].id, i);
		st32(&used->ring[i].len, bad[i].len);
		st16_rel(&used->idx, i + 1);
		assert_int_equal(vd_driver_receive(d, 0, p, 8), 0);
	}
	vd_driver_stats(d, 0, &s);
	assert_int_equal(s.bad_packets, array_len(bad));
	assert_string_equal(vd_driver_fault(d, 0), "none");
	vd_driver_close(d);
	device_join(&dev);
}

/* --- a device that goes away ------------------------------------------- */

static void test_device_goes_away(void **state)
{
	struct vd_driver_opts o = { 0 };
	struct device dev = { .features = DEVICE_FEATURES,
		              .protocol = DEVICE_PROTOCOL };
	struct vd_packet p[8];
	struct vd_driver *d;
	int err;

	(void)state;
	d = open_pair(&dev, &o, &err);
	assert_non_null(d);
	assert_int_equal(vd_driver_service(d), 1);
	assert_int_equal(vd_driver_wait(d, 0, VD_WAIT_RECEIVE, 0), 0);
	shutdown(dev.fd, SHUT_RDWR);
	assert_int_equal(vd_driver_wait(d, 0, VD_WAIT_RECEIVE, 5000),
	                 -ENOTCONN);
	assert_int_equal(vd_driver_receive(d, 0, p, 8), -ENOTCONN);
	assert_int_equal(vd_driver_send(d, 0, p, 1), -ENOTCONN);
	assert_int_equal(vd_driver_service(d), -ENOTCONN);
	vd_driver_close(d);
	device_join(&dev);
}

/* A device behind a listening socket: serves one session, then the next. */
struct server {
	struct device dev;
	int listener;
	unsigned sessions;
	pthread_t thread;
};

static void *server_main(void *arg)
{
	struct server *s = arg;

	for (unsigned i = 0; i < s->sessions; i++) {
		device_start(&s->dev, sock_accept(s->listener, UINT64_MAX));
		device_join(&s->dev);
	}
	return NULL;
}

static void send_one(struct vd_driver *d)
{
	static uint8_t frame[60];
	struct iovec iov = { frame, sizeof(frame) };
	struct vd_packet p = { .iov = &iov, .niov = 1 };

	assert_int_equal(vd_driver_send(d, 0, &p, 1), 1);
	assert_int_equal(vd_driver_pending(d, 0), 1);
}

static void test_device_comes_back(void **state)
{
	struct vd_driver_stats s = { .size = sizeof(s) };
	struct server srv = { .dev = { .features = DEVICE_FEATURES,
		                       .protocol = DEVICE_PROTOCOL },
		              .sessions = 4 };
	char path[64];
	struct vd_driver_opts o = { .size = sizeof(o),
		                    .socket = path,
		                    .queue_size = 8,
		                    .reconnect_ms = 50 };
	struct vd_driver *d;
	int err;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/driver-link-%d.sock", getpid());
	srv.listener = sock_listen(path);
	assert_true(srv.listener >= 0);
	pthread_create(&srv.thread, NULL, server_main, &srv);
	d = vd_driver_open(&o, &err);
	assert_non_null(d);
	for (unsigned i = 1; i < srv.sessions; i++) {
		send_one(d);
		shutdown(srv.dev.fd, SHUT_RDWR);
		while (vd_driver_service(d) == 1)
			;
		for (unsigned k = 0; k < 200; k++)
			if (vd_driver_wait(d, 0, VD_WAIT_RECEIVE, 100) == 0)
				break;
		vd_driver_stats(d, -1, &s);
		assert_int_equal(s.reconnects, i);
		assert_int_equal(s.lost, i);
	}
	send_one(d);
	vd_driver_close(d);
	pthread_join(srv.thread, NULL);
	close(srv.listener);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_of_device),
		cmocka_unit_test(test_failure_at_every_step),
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_refused_options),
		cmocka_unit_test(test_lies_break_their_queue),
		cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_device_goes_away),
		cmocka_unit_test(test_device_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
