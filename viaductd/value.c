/* SPDX-License-Identifier: BSD-2-Clause */
/* value.c - one value of a configuration, from text. */
#include "value.h"

#include <ctype.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feature.h"
#include "key.h"

#define PATH_ROOM sizeof(((struct sockaddr_un *)NULL)->sun_path)

bool value_text(const struct key *k, const char *text, void *to)
{
	(void)k;
	*(const char **)to = text;
	return *text;
}

bool value_path(const struct key *k, const char *text, void *to)
{
	return strlen(text) < PATH_ROOM && value_text(k, text, to);
}

bool value_name(const struct key *k, const char *text, void *to)
{
	static const char fine[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	return strspn(text, fine) == strlen(text) && strlen(text) < 64 &&
	       value_text(k, text, to);
}

bool value_bool(const struct key *k, const char *text, void *to)
{
	static const char *const yes[] = { "on", "true", "yes" };
	static const char *const no[] = { "off", "false", "no" };

	(void)k;
	for (size_t i = 0; i < array_len(yes); i++) {
		if (strcmp(text, yes[i]) && strcmp(text, no[i]))
			continue;
		*(bool *)to = !strcmp(text, yes[i]);
		return true;
	}
	return false;
}

/* Digits only: no sign, no blank, no other base. */
static bool read_number(const char *text, char **end, uint64_t *to)
{
	if (!isdigit((unsigned char)*text) || strlen(text) > 18)
		return false;
	*to = strtoull(text, end, 10);
	return true;
}

bool value_number(const struct key *k, const char *text, void *to)
{
	uint64_t n;
	char *end;

	if (!read_number(text, &end, &n) || *end || n < k->min || n > k->max)
		return false;
	*(unsigned *)to = (unsigned)n;
	return true;
}

bool value_rate(const struct key *k, const char *text, void *to)
{
	static const struct {
		const char *suffix;
		uint64_t factor;
	} row[] = {
		{ "", 1 }, { "k", 1000 }, { "M", 1000000 }, { "G", 1000000000 }
	};
	uint64_t n;
	char *end;

	if (!read_number(text, &end, &n))
		return false;
	for (size_t i = 0; i < array_len(row); i++) {
		if (strcmp(end, row[i].suffix))
			continue;
		if (n < 1 || n > k->max / row[i].factor)
			return false;
		*(uint64_t *)to = n * row[i].factor;
		return true;
	}
	return false;
}

bool value_word(const struct key *k, const char *text, void *to)
{
	size_t n = strlen(text), len;
	const char *w = k->words;

	for (unsigned i = 0; *w; i++) {
		len = strcspn(w, "|");
		if (len == n && !memcmp(w, text, n)) {
			*(unsigned *)to = i;
			return true;
		}
		w += len + (w[len] == '|');
	}
	return false;
}

static bool read_mac(const char *text, size_t n, uint8_t mac[6])
{
	if (n != 17)
		return false;
	for (unsigned i = 0; i < 17; i++) {
		char c = text[i];

		if (i % 3 == 2 ? c != ':' : !isxdigit((unsigned char)c))
			return false;
		if (i % 3 == 0)
			mac[i / 3] = (uint8_t)strtoul(text + i, NULL, 16);
	}
	return !(mac[0] & 1); /* one station, not a group */
}

bool value_mac(const struct key *k, const char *text, void *to)
{
	struct value_macs *m = to;

	(void)k;
	m->n = 1;
	return read_mac(text, strlen(text), m->mac[0]);
}

/* The next item of a list: its length; *@text is moved behind it. */
static size_t next_item(const char **text, const char **item)
{
	size_t n = strcspn(*text, "+");

	*item = *text;
	*text += n + ((*text)[n] == '+');
	return n;
}

bool value_macs(const struct key *k, const char *text, void *to)
{
	struct value_macs *m = to;
	const char *item;
	size_t n;

	(void)k;
	m->n = 0;
	do {
		n = next_item(&text, &item);
		if (m->n == VSWITCH_ALLOW || !read_mac(item, n, m->mac[m->n]))
			return false;
		m->n++;
	} while (*text);
	return true;
}

bool value_vlan(const struct key *k, const char *text, void *to)
{
	const struct key range = { .min = 1, .max = VLAN_MAX };

	(void)k;
	return value_number(&range, text, to);
}

/* "10" or "10-19" */
static bool read_vlans(const char *text, size_t n, uint64_t *member)
{
	uint64_t first, last;
	char *end;

	if (!read_number(text, &end, &first))
		return false;
	last = first;
	if (*end == '-' && !read_number(end + 1, &end, &last))
		return false;
	if (end != text + n || first < 1 || last < first || last > VLAN_MAX)
		return false;
	for (uint64_t v = first; v <= last; v++)
		member[v / 64] |= 1ull << (v % 64);
	return true;
}

bool value_vlans(const struct key *k, const char *text, void *to)
{
	struct value_vlans *v = to;
	const char *item;
	size_t n;

	(void)k;
	*v = (struct value_vlans){ .set = true };
	do {
		n = next_item(&text, &item);
		if (!read_vlans(item, n, v->member))
			return false;
	} while (*text);
	return true;
}

bool value_mode(const struct key *k, const char *text, void *to)
{
	struct endpoint_owner *o = to;

	(void)k;
	if (!*text || strlen(text) > 4 ||
	    strspn(text, "01234567") != strlen(text))
		return false;
	o->mode = (unsigned)strtoul(text, NULL, 8);
	return o->mode && o->mode <= 0777;
}

static bool read_user(const char *text, uid_t *uid, gid_t *gid)
{
	const struct passwd *p = getpwnam(text);
	uint64_t n;
	char *end;

	if (p) {
		*uid = p->pw_uid;
		*gid = p->pw_gid;
		return true;
	}
	if (!read_number(text, &end, &n) || *end || n >= UINT32_MAX)
		return false;
	*uid = (uid_t)n;
	*gid = (gid_t)-1;
	return true;
}

static bool read_group(const char *text, gid_t *gid)
{
	const struct group *g = getgrnam(text);
	uint64_t n;
	char *end;

	if (g) {
		*gid = g->gr_gid;
		return true;
	}
	if (!read_number(text, &end, &n) || *end || n >= UINT32_MAX)
		return false;
	*gid = (gid_t)n;
	return true;
}

/* "user", "user:group", ":group"; names or numbers. */
bool value_owner(const struct key *k, const char *text, void *to)
{
	struct endpoint_owner *o = to;
	char user[64];
	size_t n = strcspn(text, ":");

	(void)k;
	if (!*text || n >= sizeof(user))
		return false;
	memcpy(user, text, n);
	user[n] = '\0';
	o->set_owner = true;
	o->uid = (uid_t)-1;
	o->gid = (gid_t)-1;
	if (n && !read_user(user, &o->uid, &o->gid))
		return false;
	return !text[n] || read_group(text + n + 1, &o->gid);
}

bool value_features(const struct key *k, const char *text, void *to)
{
	uint64_t *bits = to;
	const char *item;
	size_t n;
	int bit;

	(void)k;
	*bits = 0;
	do {
		n = next_item(&text, &item);
		bit = feature_find(item, n);
		if (bit < 0)
			return false;
		*bits |= 1ull << bit;
	} while (*text);
	return true;
}

bool value_loopback(const struct key *k, const char *text, void *to)
{
	(void)k;
	return !endpoint_loopback(to, text);
}

static void allowed_features(char *to, size_t room)
{
	size_t at = 0;

	for (const struct feature *f = device_features; f->word; f++) {
		at += (size_t)snprintf(to + at, room - at, "%s%s",
		                       at ? " " : "", f->word);
		if (at >= room)
			return;
	}
}

static void allowed_words(const struct key *k, char *to, size_t room)
{
	snprintf(to, room, "%s", k->words);
	for (char *c = strchr(to, '|'); c; c = strchr(c, '|'))
		*c = ' ';
}

void value_allowed(const struct key *k, char *to, size_t room)
{
	static const struct {
		value_fn *read;
		const char *text;
	} row[] = {
		{ value_text, "some text" },
		{ value_path, "a path of less than 108 bytes" },
		{ value_name, "up to 63 letters, digits, '-', '_', '.'" },
		{ value_bool, "on off" },
		{ value_rate, "a number from 1, with k, M or G behind it" },
		{ value_mac, "the address of one station, like "
		             "52:54:00:00:00:01" },
		{ value_macs, "up to 16 addresses of stations, like "
		              "52:54:00:00:00:01+52:54:00:00:00:02" },
		{ value_vlan, "1..4094" },
		{ value_vlans, "VLANs of 1..4094, like 10+20-29" },
		{ value_mode, "octal permissions, like 0660" },
		{ value_owner, "user, user:group or :group, that exist" },
		{ value_loopback, "a loopback address with a port, like "
		                  "127.0.0.1:5000 or [::1]:5000" },
	};

	if (k->read == value_number)
		snprintf(to, room, "%llu..%llu", (unsigned long long)k->min,
		         (unsigned long long)k->max);
	else if (k->read == value_word)
		allowed_words(k, to, room);
	else if (k->read == value_features)
		allowed_features(to, room);
	for (size_t i = 0; i < array_len(row); i++) {
		if (k->read == row[i].read)
			snprintf(to, room, "%s", row[i].text);
	}
}
