/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_device.h - the device end of a measurement, in a process of its own:
 * guest ports as viaductd makes them, with something simple behind them. Only
 * bench includes it.
 */
#ifndef VIADUCT_CLI_BENCH_DEVICE_H
#define VIADUCT_CLI_BENCH_DEVICE_H

#include <sys/types.h>

#include "poll/pump.h"

enum bench_role {
	BENCH_SINK,  /* frames vanish */
	BENCH_ECHO,  /* frames go back where they came from */
	BENCH_SOURCE /* frames come as fast as they are taken */
};

#define BENCH_ANY_CPU (-1)

struct bench_device_conf {
	enum bench_role role;
	enum pump_policy policy;
	unsigned guests;
	unsigned size; /* source: bytes of a frame; 0: mixed */
	int cpu;       /* BENCH_ANY_CPU, or pinned */
};

/* What the device end did so far. */
struct bench_device_count {
	uint64_t frames; /* came in or were delivered, as the role is */
	uint64_t kicks, kicks_empty, calls, sleeps;
	uint64_t cpu_ns;
	uint64_t wakeups; /* context switches that it chose */
};

struct bench_device;

/* NULL and @err. bench_device_fd(): a guest's end of its socket, for a driver,
 * who closes it. */
struct bench_device *bench_device_start(const struct bench_device_conf *c,
                                        int *err);
int bench_device_fd(struct bench_device *d, unsigned guest);
void bench_device_stop(struct bench_device *d);

/* Ask it; 0 or -EPIPE. */
int bench_device_read(struct bench_device *d, struct bench_device_count *to);

/* Pin this process; BENCH_ANY_CPU: do not. */
void bench_pin(int cpu);

/* Bytes of the @i-th frame of a mixed load: seven small, four middling, one
 * long, none a multiple of 16. */
unsigned bench_mixed_size(unsigned i);

#endif
