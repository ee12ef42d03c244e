/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vhost_backend.c - how a back end and its front ends find each other, and
 * again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "peer.h"

static char path[64];

static int make_path(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/viaduct-back-%d.sock", getpid());
	unlink(path);
	return 0;
}

static int remove_path(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static struct sockaddr_un address(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	strcpy(a.sun_path, path);
	return a;
}

static int dial(void)
{
	struct sockaddr_un a = address();
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
		fd_close(&fd);
	return fd;
}

static int listen_there(void)
{
	struct sockaddr_un a = address();
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static struct vhost_backend_conf conf(bool client)
{
	return (struct vhost_backend_conf){ .tag = "test",
		                            .path = path,
		                            .client = client };
}

static bool has_hung_up(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

static void use(struct peer *p, int fd)
{
	p->fd = fd;
	assert_true(peer_is_connected(p));
	peer_run(p, VIRTIO_F_VERSION_1, 0, 16);
	peer_echo(p, 0, 3);
}

/* One after the other; each finds a device as new. */
static void test_again_and_again(void **state)
{
	struct vhost_backend_conf c = conf(false);
	struct vhost_info info;
	unsigned before = 0;
	struct peer p;

	(void)state;
	peer_open_conf(&p, &c);
	for (unsigned i = 0; i < 200; i++) {
		use(&p, dial());
		fd_close(&p.fd);
		peer_turn(&p);
		assert_false(peer_queue(&p, 0).started);
		assert_false(peer_queue(&p, 0).enabled);
		if (i == 0)
			before = peer_open_fds();
	}
	assert_int_equal(peer_open_fds(), before);
	vhost_backend_info(p.b, &info);
	assert_int_equal(info.sessions, 200);
	assert_int_equal(info.mem_bytes, 0);
	assert_false(info.connected);
	assert_int_equal(p.dev.connects, 200);
	assert_int_equal(p.dev.disconnects, 200);
	assert_int_equal(p.dev.starts, p.dev.stops);
	peer_close(&p);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_second_is_turned_away(void **state)
{
	struct vhost_backend_conf c = conf(false);
	struct peer p;

	(void)state;
	peer_open_conf(&p, &c);
	use(&p, dial());
	for (unsigned i = 0; i < 5; i++) {
		int second = dial();

		peer_turn(&p);
		assert_true(has_hung_up(second));
		close(second);
	}
	peer_echo(&p, 0, 3);
	assert_int_equal(p.dev.connects, 1);
	peer_close(&p);
}

/* The old one is gone and the new one is there before we have noticed. */
static void test_quick_successor(void **state)
{
	struct vhost_backend_conf c = conf(false);
	struct peer p;

	(void)state;
	peer_open_conf(&p, &c);
	for (unsigned i = 0; i < 50; i++) {
		int old = p.fd;

		use(&p, dial());
		if (i)
			assert_int_equal(old, -1);
		fd_close(&p.fd);
		/* no turn of the loop between them */
	}
	assert_int_equal(p.dev.connects, 50);
	peer_close(&p);
}

/* A front end that breaks the protocol can come back. */
static void test_bad_then_good(void **state)
{
	struct vhost_backend_conf c = conf(false);
	struct vhost_info info;
	struct peer p;

	(void)state;
	peer_open_conf(&p, &c);
	use(&p, dial());
	peer_send(&p, VHOST_USER_IOTLB_MSG, NULL, 32, NO_FDS);
	assert_false(peer_is_connected(&p));
	vhost_backend_info(p.b, &info);
	assert_false(info.connected);
	assert_int_equal(info.refused, 1);
	fd_close(&p.fd);
	use(&p, dial());
	/* asked for a reply: told, and the session lives */
	assert_int_equal(peer_ask(&p, VHOST_USER_IOTLB_MSG, NULL, 32, NO_FDS),
	                 1);
	assert_int_equal(peer_ask(&p, 1000, NULL, 0, NO_FDS), 1);
	peer_echo(&p, 0, 3);
	peer_close(&p);
}

static int new_error(const struct vhost_backend_conf *c)
{
	static const struct device_ops ops = { .queues = 1 };
	struct vhost_backend *b;
	struct loop *l;
	int err;

	l = loop_new(&err);
	b = vhost_backend_new(l, &ops, NULL, c, &err);
	assert_true(!b == (err != 0));
	vhost_backend_free(b);
	loop_free(l);
	return err;
}

static void test_stale_file(void **state)
{
	struct vhost_backend_conf c = conf(false);
	struct peer p;
	int fd = listen_there();

	(void)state;
	/* somebody listens */
	assert_int_equal(new_error(&c), -EADDRINUSE);
	assert_int_equal(access(path, F_OK), 0);
	close(fd); /* as after a kill */
	peer_open_conf(&p, &c);
	assert_int_equal(new_error(&c), -EADDRINUSE);
	use(&p, dial());
	peer_close(&p);

	/* something else is there */
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(new_error(&c), -EADDRINUSE);
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
	assert_int_equal(symlink("/nowhere/at/all", path), 0);
	assert_int_equal(new_error(&c), -EADDRINUSE);
	unlink(path);
}

static void test_bad_paths(void **state)
{
	struct vhost_backend_conf c = conf(false);
	char name[200];

	(void)state;
	memset(name, 'x', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = 0;
	c.path = name;
	assert_int_equal(new_error(&c), -ENAMETOOLONG);
	c.path = "/no/such/folder/s";
	assert_int_equal(new_error(&c), -ENOENT);
	c.path = "";
	assert_int_equal(new_error(&c), -EINVAL);
}

/* Another back end has replaced our file: it stays when we go. */
static void test_foreign_file_stays(void **state)
{
	struct vhost_backend_conf c = conf(false);
	struct peer p;
	int fd;

	(void)state;
	peer_open_conf(&p, &c);
	unlink(path);
	fd = listen_there();
	peer_close(&p);
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	unlink(path);
}

static void test_mode_and_owner(void **state)
{
	struct vhost_backend_conf c = conf(false);
	struct stat st;
	mode_t old;

	(void)state;
	old = umask(077);
	for (unsigned i = 0; i < 2; i++) {
		struct peer p;

		c.mode = i ? 0666 : 0;
		if (geteuid() == 0) {
			c.set_owner = true;
			c.uid = 1234;
			c.gid = 4321;
		}
		peer_open_conf(&p, &c);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, i ? 0666 : 0600);
		if (c.set_owner) {
			assert_int_equal(st.st_uid, 1234);
			assert_int_equal(st.st_gid, 4321);
		}
		peer_close(&p);
	}
	umask(old);
}

/* A descriptor that listens already. */
static void test_given_listener(void **state)
{
	struct vhost_backend_conf c = { .tag = "test" };
	struct peer p;

	(void)state;
	c.fd = listen_there();
	peer_open_conf(&p, &c);
	for (unsigned i = 0; i < 3; i++) {
		use(&p, dial());
		fd_close(&p.fd);
	}
	peer_close(&p);
	assert_int_equal(access(path, F_OK), 0); /* not ours */
	unlink(path);
}

/* --- client ------------------------------------------------------------- */

static int await(struct peer *p, int listener, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			return fd;
		loop_turn(p->loop, 1);
	}
	return -1;
}

static void test_client(void **state)
{
	struct vhost_backend_conf c = conf(true);
	struct peer p;
	int l, fd;

	(void)state;
	peer_open_conf(&p, &c); /* nobody is there yet */
	for (unsigned i = 0; i < 100; i++)
		loop_turn(p.loop, 1);
	l = listen_there();
	for (unsigned i = 0; i < 5; i++) {
		fd = await(&p, l, 3000);
		assert_true(fd >= 0);
		use(&p, fd);
		fd_close(&p.fd);
	}
	/* the other side goes away altogether, and comes back */
	close(l);
	unlink(path);
	for (unsigned i = 0; i < 200; i++)
		loop_turn(p.loop, 1);
	l = listen_there();
	fd = await(&p, l, 3000);
	assert_true(fd >= 0);
	use(&p, fd);
	close(l);
	peer_close(&p);
	unlink(path);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Somebody who accepts and hangs up at once is tried less and less often. */
static void test_client_backs_off(void **state)
{
	struct vhost_backend_conf c = conf(true);
	uint64_t end = now_ms() + 1500;
	unsigned calls = 0;
	struct peer p;
	int l = listen_there();

	(void)state;
	peer_open_conf(&p, &c);
	while (now_ms() < end) {
		int fd = await(&p, l, 10);

		calls += fd >= 0;
		fd_close(&fd);
	}
	/* at 0, 50, 150, 350, 750 ms ... */
	assert_in_range(calls, 3, 6);
	close(l);
	peer_close(&p);
	unlink(path);
}

/* --- time --------------------------------------------------------------- */

/* Begun and not ended: five seconds, then the next one is served. */
static void test_unfinished_message(void **state)
{
	struct vhost_backend_conf c = conf(false);
	uint64_t start = now_ms();
	struct peer p;
	int fd;

	(void)state;
	peer_open_conf(&p, &c);
	fd = dial();
	assert_int_equal(send(fd, "\1", 1, 0), 1);
	while (!has_hung_up(fd) && now_ms() < start + 8000)
		loop_turn(p.loop, 100);
	assert_in_range(now_ms() - start, 4900, 7000);
	close(fd);
	use(&p, dial());
	peer_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_again_and_again),
		cmocka_unit_test(test_second_is_turned_away),
		cmocka_unit_test(test_quick_successor),
		cmocka_unit_test(test_bad_then_good),
		cmocka_unit_test(test_stale_file),
		cmocka_unit_test(test_bad_paths),
		cmocka_unit_test(test_foreign_file_stays),
		cmocka_unit_test(test_mode_and_owner),
		cmocka_unit_test(test_given_listener),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_client_backs_off),
		cmocka_unit_test(test_unfinished_message),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
