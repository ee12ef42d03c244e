/* SPDX-License-Identifier: BSD-2-Clause */
/* yaml.h - a configuration from a file. Only the daemon includes it. */
#ifndef VIADUCTD_YAML_H
#define VIADUCTD_YAML_H

#include "config.h"

#define YAML_FILE_MAX (1u << 20) /* bytes */

/* Everything that is wrong with it is reported, with its line. @path has to
 * stay as long as @c. */
void yaml_read(struct config *c, const char *path, struct report *r);

#endif
