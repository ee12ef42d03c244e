/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard.h - a front end that pulls its memory away hurts only itself. map.c and
 * programs include it.
 *
 * Whoever gave us a file can shorten it after we mapped it; the next access
 * would end the process with SIGBUS, and with it every other guest. With the
 * guard on, the missing page becomes a private one of zeros and the access goes
 * on: that guest's rings break, or its frames are empty, nobody else notices.
 * Sealed files (QEMU's memfd by default) cannot be shortened at all.
 */
#ifndef VIADUCT_MEM_GUARD_H
#define VIADUCT_MEM_GUARD_H

#include "base/defs.h"

/* Handle SIGBUS for the whole process; for programs, once, at the start.
 * 0 or negative errno. */
int mem_guard_install(void);

/* Pages that were replaced so far. */
uint64_t mem_guard_hits(void);

/* map.c: a mapping that may be pulled away. Any thread. */
void mem_guard_add(void *start, size_t len);
void mem_guard_remove(void *start);

#endif
