/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c - the command line of viaductd. Two passes: the first finds the
 * file and reads it, the second adds what the command line says, which goes
 * before the file.
 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "yaml.h"

enum {
	OPT_PORT = 256,
	OPT_SWITCH,
	OPT_CONFIG,
	OPT_SOCKET_PATH,
	OPT_FD,
	OPT_CHECK,
	OPT_CAPABILITIES,
	OPT_WHOLE, /* a key of the whole has the option's name */
};

static const struct option options[] = {
	{ "port", required_argument, NULL, OPT_PORT },
	{ "switch", required_argument, NULL, OPT_SWITCH },
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "control", required_argument, NULL, OPT_WHOLE },
	{ "control-mode", required_argument, NULL, OPT_WHOLE },
	{ "control-owner", required_argument, NULL, OPT_WHOLE },
	{ "workers", required_argument, NULL, OPT_WHOLE },
	{ "log-level", required_argument, NULL, OPT_WHOLE },
	{ "socket-path", required_argument, NULL, OPT_SOCKET_PATH },
	{ "fd", required_argument, NULL, OPT_FD },
	{ "print-capabilities", no_argument, NULL, OPT_CAPABILITIES },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

struct reading {
	struct config *config;
	struct report *report;
	bool said[KEYS_MAX]; /* of the whole, by the command line */
};

static const struct where here; /* the command line */

void options_help(void)
{
	fputs("viaductd - a switch for virtual machines, over vhost-user\n"
	      "\n"
	      "  viaductd --port name=a,type=guest,socket=a.sock \\\n"
	      "           --port name=b,type=guest,socket=b.sock \\\n"
	      "           --port name=up,type=tap,ifname=tap0 \\\n"
	      "           --control ctl.sock\n"
	      "\n"
	      "  --port KEY=VALUE,...    a port: name, type, switch and more\n"
	      "  --switch KEY=VALUE,...  a switch: name, mac-age\n"
	      "  --config FILE           the same in YAML, read again on\n"
	      "                          SIGHUP\n"
	      "  --control PATH          socket for the viaduct command\n"
	      "  --control-mode MODE     its permissions, 0600\n"
	      "  --control-owner OWNER   its user:group\n"
	      "  --workers N             threads, 1\n"
	      "  --log-level LEVEL       error, warn, info or debug\n"
	      "  --socket-path PATH      one guest port, on this socket\n"
	      "  --fd FDNUM              one guest port, on this descriptor\n"
	      "  --print-capabilities    what this program serves, in JSON\n"
	      "  --check                 check the configuration, start "
	      "nothing\n"
	      "  --version, --help\n"
	      "\n"
	      "Every key: man viaductd, docs/config.md\n",
	      stdout);
}

/* "port \"a\"", from its list of keys. */
static void tag_of(const char *what, const char *list, char tag[96])
{
	const char *at = list;

	snprintf(tag, 96, "%s", what);
	while (at && strncmp(at, "name=", 5)) {
		at = strchr(at, ',');
		if (at)
			at++;
	}
	if (at)
		snprintf(tag, 96, "%s \"%.*s\"", what,
		         (int)min_of(64, strcspn(at + 5, ",")), at + 5);
}

static void add_port(struct reading *rd, const char *list)
{
	struct port_conf *p = config_add_port(rd->config, &here);
	char tag[96];

	tag_of("port", list, tag);
	if (p)
		key_set_list(&(struct key_setting){ &port_section, &p->said, p,
		                                    tag, rd->report },
		             &here, list);
}

static void add_switch(struct reading *rd, const char *list)
{
	struct switch_conf *s = config_add_switch(rd->config, &here);
	char tag[96];

	tag_of("switch", list, tag);
	if (s)
		key_set_list(&(struct key_setting){ &switch_section, &s->said,
		                                    s, tag, rd->report },
		             &here, list);
}

/* A guest port as the conventions for vhost-user programs ask for it. */
static void add_conventional(struct reading *rd, const char *key,
                             const char *value)
{
	struct port_conf *p = config_add_port(rd->config, &here);
	struct key_setting to = { &port_section, NULL, p, "port \"guest\"",
		                  rd->report };

	if (!p)
		return;
	to.said = &p->said;
	key_set(&to, &here, "name", "guest");
	key_set(&to, &here, "type", "guest");
	key_set(&to, &here, key, value);
}

static void set_whole(struct reading *rd, const char *name, const char *value)
{
	const struct key_setting to = { &config_section, &rd->config->said,
		                        rd->config, "configuration",
		                        rd->report };
	int i = key_find(&config_section, name, strlen(name));

	if (!rd->said[i]) { /* what the file says does not count */
		free(rd->config->said.text[i]);
		rd->config->said.text[i] = NULL;
		rd->said[i] = true;
	}
	key_set(&to, &here, name, value);
}

static enum options_do take(struct reading *rd, int opt, int index)
{
	switch (opt) {
	case OPT_PORT:
		add_port(rd, optarg);
		break;
	case OPT_SWITCH:
		add_switch(rd, optarg);
		break;
	case OPT_WHOLE:
		set_whole(rd, options[index].name, optarg);
		break;
	case OPT_SOCKET_PATH:
		add_conventional(rd, "socket", optarg);
		break;
	case OPT_FD:
		add_conventional(rd, "fd", optarg);
		break;
	case OPT_CHECK:
		return OPTIONS_CHECK;
	case OPT_CAPABILITIES:
		return OPTIONS_CAPABILITIES;
	case 'h':
		return OPTIONS_HELP;
	case 'V':
		return OPTIONS_VERSION;
	case '?':
		return OPTIONS_WRONG;
	default: /* the file was read before */
		break;
	}
	return OPTIONS_RUN;
}

static void read_file(int argc, char **argv, struct reading *rd)
{
	const char *file = NULL;
	int opt;

	optind = 0;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "hV", options, NULL)) != -1) {
		if (opt != OPT_CONFIG)
			continue;
		if (file)
			report_add(rd->report, &here,
			           "--config is given twice");
		file = optarg;
	}
	rd->config->file = file;
	if (file)
		yaml_read(rd->config, file, rd->report);
}

enum options_do options_read(int argc, char **argv, struct config *c,
                             struct report *r)
{
	struct reading rd = { .config = c, .report = r };
	enum options_do todo = OPTIONS_RUN, this;
	int opt, index = 0;

	read_file(argc, argv, &rd);
	optind = 0;
	opterr = 1;
	while ((opt = getopt_long(argc, argv, "hV", options, &index)) != -1) {
		this = take(&rd, opt, index);
		/* What ends at once goes before what runs. */
		if (this > todo)
			todo = this;
	}
	if (optind < argc) {
		fprintf(stderr, "viaductd: what is \"%s\"?\n", argv[optind]);
		todo = OPTIONS_WRONG;
	}
	config_check(c, r);
	return todo;
}
