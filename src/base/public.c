/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * public.c - <viaduct/viaduct.h>: version and logging of the library.
 */
#include <viaduct/viaduct.h>

#include "base/log.h"

_Static_assert((int)VD_LOG_ERROR == (int)LOG_LEVEL_ERROR &&
                       (int)VD_LOG_DEBUG == (int)LOG_LEVEL_DEBUG,
               "the same levels");

static struct {
	void (*fn)(void *ctx, enum vd_log_level level, const char *tag,
	           const char *text);
	void *ctx;
} application;

const char *vd_version(void)
{
	return VIADUCT_VERSION;
}

static void pass_on(void *ctx, enum log_level level, const char *tag,
                    const char *text)
{
	(void)ctx;
	application.fn(application.ctx, (enum vd_log_level)level, tag, text);
}

void vd_log_set(void (*fn)(void *ctx, enum vd_log_level level, const char *tag,
                           const char *text),
                void *ctx, enum vd_log_level most)
{
	application.fn = fn;
	application.ctx = ctx;
	log_set(fn ? pass_on : NULL, NULL, (enum log_level)most);
}
