/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notify.c - tell the service manager how we are: one datagram, as sd_notify(3)
 * describes it. Twenty lines are less to load than libsystemd and its own
 * libraries, which would be a third of this daemon's memory.
 */
#include "notify.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

void notify_send(const char *state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (!n || n >= sizeof(at.sun_path))
		return;
	memcpy(at.sun_path, path, n);
	if (at.sun_path[0] == '@')
		at.sun_path[0] = '\0'; /* a name that is no file */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL,
	           (struct sockaddr *)&at,
	           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
		log_warn("main", "the service manager does not listen");
	close(fd);
}
