/* SPDX-License-Identifier: BSD-2-Clause */
/* version.h - which viaductd this is. The daemon and the command include it. */
#ifndef VIADUCTD_VERSION_H
#define VIADUCTD_VERSION_H

#ifndef VERSION
#define VERSION "unknown" /* the build says it */
#endif

#endif
