/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h - the command line of viaductd. Only the daemon includes it. */
#ifndef VIADUCTD_OPTIONS_H
#define VIADUCTD_OPTIONS_H

#include "config.h"

enum options_do {
	OPTIONS_RUN,
	OPTIONS_CHECK, /* only say whether the configuration is right */
	OPTIONS_CAPABILITIES,
	OPTIONS_HELP,
	OPTIONS_VERSION,
	OPTIONS_WRONG /* and it was said why */
};

/**
 * options_read() - the command line, and the file that it names
 * @c: out; what the command line says of the whole goes before the file
 *
 * Everything wrong with values is in @r; wrong options are OPTIONS_WRONG. It
 * may be called again with the same arguments.
 */
enum options_do options_read(int argc, char **argv, struct config *c,
                             struct report *r);

void options_help(void);

#endif
