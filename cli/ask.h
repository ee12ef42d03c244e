/* SPDX-License-Identifier: BSD-2-Clause */
/* ask.h - a question to a running viaductd. Only cli includes it. */
#ifndef VIADUCT_CLI_ASK_H
#define VIADUCT_CLI_ASK_H

#include <jansson.h>

/**
 * ask_daemon() - one request, one answer
 * @control: path of the socket; NULL: $VIADUCT_CONTROL, or where it usually is
 *
 * Return: the answer, an object; NULL: said on standard error why there is none
 */
json_t *ask_daemon(const char *control, const char *cmd);

#endif
