/* SPDX-License-Identifier: BSD-2-Clause */
/* pcapfile.c - capture files: a header, then records; see pcapfile.h. */
#include "port/pcapfile.h"

#include <errno.h>
#include <string.h>

#define MAGIC_US     0xa1b2c3d4u
#define MAGIC_NS     0xa1b23c4du
#define MAGIC_PCAPNG 0x0a0d0d0au
#define LINK_ETHER   1u
#define CAPLEN_MAX   (1u << 20)

struct file_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy;
	uint32_t snaplen;
	uint32_t link;
};

struct record {
	uint32_t sec, nsec;
	uint32_t caplen; /* bytes that follow */
	uint32_t len;    /* bytes that there were */
};

_Static_assert(sizeof(struct file_header) == 24, "as in files");
_Static_assert(sizeof(struct record) == 16, "as in files");

static int magic_check(uint32_t magic, bool *swapped)
{
	if (magic == MAGIC_PCAPNG)
		return -EPROTONOSUPPORT;
	*swapped = magic != MAGIC_US && magic != MAGIC_NS;
	if (*swapped)
		magic = __builtin_bswap32(magic);
	return magic == MAGIC_US || magic == MAGIC_NS ? 0 : -EBADMSG;
}

static int header_read(struct pcap_reader *r)
{
	struct file_header h;
	int err;

	if (fread(&h, sizeof(h), 1, r->file) != 1)
		return -EBADMSG;
	err = magic_check(h.magic, &r->swapped);
	if (err)
		return err;
	if (r->swapped)
		h.link = __builtin_bswap32(h.link);
	return (h.link & 0xffff) == LINK_ETHER ? 0 : -EPROTOTYPE;
}

int pcap_reader_open(struct pcap_reader *r, const char *path)
{
	int err;

	r->file = fopen(path, "rbe");
	if (!r->file)
		return -errno;
	err = header_read(r);
	if (err)
		pcap_reader_close(r);
	return err;
}

void pcap_reader_close(struct pcap_reader *r)
{
	if (r->file)
		fclose(r->file);
	r->file = NULL;
}

int pcap_reader_next(struct pcap_reader *r, uint8_t *to, uint32_t room)
{
	struct record rec;
	uint32_t take;
	size_t got;

	do {
		got = fread(&rec, 1, sizeof(rec), r->file);
		if (got != sizeof(rec))
			return got || ferror(r->file) ? -EBADMSG : 0;
		if (r->swapped)
			rec.caplen = __builtin_bswap32(rec.caplen);
	} while (!rec.caplen); /* nothing of it was kept */
	if (rec.caplen > CAPLEN_MAX)
		return -EBADMSG;
	take = min_of(rec.caplen, room);
	if (fread(to, take, 1, r->file) != 1)
		return -EBADMSG;
	for (uint32_t left = rec.caplen - take; left; left--) {
		if (getc_unlocked(r->file) == EOF)
			return -EBADMSG;
	}
	return (int)take;
}

int pcap_write_header(FILE *file, uint32_t snaplen)
{
	const struct file_header h = {
		.magic = MAGIC_NS,
		.major = 2,
		.minor = 4,
		.snaplen = snaplen,
		.link = LINK_ETHER,
	};

	return fwrite(&h, sizeof(h), 1, file) == 1 ? 0 : -EIO;
}

int pcap_write_frame(FILE *file, const struct frame *f, uint32_t snaplen,
                     uint64_t ns)
{
	struct record rec = {
		.sec = (uint32_t)(ns / 1000000000u),
		.nsec = (uint32_t)(ns % 1000000000u),
		.caplen = min_of(f->len, snaplen),
		.len = f->len,
	};
	uint32_t left = rec.caplen;
	uint32_t n = min_of(left, f->head_len);

	fwrite(&rec, sizeof(rec), 1, file);
	fwrite(frame_head(f), 1, n, file);
	left -= n;
	for (unsigned i = 0; i < f->nseg && left; i++) {
		n = (uint32_t)min_of(left, f->seg[i].len);
		fwrite(f->seg[i].base, 1, n, file);
		left -= n;
	}
	return ferror(file) || left ? -EIO : 0;
}
