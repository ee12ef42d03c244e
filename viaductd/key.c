/* SPDX-License-Identifier: BSD-2-Clause */
/* key.c - the names of a configuration: finding them, taking their values. */
#include "key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void said_fini(struct said *s)
{
	for (unsigned i = 0; i < KEYS_MAX; i++)
		free(s->text[i]);
	*s = (struct said){ .at = { NULL, 0 } };
}

bool said_same(const struct said *a, const struct said *b)
{
	for (unsigned i = 0; i < KEYS_MAX; i++) {
		if (!a->text[i] != !b->text[i])
			return false;
		if (a->text[i] && strcmp(a->text[i], b->text[i]))
			return false;
	}
	return true;
}

int key_find(const struct section *s, const char *name, size_t n)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (strlen(s->keys[i].name) == n &&
		    !memcmp(s->keys[i].name, name, n))
			return (int)i;
	}
	return -1;
}

static void report_unknown(const struct key_setting *to, const struct where *at,
                           const char *name)
{
	const struct section *s = to->section;
	char all[512] = "";
	size_t n = 0;

	for (unsigned i = 0; i < s->n && n < sizeof(all); i++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, " %s",
		                      s->keys[i].name);
	report_add(to->report, at, "%s: no such key \"%s\"; there are%s",
	           to->tag, name, all);
}

bool key_set(const struct key_setting *to, const struct where *at,
             const char *name, const char *value)
{
	int i = key_find(to->section, name, strlen(name));
	const struct key *k;
	char allowed[512];
	char **text;

	if (i < 0) {
		report_unknown(to, at, name);
		return false;
	}
	k = &to->section->keys[i];
	text = &to->said->text[i];
	if (*text) {
		report_add(to->report, at, "%s: %s is given twice", to->tag,
		           name);
		return false;
	}
	*text = strdup(value);
	if (*text && k->read(k, *text, (char *)to->obj + k->offset))
		return true;
	value_allowed(k, allowed, sizeof(allowed));
	report_add(to->report, at, "%s: %s: \"%s\" is not allowed; allowed: %s",
	           to->tag, name, value, allowed);
	return false;
}

void key_set_list(const struct key_setting *to, const struct where *at,
                  const char *text)
{
	char *copy = strdup(text), *rest = copy, *item, *value;

	while (rest && (item = strsep(&rest, ","))) {
		value = strchr(item, '=');
		if (value) {
			*value = '\0';
			key_set(to, at, item, value + 1);
		} else {
			report_add(to->report, at,
			           "%s: \"%s\" is not name=value", to->tag,
			           item);
		}
	}
	free(copy);
}
