/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listen.h - unix sockets of both kinds. Only vhost includes it.
 *
 * All are non-blocking and close-on-exec.
 */
#ifndef VIADUCT_VHOST_LISTEN_H
#define VIADUCT_VHOST_LISTEN_H

#include "vhost/backend.h"

/**
 * listen_open() - a socket that listens at conf->path, with its mode and owner
 *
 * A file that a dead process left there is replaced; anything else is not.
 *
 * Return: descriptor, or -EADDRINUSE (somebody listens there, or it is no
 * socket at all), -ENAMETOOLONG, or what the system said.
 */
int listen_open(const struct vhost_backend_conf *conf);

/* A connected socket, or negative errno. Never waits. */
int listen_connect(const char *path);

/* Does this socket listen (rather than being connected)? */
bool listen_is_listening(int fd);

#endif
