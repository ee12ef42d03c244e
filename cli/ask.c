/* SPDX-License-Identifier: BSD-2-Clause */
/* ask.c - a question to a running viaductd, over its control socket. */
#include "ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/endpoint.h"
#include "command.h"

#define PATIENCE_MS 5000

static int connect_to(const char *path)
{
	struct endpoint at;
	int err = endpoint_path(&at, path);

	return err ? err : endpoint_connect(&at);
}

static int send_all(int fd, const char *text)
{
	size_t n = strlen(text);

	/* A request fits in an empty socket. */
	return send(fd, text, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -EIO;
}

/* Everything up to a newline; NULL: none came. */
static char *read_line(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };
	size_t n = 0, room = 0;
	char *text = NULL, *more;
	ssize_t got;

	for (;;) {
		if (room - n < 4096) {
			room += 65536;
			more = realloc(text, room);
			if (!more)
				break;
			text = more;
		}
		if (poll(&p, 1, PATIENCE_MS) != 1)
			break;
		got = read(fd, text + n, room - n - 1);
		if (got <= 0)
			break;
		n += (size_t)got;
		if (text[n - 1] == '\n') {
			text[n - 1] = '\0';
			return text;
		}
	}
	free(text);
	return NULL;
}

static json_t *parse(const char *control, const char *line)
{
	json_t *answer = line ? json_loads(line, 0, NULL) : NULL;
	const char *error = json_string_value(json_object_get(answer, "error"));

	if (json_is_object(answer) && !error)
		return answer;
	fprintf(stderr, "viaduct: %s: %s\n", control,
	        error ? error : "no answer");
	json_decref(answer);
	return NULL;
}

json_t *ask_daemon(const char *control, const char *cmd)
{
	char request[128];
	json_t *answer;
	char *line;
	int fd;

	if (!control)
		control = getenv("VIADUCT_CONTROL");
	if (!control)
		control = CONTROL_DEFAULT;
	fd = connect_to(control);
	if (fd < 0) {
		fprintf(stderr,
		        "viaduct: %s: %s (is viaductd running, with "
		        "--control?)\n",
		        control, strerror(-fd));
		return NULL;
	}
	snprintf(request, sizeof(request), "{\"cmd\":\"%s\"}\n", cmd);
	line = send_all(fd, request) ? NULL : read_line(fd);
	close(fd);
	answer = parse(control, line);
	free(line);
	return answer;
}
