/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.h - names for every rule the other end of a ring can break. Anyone
 * below ring includes it.
 *
 * RING_* are mistakes of a driver that a device meets, USED_* mistakes of a
 * device that a driver meets. Tests assert the name, counters count it, the
 * log prints it with the rule's title.
 */
#ifndef VIADUCT_RING_FAULT_H
#define VIADUCT_RING_FAULT_H

/* X(name, word, title of the section in virtio 1.3, what was wrong) */
#define RING_FAULTS(X)                                                         \
	X(RING_BAD_JUMP, "bad-jump", "2.7.13.3 Updating idx",                  \
	  "more made available than the queue holds")                          \
	X(RING_BAD_HEAD, "bad-head", "2.7.6 The Virtqueue Available Ring",     \
	  "head index beyond the queue")                                       \
	X(RING_BAD_NEXT, "bad-next", "2.7.5 The Virtqueue Descriptor Table",   \
	  "next index beyond the table")                                       \
	X(RING_LOOP, "loop", "2.7.5 The Virtqueue Descriptor Table",           \
	  "chain longer than the queue")                                       \
	X(RING_BAD_ADDRESS, "bad-address",                                     \
	  "2.7.5 The Virtqueue Descriptor Table",                              \
	  "buffer outside guest memory")                                       \
	X(RING_BAD_ORDER, "bad-order",                                         \
	  "2.7.4.2 Driver Requirements: Message Framing",                      \
	  "readable buffer behind a writable one")                             \
	X(RING_TOO_LONG, "too-long", "2.7.5 The Virtqueue Descriptor Table",   \
	  "chain of more than 2^32 - 1 bytes")                                 \
	X(RING_TOO_SCATTERED, "too-scattered", "2.7.4 Message Framing",        \
	  "chain in more pieces than this device takes")                       \
	X(RING_TABLE_REFUSED, "table-refused",                                 \
	  "2.7.5.3.1 Driver Requirements: Indirect Descriptors",               \
	  "indirect table without VIRTIO_F_INDIRECT_DESC")                     \
	X(RING_TABLE_NESTED, "table-nested",                                   \
	  "2.7.5.3.1 Driver Requirements: Indirect Descriptors",               \
	  "indirect table inside an indirect table")                           \
	X(RING_TABLE_CHAINED, "table-chained",                                 \
	  "2.7.5.3.1 Driver Requirements: Indirect Descriptors",               \
	  "INDIRECT with NEXT, or mixed with direct ones in a packed list")    \
	X(RING_TABLE_SIZE, "table-size", "2.7.5.3 Indirect Descriptors",       \
	  "indirect table empty or no multiple of 16 bytes")                   \
	X(RING_TABLE_ADDRESS, "table-address", "2.7.5.3 Indirect Descriptors", \
	  "indirect table outside guest memory")                               \
	X(RING_CHAIN_OPEN, "chain-open",                                       \
	  "2.8.6 Next Flag: Descriptor Chaining",                              \
	  "list not wholly available, or longer than the ring's free part")    \
	X(RING_TWICE, "twice", "2.7.13 Supplying Buffers to The Device",       \
	  "buffer made available while the device still holds it")             \
	X(RING_BAD_RECORD, "bad-record", "vhost-user, Inflight I/O Tracking",  \
	  "in-flight record damaged while in use")                             \
	X(USED_BAD_JUMP, "used-jump", "2.7.8 The Virtqueue Used Ring",         \
	  "more returned than is outstanding")                                 \
	X(USED_BAD_ID, "used-id", "2.7.8 The Virtqueue Used Ring",             \
	  "returned id beyond the queue")                                      \
	X(USED_NOT_OUTSTANDING, "used-not-outstanding",                        \
	  "2.7.8 The Virtqueue Used Ring",                                     \
	  "returned id was never issued or came back already")                 \
	X(USED_TOO_LONG, "used-too-long",                                      \
	  "2.7.8.1 Legacy Interface: The "                                     \
	  "Virtqueue Used Ring",                                               \
	  "more bytes written than the buffer offered")                        \
	X(USED_BAD_ORDER, "used-order", "2.7.9 In-order use of descriptors",   \
	  "VIRTIO_F_IN_ORDER, yet returned out of order")

#define X(name, word, title, text) name,
enum ring_fault { RING_OK, RING_FAULTS(X) RING_FAULT_COUNT };
#undef X

/* Static strings, never NULL; "none" for RING_OK or a value out of range. */
const char *ring_fault_word(enum ring_fault f);
const char *ring_fault_title(enum ring_fault f);
const char *ring_fault_text(enum ring_fault f);

#endif
