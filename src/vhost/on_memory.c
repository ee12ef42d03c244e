/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * on_memory.c - the guest's memory, as a table or region by region.
 *
 * A new snapshot is made and checked whole before any ring sees it; the old one
 * goes when the last ring has left it. Spec: vhost-user, Memory access.
 */
#include <errno.h>

#include "vhost/handlers.h"

static struct mem_region region_of(const struct vhost_user_region *r)
{
	return (struct mem_region){ .gpa = r->gpa,
		                    .size = r->size,
		                    .uva = r->uva,
		                    .offset = r->offset };
}

/* Every ring moves to @m, which is ours from now on. */
static void memory_install(struct vhost_backend *b, struct mem *m)
{
	struct mem *old = b->s.mem;

	b->s.mem = m;
	vrings_follow_memory(b);
	mem_put(old);
}

static struct mem *table_map(const struct vhost_user_mem_table *t,
                             const struct msg *m, int *err)
{
	struct mem_region r[VHOST_USER_REGIONS_MAX] = { 0 };
	struct mem *mem = NULL;
	unsigned n;

	for (n = 0; n < t->nregions; n++) {
		r[n] = region_of(&t->region[n]);
		*err = mem_map_region(&r[n], m->fd[n]);
		if (*err)
			goto fail;
	}
	mem = mem_new(r, n, err);
	if (mem)
		return mem;
fail:
	while (n)
		mem_unmap_region(&r[--n]);
	return NULL;
}

int on_set_mem_table(struct vhost_backend *b, struct msg *m)
{
	const struct vhost_user_mem_table *t = &m->body.mem;
	struct mem *mem;
	int err;

	if (t->nregions > VHOST_USER_REGIONS_MAX || t->nregions != m->nfds ||
	    m->hdr.size < VHOST_USER_MEM_TABLE_BYTES(t->nregions))
		return -EPROTO;
	mem = table_map(t, m, &err);
	if (!mem)
		return err;
	memory_install(b, mem);
	return 0;
}

int on_get_max_mem_slots(struct vhost_backend *b, struct msg *m)
{
	(void)b;
	return answer_u64(m, MEM_REGIONS_MAX);
}

int on_add_mem_reg(struct vhost_backend *b, struct msg *m)
{
	struct mem_region r = region_of(&m->body.mem_reg.region);
	struct mem *mem;
	int err;

	err = mem_map_region(&r, m->fd[0]);
	if (err)
		return err;
	mem = mem_with(b->s.mem, &r, &err);
	if (!mem) {
		mem_unmap_region(&r);
		return err;
	}
	memory_install(b, mem);
	return 0;
}

/* Some front ends send a descriptor with it; it is closed like any that nobody
 * takes. */
int on_rem_mem_reg(struct vhost_backend *b, struct msg *m)
{
	struct mem_region r = region_of(&m->body.mem_reg.region);
	struct mem *mem;
	int err;

	mem = mem_without(b->s.mem, &r, &err);
	if (!mem)
		return err;
	memory_install(b, mem);
	return 0;
}
