/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.c - a fuzz target without a fuzzer: the files named, or inputs from a
 * plain generator. So each target runs in `make check`, with any compiler.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUTS    20000u
#define INPUT_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	static uint8_t data[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!f) {
		perror(path);
		return 1;
	}
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	LLVMFuzzerTestOneInput(data, n);
	return 0;
}

/* Small numbers are common in headers, so they are common here. */
static void generate(uint64_t *state, uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		data[i] = (uint8_t)(*state >> 56);
		if (*state >> 40 & 1)
			data[i] &= 7;
	}
}

/* A part of them where everything is slow. */
static unsigned inputs(void)
{
	const char *slow = getenv("VD_TEST_SLOW");
	unsigned n = slow ? (unsigned)strtoul(slow, NULL, 10) : 1;

	return n ? INPUTS / n : INPUTS;
}

int main(int argc, char **argv)
{
	static uint8_t data[INPUT_MAX];
	uint64_t state = 1;
	int bad = 0;

	for (int i = 1; i < argc; i++)
		bad |= replay(argv[i]);
	for (unsigned i = 0; argc == 1 && i < inputs(); i++) {
		size_t n = (i * 7919u) % (i % 16 ? 200 : INPUT_MAX);

		generate(&state, data, n);
		LLVMFuzzerTestOneInput(data, n);
	}
	return bad;
}
