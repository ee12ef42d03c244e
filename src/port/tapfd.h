/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tapfd.h - opening tap interfaces: the ioctls, and what they answered. port
 * includes it.
 */
#ifndef VIADUCT_PORT_TAPFD_H
#define VIADUCT_PORT_TAPFD_H

#include "base/defs.h"

#define TAP_IFNAME 16u

/* A non-blocking descriptor of @ifname, which is made when there is none; or
 * negative errno. */
int tapfd_open(const char *ifname);

/**
 * tapfd_prepare() - 12 byte little-endian headers, all offloads there are
 * @ifname:  out, TAP_IFNAME bytes
 * @allowed: out, OFFLOAD_*: what may be written to it as it is
 *
 * Return: 0, -EPROTOTYPE when it is no tap with IFF_VNET_HDR, negative errno
 */
int tapfd_prepare(int fd, char *ifname, unsigned *allowed);

/* Set the MTU (0: leave it) and bring it up. It is fine when we may not but
 * somebody else did. */
int tapfd_up(const char *ifname, unsigned mtu);

#endif
