/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * on_inflight.c - the memory of the in-flight record, which the front end keeps
 * for us: it survives us, so that our successor knows what we held.
 *
 * We make it when asked and forget it at once; it is in use from the moment
 * that the front end brings it (back). Each queue has a region of the same
 * size; ring/inflight.c keeps what is in it. A queue that is stopped while it
 * holds nothing leaves an unused region behind: its driver may start anew.
 *
 * Spec: vhost-user, Inflight I/O Tracking.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/order.h"
#include "vhost/handlers.h"

static bool is_packed(const struct vhost_backend *b)
{
	return b->s.features & VIRTIO_F_RING_PACKED;
}

static bool inflight_is_sane(const struct vhost_backend *b,
                             const struct vhost_user_inflight *i)
{
	return i->num_queues && i->num_queues <= b->nvrings &&
	       ring_size_is_legal(i->queue_size, true);
}

static uint64_t bytes_needed(const struct vhost_backend *b,
                             const struct vhost_user_inflight *i)
{
	return i->num_queues * inflight_bytes(is_packed(b), i->queue_size);
}

/* Sealed, so that nobody can pull it away under our feet. */
static int memory_file(uint64_t bytes)
{
	int fd, err;

	fd = memfd_create("viaduct-inflight", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)bytes) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return fd;
	err = -errno;
	fd_close(&fd);
	return err;
}

int on_get_inflight_fd(struct vhost_backend *b, struct msg *m)
{
	struct vhost_user_inflight *i = &m->body.inflight;
	int fd;

	if (!inflight_is_sane(b, i))
		return -EINVAL;
	i->mmap_size = bytes_needed(b, i);
	i->mmap_offset = 0;
	fd = memory_file(i->mmap_size);
	if (fd < 0)
		return fd;
	m->fd[0] = fd; /* goes with the answer */
	m->nfds = 1;
	return 0;
}

void inflight_area_free(struct inflight_area *a)
{
	if (!a)
		return;
	mem_unmap_region(&a->map);
	free(a);
}

int on_set_inflight_fd(struct vhost_backend *b, struct msg *m)
{
	const struct vhost_user_inflight *i = &m->body.inflight;
	struct inflight_area *a;
	int err;

	if (vrings_any_started(b))
		return -EBUSY;
	if (!inflight_is_sane(b, i) || i->mmap_offset % 8)
		return -EINVAL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->map.size = i->mmap_size;
	a->map.offset = i->mmap_offset;
	a->queues = i->num_queues;
	a->queue_size = i->queue_size;
	err = mem_map_region(&a->map, m->fd[0]);
	if (err) {
		free(a);
		return err;
	}
	inflight_area_free(b->s.inflight);
	b->s.inflight = a;
	return 0;
}

/* --- for a ring that starts or stops ------------------------------------ */

int vring_attach_inflight(struct vhost_backend *b, struct vring *v)
{
	const struct inflight_area *a = b->s.inflight;
	uint32_t index = v->q.index;
	size_t stride;
	int n;

	if (!a)
		return 0;
	stride = inflight_bytes(is_packed(b), a->queue_size);
	if (index >= a->queues || v->size > a->queue_size ||
	    (index + 1) * stride > a->map.size)
		return -EINVAL;
	v->scratch = calloc(v->size, 2 * sizeof(*v->scratch));
	if (!v->scratch)
		return -ENOMEM;
	n = inflight_attach(&v->q.ring, &v->inflight,
	                    a->map.host + index * stride, v->scratch);
	if (n < 0)
		return -EINVAL;
	if (n)
		log_info(b->tag,
		         "taking again what was in flight queue=%u "
		         "chains=%d",
		         index, n);
	return 0;
}

static bool holds_nothing(const struct ring *r)
{
	return r->next == r->used && r->next_wrap == r->used_wrap &&
	       !inflight_left(r);
}

void vring_detach_inflight(struct vring *v)
{
	struct ring *r = &v->q.ring;

	if (r->inflight && holds_nothing(r))
		st16((le16 *)&v->inflight.split->version, 0);
	r->inflight = NULL;
	free(v->scratch);
	v->scratch = NULL;
}
