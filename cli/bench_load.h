/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_load.h - the driver end of a measurement: what it asks for, and what
 * came of it. Only bench includes it.
 */
#ifndef VIADUCT_CLI_BENCH_LOAD_H
#define VIADUCT_CLI_BENCH_LOAD_H

#include <viaduct/driver.h>

#include "bench_device.h"

#define LOAD_BURST 32u
#define LOAD_FLOWS 200u

enum load_kind {
	LOAD_RR,    /* @flows requests under way, each answered by another */
	LOAD_PACED, /* one request at a time, @rate a second */
	LOAD_SEND,  /* as many as the queue takes */
	LOAD_RECEIVE
};

struct load {
	enum load_kind kind;
	struct bench_device_conf device;
	struct vd_driver_policy policy;
	uint64_t features_off, features_need;
	unsigned burst;       /* packets a send, at most; 1 as in 2011 */
	unsigned flows, size; /* size 0: mixed */
	double rate;
	double seconds;
	int cpu; /* the driver end's */
};

#define LOAD_SLOTS 1024u

struct load_result {
	double seconds;
	uint64_t done;                    /* packets received, or sent */
	uint64_t packets;                 /* both ways */
	struct vd_driver_stats driver;    /* differences */
	struct bench_device_count device; /* differences */
	uint64_t cpu_ns;                  /* of the driver end */
	uint64_t latency[LOAD_SLOTS];     /* histogram */
};

/* In a process of its own each. 0 or negative errno. */
int load_run(const struct load *l, struct load_result *r);

void load_latency_add(struct load_result *r, uint64_t ns);

/* Microseconds that the @part of all latencies is below. */
double load_latency_us(const struct load_result *r, double part);

#endif
