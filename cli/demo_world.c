/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_world.c - namespace, folder, daemon, tap; and all of it away again.
 *
 * Root makes a network namespace; others make a user namespace with it, in
 * which they are root. Where neither is allowed there is no tap, and the two
 * guests talk to each other only.
 */
#include "demo_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_TRIES 500 /* of 10 ms */
#define LOG_TAIL    2000

static int fail(struct world *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->failure, sizeof(w->failure), fmt, ap);
	va_end(ap);
	return -1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
}

/* --- namespace --------------------------------------------------------- */

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -EIO : 0;
}

/* Be root in a user namespace of our own. */
static int enter_user(void)
{
	char map[64];
	unsigned uid = getuid(), gid = getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return -errno;
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (write_text("/proc/self/uid_map", map))
		return -EPERM;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return write_text("/proc/self/gid_map", map);
}

/* Can a tap be made here? */
static int try_tap(void)
{
	struct ifreq r = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	strcpy(r.ifr_name, "try%d");
	err = ioctl(fd, TUNSETIFF, &r) < 0 ? -errno : 0;
	close(fd);
	return err;
}

static void enter_network(struct world *w)
{
	int err = unshare(CLONE_NEWNET) < 0 ? enter_user() : 0;

	if (err) {
		snprintf(w->why_not, sizeof(w->why_not),
		         "a network namespace is not permitted (%s)",
		         strerror(-err));
		return;
	}
	err = try_tap();
	if (err) {
		snprintf(w->why_not, sizeof(w->why_not),
		         "a tap cannot be made here (%s)", strerror(-err));
		return;
	}
	w->tap = true;
}

int world_open(struct world *w)
{
	*w = (struct world){ .daemon = -1 };
	enter_network(w);
	strcpy(w->dir, "/tmp/viaduct-demo.XXXXXX");
	if (!mkdtemp(w->dir))
		return fail(w, "no folder can be made in /tmp: %s",
		            strerror(errno));
	snprintf(w->socket[0], sizeof(w->socket[0]), "%s/a.sock", w->dir);
	snprintf(w->socket[1], sizeof(w->socket[1]), "%s/b.sock", w->dir);
	snprintf(w->log, sizeof(w->log), "%s/viaductd.log", w->dir);
	return 0;
}

/* --- daemon ------------------------------------------------------------ */

static void beside_us(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 10);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "viaductd");
}

static void run_daemon(const struct world *w, const char *program)
{
	char a[160], b[160], control[160];
	const char *tap = "name=up,type=tap,ifname=" WORLD_TAP;
	char *argv[] = { (char *)"viaductd",
		         (char *)"--port",
		         a,
		         (char *)"--port",
		         b,
		         (char *)"--control",
		         control,
		         (char *)"--port",
		         (char *)tap,
		         NULL };
	int log = open(w->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (!w->tap)
		argv[7] = NULL;
	snprintf(a, sizeof(a), "name=a,type=guest,socket=%s", w->socket[0]);
	snprintf(b, sizeof(b), "name=b,type=guest,socket=%s", w->socket[1]);
	snprintf(control, sizeof(control), "%s/control.sock", w->dir);
	dup2(log, 1);
	dup2(log, 2);
	/* It must not outlive us, however we end. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	execv(program, argv);
	dprintf(2, "%s: %s\n", program, strerror(errno));
	_exit(127);
}

int world_check(struct world *w)
{
	int status;

	if (waitpid(w->daemon, &status, WNOHANG) == 0)
		return 0;
	w->daemon = -1;
	if (WIFSIGNALED(status))
		return fail(w, "viaductd was ended by signal %d",
		            WTERMSIG(status));
	return fail(w, "viaductd ended with status %d", WEXITSTATUS(status));
}

static bool is_listening(const struct world *w)
{
	struct stat st;

	return stat(w->socket[0], &st) == 0 && stat(w->socket[1], &st) == 0;
}

/* --- tap --------------------------------------------------------------- */

static int interface_up(int fd, const char *name)
{
	struct ifreq r = { .ifr_flags = 0 };

	strncpy(r.ifr_name, name, IFNAMSIZ - 1);
	if (ioctl(fd, SIOCGIFFLAGS, &r) < 0)
		return -errno;
	r.ifr_flags |= IFF_UP | IFF_RUNNING;
	return ioctl(fd, SIOCSIFFLAGS, &r) < 0 ? -errno : 0;
}

static int set_address(int fd, const char *name, unsigned long what,
                       const char *text)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct ifreq r = { .ifr_flags = 0 };

	inet_pton(AF_INET, text, &a.sin_addr);
	strncpy(r.ifr_name, name, IFNAMSIZ - 1);
	memcpy(&r.ifr_addr, &a, sizeof(a));
	return ioctl(fd, what, &r) < 0 ? -errno : 0;
}

static int tap_up(struct world *w)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = -EAGAIN;

	/* It is there when viaductd has opened it. */
	for (int i = 0; err && i < START_TRIES && !world_check(w); i++) {
		err = set_address(fd, WORLD_TAP, SIOCSIFADDR, WORLD_ADDRESS);
		if (err)
			nap();
	}
	if (!err)
		err = set_address(fd, WORLD_TAP, SIOCSIFNETMASK,
		                  "255.255.255.0");
	if (!err)
		err = interface_up(fd, WORLD_TAP);
	interface_up(fd, "lo");
	close(fd);
	if (err && !w->failure[0])
		fail(w, "the tap " WORLD_TAP " gets no address: %s",
		     strerror(-err));
	return err ? -1 : 0;
}

int world_start(struct world *w, const char *program)
{
	double start = now();
	char path[512];

	if (!program) {
		beside_us(path, sizeof(path));
		program = path;
	}
	w->daemon = fork();
	if (w->daemon < 0)
		return fail(w, "no process can be started: %s",
		            strerror(errno));
	if (w->daemon == 0)
		run_daemon(w, program);
	for (int i = 0; !is_listening(w); i++) {
		if (world_check(w))
			return -1;
		if (i == START_TRIES)
			return fail(w, "viaductd did not listen within 5 s");
		nap();
	}
	w->listening_s = now() - start;
	return w->tap ? tap_up(w) : 0;
}

void world_print_log(const struct world *w)
{
	char text[LOG_TAIL + 1];
	FILE *f = fopen(w->log, "r");
	size_t n;

	if (!f)
		return;
	fseek(f, 0, SEEK_END);
	if (ftell(f) > LOG_TAIL)
		fseek(f, -LOG_TAIL, SEEK_END);
	else
		rewind(f);
	n = fread(text, 1, LOG_TAIL, f);
	text[n] = '\0';
	fclose(f);
	if (n)
		fprintf(stderr, "viaductd said:\n%s", text);
}

void world_close(struct world *w)
{
	char control[160];

	if (w->daemon > 0) {
		kill(w->daemon, SIGTERM);
		waitpid(w->daemon, NULL, 0);
		w->daemon = -1;
	}
	snprintf(control, sizeof(control), "%s/control.sock", w->dir);
	unlink(control);
	unlink(w->socket[0]);
	unlink(w->socket[1]);
	unlink(w->log);
	rmdir(w->dir);
}
