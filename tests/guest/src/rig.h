/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig: the traffic program of the interop rig, one static binary that runs
 * inside the guest, in the other guest and on the host.
 *
 * Theory of operation. A server listens on any number of endpoints. A client
 * connects and sends one 32-byte request (struct request, little-endian on
 * the wire, so guests of either byte order talk to each other) that says what
 * the connection is for:
 *
 *   SINK    client sends N pattern bytes, server checks each one, answers
 *   SOURCE  server sends N pattern bytes, client checks each one
 *   BOTH    both of these at once, server answers when both are over
 *   ECHO    server returns every message of SIZE bytes (request/response)
 *   HALF    client sends, shuts down its write side, server counts until end
 *           of file and answers on the half that is still open
 *   QUIT    server ends; its exit status says whether it saw an error
 *
 * Byte i of the pattern depends on i and on the request's seed only. So a
 * receiver can name the offset of the first wrong byte, which points at the
 * chain or the descriptor boundary at fault. It matters because a guest does
 * not verify TCP checksums that a device has marked as good: TCP alone proves
 * nothing about a virtio device's copying.
 */
#ifndef RIG_H
#define RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op { OP_SINK = 1, OP_SOURCE, OP_BOTH, OP_ECHO, OP_HALF, OP_QUIT };

#define REQUEST_BYTES	32
#define VERDICT_BYTES	24
#define CHUNK_MAX	(256 * 1024)
#define NO_FAULT	UINT64_MAX

struct request {
	enum op op;
	uint32_t size;		/* of a message; the server's chunk */
	uint64_t total;		/* bytes to move each way */
	uint64_t seed;
};

struct verdict {
	uint64_t received;
	uint64_t first_bad;	/* offset of a wrong byte, or NO_FAULT */
};

/* wire.c: the byte layout and the pattern. */
void request_put(const struct request *r, uint8_t out[REQUEST_BYTES]);
int request_get(struct request *r, const uint8_t in[REQUEST_BYTES]);
void verdict_put(const struct verdict *v, uint8_t out[VERDICT_BYTES]);
int verdict_get(struct verdict *v, const uint8_t in[VERDICT_BYTES]);
void pattern_fill(uint8_t *buf, size_t len, uint64_t offset, uint64_t seed);
uint64_t pattern_check(const uint8_t *buf, size_t len, uint64_t offset,
		       uint64_t seed);

/* endpoint.c: "tcp:HOST:PORT", "vsock:CID:PORT" and the rest of the list. */
int endpoint_connect(const char *spec, double patience_s);
int endpoint_listen(const char *spec);
bool endpoint_is_seqpacket(const char *spec);
bool endpoint_is_udp(const char *spec);
double now_s(void);

/* server.c, client.c: return a process exit status. */
int serve(int count, char **specs, double limit_s);
int client(int argc, char **argv);

#endif
