/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcapfile.h - capture files: a header, then records. port includes it.
 *
 * Written: the classic format, host byte order, nanoseconds, Ethernet. Read:
 * that and its three variants (the other byte order, microseconds). The newer
 * pcapng is refused by name.
 */
#ifndef VIADUCT_PORT_PCAPFILE_H
#define VIADUCT_PORT_PCAPFILE_H

#include <stdio.h>

#include "net/frame.h"

#define PCAP_SNAPLEN 262144u

struct pcap_reader {
	FILE *file;
	bool swapped; /* written on a machine of the other byte order */
};

/* 0; -EBADMSG not a capture file; -EPROTONOSUPPORT pcapng; -EPROTOTYPE not of
 * Ethernet; or why it does not open. */
int pcap_reader_open(struct pcap_reader *r, const char *path);
void pcap_reader_close(struct pcap_reader *r);

/**
 * pcap_reader_next() - the captured bytes of the next packet
 * @room: bytes that fit in @to; what is longer is cut
 * Return: bytes, 0 at the end, -EBADMSG when the file is cut or damaged
 */
int pcap_reader_next(struct pcap_reader *r, uint8_t *to, uint32_t room);

/* Start a file. 0 or negative errno. */
int pcap_write_header(FILE *file, uint32_t snaplen);
/* Append @f, at most @snaplen bytes of it, seen at @ns since the epoch. */
int pcap_write_frame(FILE *file, const struct frame *f, uint32_t snaplen,
                     uint64_t ns);

#endif
