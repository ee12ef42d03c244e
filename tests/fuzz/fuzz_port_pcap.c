/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_port_pcap.c - capture files of anybody. Input: the file. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "port/pcapfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Every other input gets a header that lets it in. */
	static const uint8_t header[24] = { 0x4d, 0x3c, 0xb2, 0xa1, [20] = 1 };
	int fd = memfd_create("fuzz", 0), n;
	struct pcap_reader r;
	uint8_t *to;
	char path[32];

	assert(fd >= 0);
	if (size && data[0] & 1)
		assert(write(fd, header, sizeof(header)) == sizeof(header));
	assert(write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!pcap_reader_open(&r, path)) {
		do {
			to = malloc(100);
			n = pcap_reader_next(&r, to, 100);
			free(to);
			assert(n <= 100);
		} while (n > 0);
		pcap_reader_close(&r);
	}
	close(fd);
	return 0;
}
