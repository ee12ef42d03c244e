/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listen.c - unix sockets of both kinds.
 */
#include "vhost/listen.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#define BACKLOG      16
#define DEFAULT_MODE 0600u

static int unix_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static int address_of(const char *path, struct sockaddr_un *to)
{
	memset(to, 0, sizeof(*to));
	to->sun_family = AF_UNIX;
	if (!*path)
		return -EINVAL;
	if (strlen(path) >= sizeof(to->sun_path))
		return -ENAMETOOLONG;
	strcpy(to->sun_path, path);
	return 0;
}

int listen_connect(const char *path)
{
	struct sockaddr_un to;
	int fd, err;

	err = address_of(path, &to);
	if (err)
		return err;
	fd = unix_socket();
	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		err = -errno;
		fd_close(&fd);
		return err;
	}
	return fd;
}

/* A socket file that refuses connections belongs to nobody. */
static bool remove_if_stale(const char *path)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	fd = listen_connect(path);
	if (fd != -ECONNREFUSED) {
		fd_close(&fd);
		return false;
	}
	return unlink(path) == 0;
}

static int bind_to(int fd, const struct sockaddr_un *to)
{
	if (!bind(fd, (const struct sockaddr *)to, sizeof(*to)))
		return 0;
	if (errno != EADDRINUSE || !remove_if_stale(to->sun_path))
		return -errno;
	return bind(fd, (const struct sockaddr *)to, sizeof(*to)) ? -errno : 0;
}

/* Nobody can connect before listen(), so the owner is right from the start;
 * and the file is made with at most @mode, whatever the umask says. */
static int set_access(int fd, const struct vhost_backend_conf *conf,
                      const struct sockaddr_un *to)
{
	mode_t mode = conf->mode ? conf->mode : DEFAULT_MODE;
	int err;

	if (fchmod(fd, mode))
		return -errno;
	err = bind_to(fd, to);
	if (err)
		return err;
	if (conf->set_owner && lchown(conf->path, conf->uid, conf->gid))
		goto fail;
	if (chmod(conf->path, mode))
		goto fail;
	return 0;
fail:
	err = -errno;
	unlink(conf->path);
	return err;
}

int listen_open(const struct vhost_backend_conf *conf)
{
	struct sockaddr_un to;
	int fd, err;

	err = address_of(conf->path, &to);
	if (err)
		return err;
	fd = unix_socket();
	if (fd < 0)
		return fd;
	err = set_access(fd, conf, &to);
	if (!err && listen(fd, BACKLOG)) {
		err = -errno;
		unlink(conf->path);
	}
	if (err)
		fd_close(&fd);
	return err ? err : fd;
}

bool listen_is_listening(int fd)
{
	socklen_t len = sizeof(int);
	int on = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) && on;
}
