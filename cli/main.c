/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - the viaduct command: find the subcommand, run it. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "command.h"

#ifndef VERSION
#define VERSION "unknown" /* the build says it */
#endif

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

/* Alphabetical. */
static const struct command commands[] = {
	{ "bench", cmd_bench,
	  "measure what policies and packets cost on this machine" },
	{ "demo", cmd_demo,
	  "show guests on a switch talk to each other and the host" },
	{ "report", cmd_report, "make a page with plots of what bench said" },
	{ "status", cmd_status, "ask a running viaductd how it is" },
};

static void help(FILE *to)
{
	fputs("viaduct COMMAND [...]\n\n", to);
	for (size_t i = 0; i < array_len(commands); i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
	fputs("\nviaduct COMMAND --help tells more; --version\n", to);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";

	for (size_t i = 0; i < array_len(commands); i++) {
		if (!strcmp(commands[i].name, name))
			return commands[i].run(argc - 1, argv + 1);
	}
	if (!strcmp(name, "--version")) {
		puts("viaduct " VERSION);
		return 0;
	}
	if (!strcmp(name, "--help")) {
		help(stdout);
		return argc > 1 ? 0 : 2;
	}
	fprintf(stderr, "viaduct: there is no command \"%s\"\n\n", name);
	help(stderr);
	return 2;
}
