/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * yaml.c - a configuration from a file.
 *
 *	control: /run/viaduct/control.sock     keys of the whole
 *	switches:                              a list of switches,
 *	  - name: main                         each with keys of a switch
 *	ports:                                 a list of ports,
 *	  - name: a                            each with keys of a port
 *	    type: guest
 *	    trunk: [10, 20-29]                 a list is the same as 10+20-29
 *
 * libyaml makes nodes that know their line; the tables of key.h do the rest.
 * (A library that maps YAML to structs forgets the lines before it can be said
 * what is wrong with the whole.)
 */
#include "yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct reader {
	struct config *config;
	struct report *report;
	const char *path;
	yaml_document_t doc;
};

static struct where where_of(const struct reader *y, const yaml_node_t *n)
{
	return (struct where){ y->path, (unsigned)n->start_mark.line + 1 };
}

static const char *scalar(const yaml_node_t *n)
{
	return n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value
	                                   : NULL;
}

/* Items of a list with '+' between them; NULL: not all of them are plain. */
static char *list_text(struct reader *y, const yaml_node_t *n)
{
	char *text = calloc(1, 1), *more;

	for (yaml_node_item_t *i = n->data.sequence.items.start;
	     text && i < n->data.sequence.items.top; i++) {
		const char *item = scalar(yaml_document_get_node(&y->doc, *i));

		if (!item ||
		    asprintf(&more, "%s%s%s", text, *text ? "+" : "", item) < 0)
			more = NULL;
		free(text);
		text = more;
	}
	return text;
}

static void read_pair(struct reader *y, const struct key_setting *to,
                      const yaml_node_t *key, const yaml_node_t *value)
{
	struct where at = where_of(y, key);
	char *text = NULL;

	if (scalar(value))
		text = strdup(scalar(value));
	else if (value->type == YAML_SEQUENCE_NODE)
		text = list_text(y, value);
	if (text)
		key_set(to, &at, scalar(key), text);
	else
		report_add(y->report, &at,
		           "%s: %s: a value or a list of values is allowed",
		           to->tag, scalar(key));
	free(text);
}

/* "port \"a\"", for complaints, before anything else is read of it. */
static void tag_of(struct reader *y, const char *what, const yaml_node_t *map,
                   char tag[96])
{
	snprintf(tag, 96, "%s", what);
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     p < map->data.mapping.pairs.top; p++) {
		const char *key =
			scalar(yaml_document_get_node(&y->doc, p->key));
		const char *value =
			scalar(yaml_document_get_node(&y->doc, p->value));

		if (key && value && !strcmp(key, "name"))
			snprintf(tag, 96, "%s \"%.64s\"", what, value);
	}
}

static void read_thing(struct reader *y, const struct key_setting *thing,
                       const yaml_node_t *map)
{
	struct key_setting to = *thing;
	char tag[96];

	tag_of(y, to.section->what, map, tag);
	to.tag = tag;
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     p < map->data.mapping.pairs.top; p++) {
		const yaml_node_t *k = yaml_document_get_node(&y->doc, p->key);
		struct where at = where_of(y, k);

		if (scalar(k))
			read_pair(y, &to, k,
			          yaml_document_get_node(&y->doc, p->value));
		else
			report_add(y->report, &at, "%s: a key is a word", tag);
	}
}

static void read_switch(struct reader *y, const yaml_node_t *map)
{
	struct where at = where_of(y, map);
	struct switch_conf *s = config_add_switch(y->config, &at);
	struct key_setting to = { .section = &switch_section,
		                  .obj = s,
		                  .report = y->report };

	if (!s)
		return;
	to.said = &s->said;
	read_thing(y, &to, map);
}

static void read_port(struct reader *y, const yaml_node_t *map)
{
	struct where at = where_of(y, map);
	struct port_conf *p = config_add_port(y->config, &at);
	struct key_setting to = { .section = &port_section,
		                  .obj = p,
		                  .report = y->report };

	if (!p)
		return;
	to.said = &p->said;
	read_thing(y, &to, map);
}

static void read_list(struct reader *y, const char *name,
                      const yaml_node_t *list)
{
	bool ports = !strcmp(name, "ports");
	struct where at = where_of(y, list);

	if (list->type != YAML_SEQUENCE_NODE) {
		report_add(y->report, &at,
		           "%s: a list is allowed, each item beginning with "
		           "\"- name: ...\"",
		           name);
		return;
	}
	for (yaml_node_item_t *i = list->data.sequence.items.start;
	     i < list->data.sequence.items.top; i++) {
		const yaml_node_t *n = yaml_document_get_node(&y->doc, *i);

		at = where_of(y, n);
		if (n->type != YAML_MAPPING_NODE)
			report_add(y->report, &at,
			           "%s: an item is a list of \"key: value\"",
			           name);
		else if (ports)
			read_port(y, n);
		else
			read_switch(y, n);
	}
}

/* A key of the whole. */
static void read_whole(struct reader *y, const yaml_node_t *key,
                       const yaml_node_t *value)
{
	const struct key_setting to = { &config_section, &y->config->said,
		                        y->config, "configuration", y->report };
	const char *name = scalar(key);
	struct where at = where_of(y, key);

	if (key_find(&config_section, name, strlen(name)) >= 0)
		read_pair(y, &to, key, value);
	else
		report_add(y->report, &at,
		           "no such key \"%s\"; there are ports switches "
		           "control control-mode control-owner workers "
		           "log-level",
		           name);
}

static void read_root(struct reader *y, const yaml_node_t *root)
{
	unsigned seen[2] = { 0, 0 };

	for (yaml_node_pair_t *p = root->data.mapping.pairs.start;
	     p < root->data.mapping.pairs.top; p++) {
		const yaml_node_t *k = yaml_document_get_node(&y->doc, p->key);
		const yaml_node_t *v =
			yaml_document_get_node(&y->doc, p->value);
		struct where at = where_of(y, k);
		const char *name = scalar(k);
		bool ports = name && !strcmp(name, "ports");

		if (!name)
			report_add(y->report, &at, "a key is a word");
		else if (!ports && strcmp(name, "switches"))
			read_whole(y, k, v);
		else if (seen[ports]++)
			report_add(y->report, &at, "%s is given twice", name);
		else
			read_list(y, name, v);
	}
}

static void read_document(struct reader *y)
{
	const yaml_node_t *root = yaml_document_get_root_node(&y->doc);
	struct where at = { y->path, 1 };

	if (!root) {
		report_add(y->report, &at, "the file is empty");
		return;
	}
	at = where_of(y, root);
	if (root->type == YAML_MAPPING_NODE)
		read_root(y, root);
	else
		report_add(y->report, &at,
		           "a file begins with \"key: value\" lines");
}

static void read_file(struct reader *y, FILE *f)
{
	yaml_parser_t parser;

	if (!yaml_parser_initialize(&parser))
		return;
	yaml_parser_set_input_file(&parser, f);
	if (yaml_parser_load(&parser, &y->doc)) {
		read_document(y);
		yaml_document_delete(&y->doc);
	} else {
		struct where at = { y->path,
			            (unsigned)parser.problem_mark.line + 1 };

		report_add(y->report, &at, "this is not YAML: %s",
		           parser.problem ? parser.problem : "no memory");
	}
	yaml_parser_delete(&parser);
}

void yaml_read(struct config *c, const char *path, struct report *r)
{
	struct reader y = { .config = c, .report = r, .path = path };
	const struct where at = { path, 1 };
	FILE *f = fopen(path, "re");
	long size = -1;

	if (!f) {
		report_add(r, &at, "cannot be opened: %s", strerror(errno));
		return;
	}
	if (!fseek(f, 0, SEEK_END))
		size = ftell(f);
	rewind(f);
	if (size > (long)YAML_FILE_MAX)
		report_add(r, &at, "the file is larger than a mebibyte");
	else
		read_file(&y, f);
	fclose(f);
}
