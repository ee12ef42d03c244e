/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * status.c - viaduct status: how a running viaductd is, as tables for people or
 * as JSON for machines.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "command.h"
#include "table.h"

static const char *text_of(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text ? text : "-";
}

static long long number_of(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

static bool is_true(const json_t *o, const char *name)
{
	return json_is_true(json_object_get(o, name));
}

/* "12.3M": three digits are enough for people. */
static const char *short_number(long long n, char to[16])
{
	static const char unit[] = " kMGTPE";
	double x = (double)n;
	unsigned i = 0;

	for (; x >= 999.5 && unit[i + 1]; i++)
		x /= 1000;
	if (i == 0)
		snprintf(to, 16, "%lld", n);
	else
		snprintf(to, 16, "%.*f%c",
		         x < 9.995   ? 2
		         : x < 99.95 ? 1
		                     : 0,
		         x, unit[i]);
	return to;
}

static void put_number(struct table *t, const json_t *o, const char *name)
{
	char text[16];

	table_put(t, "%s", short_number(number_of(o, name), text));
}

static void put_ratio(struct table *t, const json_t *o, const char *name)
{
	const json_t *r = json_object_get(o, name);

	if (json_is_real(r))
		table_put(t, "%.4f", json_real_value(r));
	else
		table_put(t, "-");
}

static const char *state_of(const json_t *port)
{
	const json_t *more = json_object_get(port, text_of(port, "type"));

	if (json_object_get(more, "connected"))
		return is_true(more, "connected") ? "connected" : "waiting";
	return "up";
}

/* "full 3, policy 1", or "0". */
static void put_drops(struct table *t, const json_t *drops)
{
	char text[256] = "";
	const char *name;
	size_t n = 0;
	json_t *count;

	json_object_foreach((json_t *)drops, name, count)
	{
		if (json_integer_value(count) && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n,
			                      "%s%s %lld", n ? ", " : "", name,
			                      (long long)json_integer_value(
						      count));
	}
	table_put(t, "%s", n ? text : "0");
}

static void print_ports(const json_t *ports)
{
	static const char *const head[] = { "PORT",  "TYPE",      "SWITCH",
		                            "STATE", "IN",        "IN BYTES",
		                            "OUT",   "OUT BYTES", "DROPPED" };
	struct table t;
	json_t *port;
	size_t i;

	table_init(&t, array_len(head));
	for (i = 0; i < array_len(head); i++)
		table_put(&t, "%s", head[i]);
	json_array_foreach((json_t *)ports, i, port)
	{
		const json_t *c = json_object_get(port, "counters");

		table_put(&t, "%s", text_of(port, "name"));
		table_put(&t, "%s", text_of(port, "type"));
		table_put(&t, "%s", text_of(port, "switch"));
		table_put(&t, "%s", state_of(port));
		put_number(&t, c, "in_frames");
		put_number(&t, c, "in_bytes");
		put_number(&t, c, "out_frames");
		put_number(&t, c, "out_bytes");
		put_drops(&t, json_object_get(c, "drops"));
	}
	table_print(&t, 0, stdout);
	table_fini(&t);
}

static void print_words(const char *title, const json_t *words)
{
	unsigned column = (unsigned)printf("  %s:", title);
	json_t *word;
	size_t i;

	json_array_foreach((json_t *)words, i, word)
	{
		const char *text = json_string_value(word);

		if (column + 1 + strlen(text) > 78)
			column = (unsigned)printf("\n   ") - 1;
		column += (unsigned)printf(" %s", text);
	}
	puts("");
}

static void put_queue(struct table *t, const json_t *q)
{
	const json_t *c = json_object_get(q, "counters");
	bool rx = !strcmp(text_of(q, "role"), "rx");
	bool on = is_true(q, "started") && is_true(q, "enabled");
	const char *fault = text_of(q, "fault");

	table_put(t, "%lld", number_of(q, "index"));
	table_put(t, "%s", text_of(q, "role"));
	table_put(t, "%s %lld", text_of(q, "layout"), number_of(q, "size"));
	table_put(t, "%s", strcmp(fault, "none") ? fault : on ? "on" : "off");
	put_number(t, c, "packets");
	put_number(t, c, rx ? "bytes_written" : "bytes_read");
	put_number(t, c, "kicks");
	put_ratio(t, q, "kicks_per_packet");
	put_number(t, c, "interrupts");
	put_ratio(t, q, "interrupts_per_packet");
	put_number(t, c, "drops");
}

static void print_queues(const json_t *queues)
{
	static const char *const head[] = { "QUEUE",   "ROLE",    "RING",
		                            "STATE",   "PACKETS", "BYTES",
		                            "KICKS",   "/PACKET", "INTERRUPTS",
		                            "/PACKET", "DROPPED" };
	struct table t;
	json_t *q;
	size_t i;

	if (!json_array_size(queues))
		return;
	table_init(&t, array_len(head));
	for (i = 0; i < array_len(head); i++)
		table_put(&t, "%s", head[i]);
	json_array_foreach((json_t *)queues, i, q) put_queue(&t, q);
	table_print(&t, 2, stdout);
	table_fini(&t);
}

static void print_guest(const char *name, const json_t *g)
{
	char text[16];

	printf("\nGUEST %s: socket %s, %s; %lld sessions, %lld refused\n", name,
	       text_of(g, "socket"), text_of(g, "mode"),
	       number_of(g, "sessions"), number_of(g, "refused"));
	if (!is_true(g, "connected")) {
		puts("  nobody is connected");
		return;
	}
	printf("  memory: %s bytes in %lld regions\n",
	       short_number(number_of(g, "mem_bytes"), text),
	       number_of(g, "mem_regions"));
	print_words("features", json_object_get(g, "features"));
	print_queues(json_object_get(g, "queues"));
}

static void print_stations(const json_t *macs)
{
	struct table t;
	json_t *m;
	size_t i;

	table_init(&t, 4);
	table_put(&t, "STATION");
	table_put(&t, "VLAN");
	table_put(&t, "PORT");
	table_put(&t, "AGE");
	json_array_foreach((json_t *)macs, i, m)
	{
		table_put(&t, "%s", text_of(m, "mac"));
		table_put(&t, "%lld", number_of(m, "vlan"));
		table_put(&t, "%s", text_of(m, "port"));
		table_put(&t, "%llds", number_of(m, "age_s"));
	}
	table_print(&t, 2, stdout);
	table_fini(&t);
}

static void print_all(const json_t *s)
{
	const json_t *ports = json_object_get(s, "ports");
	json_t *o;
	size_t i;

	printf("viaductd %s pid=%lld workers=%lld\n\n", text_of(s, "version"),
	       number_of(s, "pid"), number_of(s, "workers"));
	print_ports(ports);
	json_array_foreach((json_t *)ports, i, o)
	{
		if (json_object_get(o, "guest"))
			print_guest(text_of(o, "name"),
			            json_object_get(o, "guest"));
	}
	json_array_foreach(json_object_get(s, "switches"), i, o)
	{
		const json_t *macs = json_object_get(o, "macs");

		printf("\nSWITCH %s: %lld ports, %zu stations\n",
		       text_of(o, "name"), number_of(o, "ports"),
		       json_array_size(macs));
		if (json_array_size(macs))
			print_stations(macs);
	}
}

static void help(void)
{
	puts("viaduct status [--json] [--control PATH]\n"
	     "\n"
	     "Ask a running viaductd how it is.\n"
	     "\n"
	     "  --json          the whole answer, for machines\n"
	     "  --control PATH  its control socket; else $VIADUCT_CONTROL,\n"
	     "                  else " CONTROL_DEFAULT);
}

int cmd_status(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "control", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *control = NULL;
	bool json = false;
	json_t *answer;
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == 'j') {
			json = true;
		} else if (opt == 'c') {
			control = optarg;
		} else {
			help();
			return opt == 'h' ? 0 : 2;
		}
	}
	answer = ask_daemon(control, "status");
	if (!answer)
		return 1;
	if (json) {
		json_dumpf(answer, stdout, JSON_INDENT(2));
		puts("");
	} else {
		print_all(answer);
	}
	json_decref(answer);
	return 0;
}
