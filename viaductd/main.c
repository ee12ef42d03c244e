/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - viaductd from start to end.
 *
 *	read the command line and the file, whole; start nothing if it is wrong
 *	open ports, start workers, open the control socket
 *	say READY; run the main thread's loop
 *	  SIGHUP           read again, change the ports that differ
 *	  SIGTERM, SIGINT  leave the loop
 *	say STOPPING; close everything, remove the sockets
 *
 * It does not put itself in the background: whoever starts it knows how.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "daemon.h"
#include "logger.h"
#include "mem/guard.h"
#include "notify.h"
#include "options.h"
#include "status.h"
#include "version.h"

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_WRONG = 2 };

struct program {
	int argc;
	char **argv;
	struct daemon daemon;
	struct control *control;
	struct loop_watch signals;
};

/* As the conventions for vhost-user programs have it. */
static void print_capabilities(void)
{
	puts("{\n  \"type\": \"net\"\n}");
}

static void log_report(const struct report *r)
{
	for (unsigned i = 0; i < r->n; i++)
		log_error("config", "%s", r->line[i] ? r->line[i] : "?");
}

static void print_report(const struct report *r)
{
	for (unsigned i = 0; i < r->n; i++)
		fprintf(stderr, "viaductd: %s\n",
		        r->line[i] ? r->line[i] : "?");
}

/* --- while it runs ------------------------------------------------------- */

static void notify_reloading(void)
{
	struct timespec t;
	char text[64];

	clock_gettime(CLOCK_MONOTONIC, &t);
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
	         (unsigned long long)t.tv_sec * 1000000 +
	                 (unsigned long long)t.tv_nsec / 1000);
	notify_send(text);
}

static void reload(struct program *p)
{
	struct config *c = config_new();
	struct report r = { .n = 0 };

	if (!c)
		return;
	notify_reloading();
	options_read(p->argc, p->argv, c, &r);
	if (r.n) {
		log_report(&r);
		log_error("config", "not read again, everything stays as it "
		                    "is");
		config_free(c);
	} else {
		daemon_follow(&p->daemon, c);
	}
	report_fini(&r);
	notify_send("READY=1");
}

static void signal_came(struct loop_watch *w, uint32_t events)
{
	struct program *p = container_of(w, struct program, signals);
	struct signalfd_siginfo s;

	(void)events;
	if (read(w->fd, &s, sizeof(s)) != sizeof(s))
		return;
	if (s.ssi_signo == SIGHUP) {
		reload(p);
		return;
	}
	log_info("main", "leaving signal=%s", strsignal((int)s.ssi_signo));
	loop_stop(p->daemon.workers.worker[0].loop);
}

static int signals_watch(struct program *p, const sigset_t *set)
{
	int fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	p->signals.fn = signal_came;
	return loop_watch_add(p->daemon.workers.worker[0].loop, &p->signals, fd,
	                      EPOLLIN);
}

static json_t *answer(void *ctx, const json_t *request)
{
	struct program *p = ctx;
	const char *cmd = json_string_value(json_object_get(request, "cmd"));

	if (cmd && !strcmp(cmd, "status"))
		return status_json(&p->daemon);
	if (cmd && !strcmp(cmd, "version"))
		return json_pack("{s:s}", "version", VERSION);
	return json_pack("{s:s}", "error",
	                 "no such cmd; there are status version");
}

static int control_open(struct program *p)
{
	const struct config *c = p->daemon.config;
	struct control_opts o = {
		.path = c->control,
		.owner = c->control_owner,
		.anyone = c->control_owner.mode || c->control_owner.set_owner,
		.answer = answer,
		.ctx = p,
	};
	int err = 0;

	if (!c->control)
		return 0;
	p->control = control_new(p->daemon.workers.worker[0].loop, &o, &err);
	if (err == -EADDRINUSE)
		log_error("control", "%s: in use, is another viaductd running?",
		          c->control);
	else if (err)
		log_error("control", "%s: %s", c->control, strerror(-err));
	return err;
}

/* Each queue of each guest brings three descriptors. */
static void raise_descriptor_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* --- from start to end --------------------------------------------------- */

static void program_end(struct program *p)
{
	int fd = p->signals.loop ? p->signals.fd : -1;

	control_free(p->control);
	loop_watch_remove(&p->signals);
	if (fd >= 0)
		close(fd);
	daemon_stop(&p->daemon);
}

static int program_run(struct program *p, struct config *c)
{
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	mem_guard_install();

	raise_descriptor_limit();
	logger_init((enum log_level)c->log_level);
	err = daemon_start(&p->daemon, c);
	if (!err)
		err = control_open(p);
	if (!err)
		err = signals_watch(p, &set);
	/* Nothing that we start, should anybody make us, gains rights. */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!err) {
		log_info("main", "ready version=%s ports=%u workers=%u",
		         VERSION, c->nports, c->workers);
		notify_send("READY=1");
		err = loop_run(p->daemon.workers.worker[0].loop);
		notify_send("STOPPING=1");
	}
	program_end(p);
	return err ? EXIT_FAILED : EXIT_FINE;
}

static int run_checked(struct program *p, struct config *c,
                       enum options_do todo, struct report *r)
{
	if (r->n) {
		print_report(r);
		report_fini(r);
		config_free(c);
		return EXIT_WRONG;
	}
	if (todo == OPTIONS_RUN)
		return program_run(p, c);
	printf("%u ports, %u switches: fine\n", c->nports, c->nswitches);
	config_free(c);
	return EXIT_FINE;
}

int main(int argc, char **argv)
{
	struct program p = { .argc = argc, .argv = argv };
	struct config *c = config_new();
	struct report r = { .n = 0 };
	enum options_do todo;

	if (!c)
		return EXIT_FAILED;
	todo = options_read(argc, argv, c, &r);
	if (todo == OPTIONS_RUN || todo == OPTIONS_CHECK)
		return run_checked(&p, c, todo, &r);
	report_fini(&r);
	config_free(c);
	if (todo == OPTIONS_HELP)
		options_help();
	else if (todo == OPTIONS_VERSION)
		puts("viaductd " VERSION);
	else if (todo == OPTIONS_CAPABILITIES)
		print_capabilities();
	else
		fputs("viaductd: --help tells what is understood\n", stderr);
	return todo == OPTIONS_WRONG ? EXIT_WRONG : EXIT_FINE;
}
