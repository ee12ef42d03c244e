/* SPDX-License-Identifier: BSD-2-Clause */
/* logger.h - log lines on standard error. Only the daemon includes it. */
#ifndef VIADUCTD_LOGGER_H
#define VIADUCTD_LOGGER_H

#include "base/log.h"

/* "info  a: guest connected features=12"; for the journal the level is a number
 * in front: "<6>a: guest connected". */
void logger_init(enum log_level most);

#endif
