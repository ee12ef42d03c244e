/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * null.h - a port that takes everything, counts it and forgets it. The daemon
 * includes it.
 */
#ifndef VIADUCT_PORT_NULL_H
#define VIADUCT_PORT_NULL_H

#include "port/port.h"

/* Freed by its ops->close. */
struct port *null_port_new(const char *name, int *err);

#endif
