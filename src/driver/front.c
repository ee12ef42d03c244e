/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * front.c - the driver's side of each vhost-user message.
 *
 * All of them go through talk(): send, then take the answer that this message
 * has. What an answer must look like stands in the question (struct want), so
 * that no caller can forget to check it.
 */
#include "driver/front.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "driver/clock.h"

/* What the answer to a message must look like. */
struct want {
	bool reply; /* by nature; otherwise an acknowledgement if negotiated */
	uint32_t size_min, size_max;
	unsigned fds;
};

#define WANT_ACK   ((struct want){ .reply = false })
#define WANT(type) ((struct want){ true, sizeof(type), sizeof(type), 0 })

/* One back channel message may take this long to arrive whole. */
#define BACK_TIMEOUT_MS 1000u

static void serve_side(struct sock *s)
{
	front_serve_back(container_of(s, struct front, sock));
}

void front_open(struct front *f, int fd, unsigned timeout_ms, const char *tag)
{
	*f = (struct front){ .sock = { .fd = fd, .side_fd = -1 },
		             .timeout_ms = timeout_ms,
		             .tag = tag,
		             .back_fd = -1 };
}

static void close_back(struct front *f)
{
	fd_close(&f->back_fd);
	f->sock.side_fd = -1;
	f->sock.side_fn = NULL;
}

void front_close(struct front *f)
{
	close_back(f);
	fd_close(&f->sock.fd);
	f->protocol = 0;
}

static bool is_answer(const struct sock_msg *a, uint32_t request,
                      const struct want *w)
{
	return a->hdr.request == request &&
	       (a->hdr.flags & VHOST_USER_F_REPLY) &&
	       a->hdr.size >= w->size_min && a->hdr.size <= w->size_max &&
	       a->nfds == w->fds;
}

/* Send @m, wait for the answer it has, leave the answer in @m. */
static int talk(struct front *f, struct sock_msg *m, struct want w)
{
	uint64_t deadline =
		clock_ns() + (uint64_t)f->timeout_ms * CLOCK_NS_PER_MS;
	uint32_t request = m->hdr.request;
	bool ack;
	int err;

	if (f->sock.fd < 0)
		return -ENOTCONN;
	ack = !w.reply && (f->protocol & VHOST_USER_PROTOCOL_F_REPLY_ACK);
	m->hdr.flags = VHOST_USER_VERSION | (ack ? VHOST_USER_F_NEED_REPLY : 0);
	err = sock_send(&f->sock, m, deadline);
	m->nfds = 0; /* they are the caller's */
	if (ack)
		w = WANT(uint64_t);
	if (!err && (ack || w.reply)) {
		err = sock_recv(&f->sock, m, deadline);
		if (!err && !is_answer(m, request, &w)) {
			sock_msg_drop(m);
			err = -EPROTO;
		}
	}
	if (err) {
		log_warn(f->tag, "vhost-user session closed request=%u err=%d",
		         request, -err);
		front_close(f);
		return err;
	}
	return ack && m->body.u64 ? -EREMOTEIO : 0;
}

int front_get_u64(struct front *f, uint32_t request, uint64_t *value)
{
	struct sock_msg m = { .hdr = { .request = request } };
	int err;

	err = talk(f, &m, WANT(uint64_t));
	*value = err ? 0 : m.body.u64;
	return err;
}

int front_set_u64(struct front *f, uint32_t request, uint64_t value)
{
	struct sock_msg m = { .hdr = { request, 0, sizeof(uint64_t) },
		              .body.u64 = value };
	int err;

	err = talk(f, &m, WANT_ACK);
	if (!err && request == VHOST_USER_SET_PROTOCOL_FEATURES)
		f->protocol = value;
	return err;
}

int front_tell(struct front *f, uint32_t request)
{
	struct sock_msg m = { .hdr = { .request = request } };

	return talk(f, &m, WANT_ACK);
}

/* --- vrings ------------------------------------------------------------ */

int front_set_vring(struct front *f, uint32_t request, unsigned index,
                    uint32_t num)
{
	struct sock_msg m = {
		.hdr = { request, 0, sizeof(struct vhost_user_vring_state) },
		.body.state = { index, num },
	};

	return talk(f, &m, WANT_ACK);
}

int front_get_vring_base(struct front *f, unsigned index, uint32_t *base)
{
	struct sock_msg m = {
		.hdr = { VHOST_USER_GET_VRING_BASE, 0,
		         sizeof(struct vhost_user_vring_state) },
		.body.state = { index, 0 },
	};
	int err;

	err = talk(f, &m, WANT(struct vhost_user_vring_state));
	if (!err && m.body.state.index != index) {
		front_close(f);
		err = -EPROTO;
	}
	*base = err ? 0 : m.body.state.num;
	return err;
}

int front_set_vring_addr(struct front *f,
                         const struct vhost_user_vring_addr *addr)
{
	struct sock_msg m = {
		.hdr = { VHOST_USER_SET_VRING_ADDR, 0, sizeof(*addr) },
		.body.addr = *addr,
	};

	return talk(f, &m, WANT_ACK);
}

int front_set_vring_fd(struct front *f, uint32_t request, unsigned index,
                       int fd)
{
	struct sock_msg m = {
		.hdr = { request, 0, sizeof(uint64_t) },
		.body.u64 = index | (fd < 0 ? VHOST_USER_VRING_NOFD : 0),
		.nfds = fd < 0 ? 0 : 1,
		.fd = { fd },
	};

	return talk(f, &m, WANT_ACK);
}

/* --- memory ------------------------------------------------------------ */

static int add_region(struct front *f, const struct vhost_user_region *r,
                      int fd)
{
	struct sock_msg m = {
		.hdr = { VHOST_USER_ADD_MEM_REG, 0,
		         sizeof(struct vhost_user_mem_reg) },
		.body.mem_reg = { .region = *r },
		.nfds = 1,
		.fd = { fd },
	};

	return talk(f, &m, WANT_ACK);
}

static int set_table(struct front *f, const struct vhost_user_region *r,
                     unsigned n, int fd)
{
	struct sock_msg m = {
		.hdr = { VHOST_USER_SET_MEM_TABLE, 0,
		         (uint32_t)VHOST_USER_MEM_TABLE_BYTES(n) },
		.body.mem = { .nregions = n },
		.nfds = n,
	};

	for (unsigned i = 0; i < n; i++) {
		m.body.mem.region[i] = r[i];
		m.fd[i] = fd;
	}
	return talk(f, &m, WANT_ACK);
}

int front_set_memory(struct front *f, const struct vhost_user_region *r,
                     unsigned n, int fd)
{
	uint64_t slots;
	int err;

	if (!(f->protocol & VHOST_USER_PROTOCOL_F_CONFIGURE_MEM_SLOTS)) {
		if (n > VHOST_USER_REGIONS_MAX)
			return -E2BIG;
		return set_table(f, r, n, fd);
	}
	err = front_get_u64(f, VHOST_USER_GET_MAX_MEM_SLOTS, &slots);
	if (err)
		return err;
	if (slots < n)
		return -E2BIG;
	for (unsigned i = 0; i < n; i++) {
		err = add_region(f, &r[i], fd);
		if (err)
			return err;
	}
	return 0;
}

/* --- configuration space and the in-flight record ---------------------- */

int front_get_config(struct front *f, void *to, unsigned offset, unsigned len)
{
	uint32_t size = (uint32_t)VHOST_USER_CONFIG_HDR_BYTES + len;
	struct sock_msg m = {
		.hdr = { VHOST_USER_GET_CONFIG, 0, size },
		.body.config = { .offset = offset, .size = len },
	};
	int err;

	if (len > VHOST_USER_CONFIG_MAX)
		return -E2BIG;
	err = talk(f, &m, (struct want){ true, 0, size, 0 });
	if (err)
		return err;
	if (m.hdr.size == 0 || m.body.config.size == 0)
		return -EREMOTEIO;
	if (m.hdr.size != size || m.body.config.size != len ||
	    m.body.config.offset != offset) {
		front_close(f);
		return -EPROTO;
	}
	memcpy(to, m.body.config.bytes, len);
	return 0;
}

int front_set_config(struct front *f, const void *from, unsigned offset,
                     unsigned len)
{
	struct sock_msg m = {
		.hdr = { VHOST_USER_SET_CONFIG, 0,
		         (uint32_t)VHOST_USER_CONFIG_HDR_BYTES + len },
		.body.config = { .offset = offset, .size = len },
	};

	if (len > VHOST_USER_CONFIG_MAX)
		return -E2BIG;
	memcpy(m.body.config.bytes, from, len);
	return talk(f, &m, WANT_ACK);
}

int front_get_inflight(struct front *f, struct vhost_user_inflight *i, int *fd)
{
	/* Peers differ: some count the padding at the end, some do not. */
	struct want w = { true, VHOST_USER_INFLIGHT_BYTES, sizeof(*i), 1 };
	struct sock_msg m = {
		.hdr = { VHOST_USER_GET_INFLIGHT_FD, 0, sizeof(*i) },
		.body.inflight = *i,
	};
	int err;

	err = talk(f, &m, w);
	if (err)
		return err;
	*i = m.body.inflight;
	*fd = m.fd[0];
	return 0;
}

int front_set_inflight(struct front *f, const struct vhost_user_inflight *i,
                       int fd)
{
	struct sock_msg m = {
		.hdr = { VHOST_USER_SET_INFLIGHT_FD, 0, sizeof(*i) },
		.body.inflight = *i,
		.nfds = 1,
		.fd = { fd },
	};

	return talk(f, &m, WANT_ACK);
}

/* --- the back end's own requests --------------------------------------- */

int front_open_back(struct front *f)
{
	struct sock_msg m = {
		.hdr = { .request = VHOST_USER_SET_BACKEND_REQ_FD },
		.nfds = 1,
	};
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	/* Only our end: the other one is read as the peer likes. */
	fd_set_nonblock(pair[0]);
	f->back_fd = pair[0];
	f->sock.side_fd = pair[0];
	f->sock.side_fn = serve_side;
	m.fd[0] = pair[1];
	err = talk(f, &m, WANT_ACK);
	close(pair[1]);
	if (err)
		close_back(f);
	return err;
}

/* We know of one request; all others are refused where an answer is asked. */
static uint64_t back_answer(struct front *f, const struct sock_msg *m)
{
	if (m->hdr.request == VHOST_USER_BACKEND_CONFIG_CHANGE_MSG &&
	    m->hdr.size == 0) {
		f->config_changes++;
		return 0;
	}
	log_debug(f->tag, "back end request refused request=%u",
	          m->hdr.request);
	return 1;
}

void front_serve_back(struct front *f)
{
	struct sock s = { .fd = f->back_fd, .side_fd = -1 };
	uint64_t deadline = clock_ns() + BACK_TIMEOUT_MS * CLOCK_NS_PER_MS;
	struct sock_msg m;
	int err;

	if (f->back_fd < 0)
		return;
	err = sock_recv(&s, &m, deadline);
	if (!err) {
		uint64_t answer = back_answer(f, &m);
		bool wanted = m.hdr.flags & VHOST_USER_F_NEED_REPLY;

		sock_msg_drop(&m);
		m.hdr.flags = VHOST_USER_VERSION | VHOST_USER_F_REPLY;
		m.hdr.size = sizeof(uint64_t);
		m.body.u64 = answer;
		if (wanted)
			err = sock_send(&s, &m, deadline);
	}
	if (err) {
		log_warn(f->tag, "back channel closed err=%d", -err);
		close_back(f);
	}
}
