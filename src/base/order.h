/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.h - the words for memory that somebody else writes too. Anyone may
 * include it; no other file uses an atomic builtin.
 *
 *   ld8 ld16 ld32 ld64       one relaxed load, host byte order out
 *   ld_bytes                 a block into a private copy, never looked at again
 *   st8 st16 st32 st64       one relaxed store
 *   ld16h st16h ld64h st64h  the same for words in the host's byte order
 *   ld16_acq ld32_acq ..     acquire: later accesses stay behind it
 *   st16_rel st32_rel ..     release: earlier accesses stay before it
 *   ld_ptr st_ptr            acquire and release of a pointer
 *   fence_store_load         a store, then a load of another word: the only
 *                            expensive one (pairs C and D of docs/rings.md)
 *   fence_platform           a full barrier that devices beyond the coherent
 *                            CPUs see too (VIRTIO_F_ORDER_PLATFORM)
 *   fence_program            the compiler keeps the order: enough for whoever
 *                            reads the memory after this process was killed
 *   cpu_relax                I am spinning
 *
 * Counters have one writer and any reader: count_add() and count_get(). Those
 * few that several workers write take count_add_shared(), once a burst.
 */
#ifndef VIADUCT_BASE_ORDER_H
#define VIADUCT_BASE_ORDER_H

#include "base/le.h"

static always_inline uint8_t ld8(const uint8_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static always_inline uint16_t ld16(const le16 *p)
{
	return le16_get((le16){ __atomic_load_n(&p->v, __ATOMIC_RELAXED) });
}

static always_inline uint32_t ld32(const le32 *p)
{
	return le32_get((le32){ __atomic_load_n(&p->v, __ATOMIC_RELAXED) });
}

static always_inline uint64_t ld64(const le64 *p)
{
	return le64_get((le64){ __atomic_load_n(&p->v, __ATOMIC_RELAXED) });
}

/* The compiler may not fetch from the original what is read from the copy. */
static always_inline void ld_bytes(void *to, const void *from, size_t n)
{
	__builtin_memcpy(to, from, n);
	__asm__ volatile("" ::: "memory");
}

static always_inline uint16_t ld16h(const uint16_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static always_inline uint64_t ld64h(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static always_inline void st8(uint8_t *p, uint8_t x)
{
	__atomic_store_n(p, x, __ATOMIC_RELAXED);
}

static always_inline void st16h(uint16_t *p, uint16_t x)
{
	__atomic_store_n(p, x, __ATOMIC_RELAXED);
}

static always_inline void st64h(uint64_t *p, uint64_t x)
{
	__atomic_store_n(p, x, __ATOMIC_RELAXED);
}

static always_inline void st16(le16 *p, uint16_t x)
{
	__atomic_store_n(&p->v, le16_make(x).v, __ATOMIC_RELAXED);
}

static always_inline void st32(le32 *p, uint32_t x)
{
	__atomic_store_n(&p->v, le32_make(x).v, __ATOMIC_RELAXED);
}

static always_inline void st64(le64 *p, uint64_t x)
{
	__atomic_store_n(&p->v, le64_make(x).v, __ATOMIC_RELAXED);
}

static always_inline uint16_t ld16_acq(const le16 *p)
{
	return le16_get((le16){ __atomic_load_n(&p->v, __ATOMIC_ACQUIRE) });
}

static always_inline uint32_t ld32_acq(const le32 *p)
{
	return le32_get((le32){ __atomic_load_n(&p->v, __ATOMIC_ACQUIRE) });
}

static always_inline uint64_t ld64_acq(const le64 *p)
{
	return le64_get((le64){ __atomic_load_n(&p->v, __ATOMIC_ACQUIRE) });
}

static always_inline void st16_rel(le16 *p, uint16_t x)
{
	__atomic_store_n(&p->v, le16_make(x).v, __ATOMIC_RELEASE);
}

static always_inline void st32_rel(le32 *p, uint32_t x)
{
	__atomic_store_n(&p->v, le32_make(x).v, __ATOMIC_RELEASE);
}

static always_inline void st64_rel(le64 *p, uint64_t x)
{
	__atomic_store_n(&p->v, le64_make(x).v, __ATOMIC_RELEASE);
}

/* Pointers that readers follow while the owner replaces them. */
static always_inline void *ld_ptr(void *const *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static always_inline void st_ptr(void **p, void *x)
{
	__atomic_store_n(p, x, __ATOMIC_RELEASE);
}

#if defined(__SANITIZE_THREAD__)
#define ORDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ORDER_TSAN 1
#endif
#endif

static always_inline void fence_platform(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb sy" ::: "memory");
#elif defined(__riscv)
	__asm__ volatile("fence iorw,iorw" ::: "memory");
#elif defined(__s390x__)
	__asm__ volatile("bcr 14,0" ::: "memory");
#else
	__sync_synchronize();
#endif
}

static always_inline void fence_store_load(void)
{
#ifdef ORDER_TSAN
	fence_platform(); /* ThreadSanitizer refuses the builtin */
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static always_inline void fence_program(void)
{
	__asm__ volatile("" ::: "memory");
}

static always_inline void cpu_relax(void)
{
#if defined(__x86_64__)
	__asm__ volatile("pause" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/* A bit in the dirty log, which the front end clears while we set. Release:
 * who sees the bit sees what was written to the page. */
static always_inline void bits_or8(uint8_t *p, uint8_t bits)
{
#ifdef __riscv /* no atomic on a byte: take the word that holds it */
	unsigned byte = (uintptr_t)p % 4;

	__atomic_fetch_or((uint32_t *)(p - byte), (uint32_t)bits << byte * 8,
	                  __ATOMIC_RELEASE);
#else
	__atomic_fetch_or(p, bits, __ATOMIC_RELEASE);
#endif
}

/* A counter: the owner adds with a plain store, anybody may look. */
static always_inline void count_add(uint64_t *c, uint64_t n)
{
	__atomic_store_n(c, __atomic_load_n(c, __ATOMIC_RELAXED) + n,
	                 __ATOMIC_RELAXED);
}

static always_inline void count_add_shared(uint64_t *c, uint64_t n)
{
	__atomic_fetch_add(c, n, __ATOMIC_RELAXED);
}

static always_inline uint64_t count_get(const uint64_t *c)
{
	return __atomic_load_n(c, __ATOMIC_RELAXED);
}

#endif
