/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notify.h - tell the service manager how we are. Only the daemon includes it.
 */
#ifndef VIADUCTD_NOTIFY_H
#define VIADUCTD_NOTIFY_H

/* "READY=1", "STOPPING=1", "RELOADING=1"; to $NOTIFY_SOCKET, if any. */
void notify_send(const char *state);

#endif
