/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * viaduct.h - version and logging of libviaduct
 *
 * Every public symbol begins with vd_. Functions that return int give 0 or a
 * count, or a negative errno. The library never exits, never aborts on input
 * and never prints by itself.
 */
#ifndef VIADUCT_VIADUCT_H
#define VIADUCT_VIADUCT_H

#ifdef __cplusplus
extern "C" {
#endif

#define VD_PUBLIC __attribute__((visibility("default")))

enum vd_log_level { VD_LOG_ERROR, VD_LOG_WARN, VD_LOG_INFO, VD_LOG_DEBUG };

/** vd_version() - "major.minor.patch", a static string */
VD_PUBLIC const char *vd_version(void);

/**
 * vd_log_set() - where the library's lines go; default: nowhere
 * @fn:	  called from any thread of the library; NULL: silence
 * @ctx:  handed back
 * @most: the most talkative level that reaches @fn
 *
 * Call it before anything else of the library.
 */
VD_PUBLIC void vd_log_set(void (*fn)(void *ctx, enum vd_log_level level,
                                     const char *tag, const char *text),
                          void *ctx, enum vd_log_level most);

#ifdef __cplusplus
}
#endif

#endif
