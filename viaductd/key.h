/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key.h - the names of a configuration: one table for the command line, the
 * file and the manual. Only the daemon includes it.
 */
#ifndef VIADUCTD_KEY_H
#define VIADUCTD_KEY_H

#include "report.h"
#include "value.h"

#define KEYS_MAX 40u

struct key {
	const char *name;
	value_fn *read;
	size_t offset;     /* in the section's struct, of what read() writes */
	uint64_t min, max; /* value_number */
	const char *words; /* value_word: "server|client" */
	unsigned types;    /* ports: bit t, it is for type t; 0: for all */
};

/* A kind of thing that has keys: the whole, a switch, a port. */
struct section {
	const char *what; /* "port" */
	const struct key *keys;
	unsigned n;
};

/* What was said of one thing, in its own words: by place in section->keys. Two
 * things of which the same was said are the same. */
struct said {
	struct where at; /* where it begins */
	char *text[KEYS_MAX];
};

void said_fini(struct said *s);
bool said_same(const struct said *a, const struct said *b);

/* -1: no such key. */
int key_find(const struct section *s, const char *name, size_t n);

/**
 * key_set() - take one "name: value"
 * @obj: the section's struct
 * @tag: names the thing in complaints, "port \"a\""
 *
 * False: reported.
 */
struct key_setting {
	const struct section *section;
	struct said *said;
	void *obj;
	const char *tag;
	struct report *report;
};

bool key_set(const struct key_setting *to, const struct where *at,
             const char *name, const char *value);

/* Take "name=value,name=value,...", as on the command line. */
void key_set_list(const struct key_setting *to, const struct where *at,
                  const char *text);

#endif
