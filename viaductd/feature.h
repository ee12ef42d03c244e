/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feature.h - feature bits as words: those of the specification, in small
 * letters. Only the daemon includes it.
 */
#ifndef VIADUCTD_FEATURE_H
#define VIADUCTD_FEATURE_H

#include "base/defs.h"

struct feature {
	const char *word;
	unsigned bit;
};

/* Device and ring features, by bit; ends with a NULL word. */
extern const struct feature device_features[];
/* Protocol features of vhost-user, likewise. */
extern const struct feature protocol_features[];

/* The bit of a device feature of @n letters, -1 for none. */
int feature_find(const char *word, size_t n);

#endif
