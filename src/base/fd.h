/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fd.h - descriptors that move and descriptors that notify. Anyone hosted may
 * include it.
 *
 * An int that holds a descriptor holds -1 when it holds none. Whoever keeps a
 * descriptor takes it with fd_move(); what is left is closed by its holder.
 */
#ifndef VIADUCT_BASE_FD_H
#define VIADUCT_BASE_FD_H

#include "base/defs.h"

/* Close what *fd holds, if anything; it holds none afterwards. */
void fd_close(int *fd);

/* Take the descriptor out of *fd. */
int fd_move(int *fd);

/* *fd holds @with from now on; what it held is closed. */
void fd_replace(int *fd, int with);

/* 0 or negative errno. */
int fd_set_nonblock(int fd);
int fd_set_cloexec(int fd);

/* A fresh eventfd, non-blocking, close-on-exec; or negative errno. */
int fd_event_new(void);

/* Poke whoever waits on an eventfd (or pipe, or socket): 8 bytes, never
 * blocks as long as @fd does not. -1 is fine. 0 or negative errno; a counter
 * that is full already is success. */
int fd_event_signal(int fd);

/* Empty it. Return: true when something was there. -1 is fine. */
bool fd_event_drain(int fd);

#endif
