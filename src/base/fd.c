/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fd.c - descriptors that move and descriptors that notify.
 *
 * Peers may hand us an eventfd or the end of a pipe; both take 8 bytes.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int fd_move(int *fd)
{
	int was = *fd;

	*fd = -1;
	return was;
}

void fd_replace(int *fd, int with)
{
	if (*fd == with)
		return;
	fd_close(fd);
	*fd = with;
}

int fd_set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	if (flags & O_NONBLOCK)
		return 0;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

int fd_set_cloexec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags < 0)
		return -errno;
	return fcntl(fd, F_SETFD, flags | FD_CLOEXEC) ? -errno : 0;
}

int fd_event_new(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

int fd_event_signal(int fd)
{
	uint64_t one = 1;
	ssize_t n;

	if (fd < 0)
		return 0;
	do {
		n = write(fd, &one, sizeof(one));
	} while (n < 0 && errno == EINTR);
	return n < 0 && errno != EAGAIN ? -errno : 0;
}

bool fd_event_drain(int fd)
{
	uint64_t buf[8]; /* an eventfd gives one; a pipe what was written */
	ssize_t n;

	if (fd < 0)
		return false;
	do {
		n = read(fd, buf, sizeof(buf));
	} while (n < 0 && errno == EINTR);
	return n > 0;
}
