/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_config.c - configuration files of anybody. Input: the file; or, if it
 * begins with '!', the keys of a port as on the command line.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../viaductd/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_list(struct config *c, struct report *r, const uint8_t *data,
                    size_t size)
{
	static const struct where at;
	struct port_conf *p = config_add_port(c, &at);
	char *text = strndup((const char *)data, size);

	assert(p && text);
	key_set_list(&(struct key_setting){ &port_section, &p->said, p, "port",
	                                    r },
	             &at, text);
	free(text);
}

static void as_file(struct config *c, struct report *r, const uint8_t *data,
                    size_t size)
{
	static char path[32];
	int fd = memfd_create("fuzz", 0);

	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	yaml_read(c, path, r);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *c = config_new();
	struct vswitch_port_opts opts;
	struct report r = { .n = 0 };

	assert(c);
	if (size && data[0] == '!')
		as_list(c, &r, data + 1, size - 1);
	else
		as_file(c, &r, data, size);
	config_check(c, &r);
	for (unsigned i = 0; !r.n && i < c->nports; i++)
		port_conf_switch(c->ports[i], &opts);
	report_fini(&r);
	config_free(c);
	return 0;
}
