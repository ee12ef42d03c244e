/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire/vhost.h - bytes of the vhost-user protocol. Layout only, no logic; vhost
 * and driver include it.
 *
 * Integers are in the machine's own byte order: both ends run on one host. A
 * message is a header, then hdr.size bytes. Descriptors ride with the first
 * byte of the header. The names are those of the vhost-user document; "front
 * end" is the side with the memory (a VMM or our driver end), "back end" the
 * side with the device.
 */
#ifndef VIADUCT_WIRE_VHOST_H
#define VIADUCT_WIRE_VHOST_H

#include "base/defs.h"

#define VHOST_USER_VERSION      1u
#define VHOST_USER_VERSION_MASK 3u
#define VHOST_USER_F_REPLY      (1u << 2)
#define VHOST_USER_F_NEED_REPLY (1u << 3)

#define VHOST_USER_FDS_MAX     8u   /* descriptors one message may carry */
#define VHOST_USER_REGIONS_MAX 8u   /* regions in SET_MEM_TABLE */
#define VHOST_USER_CONFIG_MAX  256u /* bytes of one configuration access */
#define VHOST_USER_VRINGS_MAX  256u /* by the index in KICK, CALL, ERR */

/* Payload of SET_VRING_KICK, _CALL, _ERR: index, or "no descriptor". */
#define VHOST_USER_VRING_MASK 0xffu
#define VHOST_USER_VRING_NOFD (1u << 8)

/* Messages from the front end. */
#define VHOST_USER_GET_FEATURES              1u
#define VHOST_USER_SET_FEATURES              2u
#define VHOST_USER_SET_OWNER                 3u
#define VHOST_USER_RESET_OWNER               4u
#define VHOST_USER_SET_MEM_TABLE             5u
#define VHOST_USER_SET_LOG_BASE              6u
#define VHOST_USER_SET_LOG_FD                7u
#define VHOST_USER_SET_VRING_NUM             8u
#define VHOST_USER_SET_VRING_ADDR            9u
#define VHOST_USER_SET_VRING_BASE            10u
#define VHOST_USER_GET_VRING_BASE            11u
#define VHOST_USER_SET_VRING_KICK            12u
#define VHOST_USER_SET_VRING_CALL            13u
#define VHOST_USER_SET_VRING_ERR             14u
#define VHOST_USER_GET_PROTOCOL_FEATURES     15u
#define VHOST_USER_SET_PROTOCOL_FEATURES     16u
#define VHOST_USER_GET_QUEUE_NUM             17u
#define VHOST_USER_SET_VRING_ENABLE          18u
#define VHOST_USER_SEND_RARP                 19u
#define VHOST_USER_NET_SET_MTU               20u
#define VHOST_USER_SET_BACKEND_REQ_FD        21u
#define VHOST_USER_IOTLB_MSG                 22u
#define VHOST_USER_SET_VRING_ENDIAN          23u
#define VHOST_USER_GET_CONFIG                24u
#define VHOST_USER_SET_CONFIG                25u
#define VHOST_USER_CREATE_CRYPTO_SESSION     26u
#define VHOST_USER_CLOSE_CRYPTO_SESSION      27u
#define VHOST_USER_POSTCOPY_ADVISE           28u
#define VHOST_USER_POSTCOPY_LISTEN           29u
#define VHOST_USER_POSTCOPY_END              30u
#define VHOST_USER_GET_INFLIGHT_FD           31u
#define VHOST_USER_SET_INFLIGHT_FD           32u
#define VHOST_USER_GPU_SET_SOCKET            33u
#define VHOST_USER_RESET_DEVICE              34u
#define VHOST_USER_VRING_KICK                35u
#define VHOST_USER_GET_MAX_MEM_SLOTS         36u
#define VHOST_USER_ADD_MEM_REG               37u
#define VHOST_USER_REM_MEM_REG               38u
#define VHOST_USER_SET_STATUS                39u
#define VHOST_USER_GET_STATUS                40u
#define VHOST_USER_GET_SHARED_OBJECT         41u
#define VHOST_USER_SET_DEVICE_STATE_FD       42u
#define VHOST_USER_CHECK_DEVICE_STATE        43u
#define VHOST_USER_GET_SHMEM_CONFIG          44u
#define VHOST_USER_GET_VRING_BASE_SKIP_DRAIN 45u
#define VHOST_USER_REQUESTS                  46u /* one more than the last */

/* Messages from the back end, on the socket of SET_BACKEND_REQ_FD. */
#define VHOST_USER_BACKEND_IOTLB_MSG            1u
#define VHOST_USER_BACKEND_CONFIG_CHANGE_MSG    2u
#define VHOST_USER_BACKEND_VRING_HOST_NOTIFIER  3u
#define VHOST_USER_BACKEND_VRING_CALL           4u
#define VHOST_USER_BACKEND_VRING_ERR            5u
#define VHOST_USER_BACKEND_SHARED_OBJECT_ADD    6u
#define VHOST_USER_BACKEND_SHARED_OBJECT_REMOVE 7u
#define VHOST_USER_BACKEND_SHARED_OBJECT_LOOKUP 8u
#define VHOST_USER_BACKEND_SHMEM_MAP            9u
#define VHOST_USER_BACKEND_SHMEM_UNMAP          10u

#define VHOST_USER_PROTOCOL_BIT(n) (UINT64_C(1) << (n))

#define VHOST_USER_PROTOCOL_F_MQ                   VHOST_USER_PROTOCOL_BIT(0)
#define VHOST_USER_PROTOCOL_F_LOG_SHMFD            VHOST_USER_PROTOCOL_BIT(1)
#define VHOST_USER_PROTOCOL_F_RARP                 VHOST_USER_PROTOCOL_BIT(2)
#define VHOST_USER_PROTOCOL_F_REPLY_ACK            VHOST_USER_PROTOCOL_BIT(3)
#define VHOST_USER_PROTOCOL_F_MTU                  VHOST_USER_PROTOCOL_BIT(4)
#define VHOST_USER_PROTOCOL_F_BACKEND_REQ          VHOST_USER_PROTOCOL_BIT(5)
#define VHOST_USER_PROTOCOL_F_CROSS_ENDIAN         VHOST_USER_PROTOCOL_BIT(6)
#define VHOST_USER_PROTOCOL_F_CRYPTO_SESSION       VHOST_USER_PROTOCOL_BIT(7)
#define VHOST_USER_PROTOCOL_F_PAGEFAULT            VHOST_USER_PROTOCOL_BIT(8)
#define VHOST_USER_PROTOCOL_F_CONFIG               VHOST_USER_PROTOCOL_BIT(9)
#define VHOST_USER_PROTOCOL_F_BACKEND_SEND_FD      VHOST_USER_PROTOCOL_BIT(10)
#define VHOST_USER_PROTOCOL_F_HOST_NOTIFIER        VHOST_USER_PROTOCOL_BIT(11)
#define VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD       VHOST_USER_PROTOCOL_BIT(12)
#define VHOST_USER_PROTOCOL_F_RESET_DEVICE         VHOST_USER_PROTOCOL_BIT(13)
#define VHOST_USER_PROTOCOL_F_INBAND_NOTIFICATIONS VHOST_USER_PROTOCOL_BIT(14)
#define VHOST_USER_PROTOCOL_F_CONFIGURE_MEM_SLOTS  VHOST_USER_PROTOCOL_BIT(15)
#define VHOST_USER_PROTOCOL_F_STATUS               VHOST_USER_PROTOCOL_BIT(16)
#define VHOST_USER_PROTOCOL_F_XEN_MMAP             VHOST_USER_PROTOCOL_BIT(17)
#define VHOST_USER_PROTOCOL_F_SHARED_OBJECT        VHOST_USER_PROTOCOL_BIT(18)
#define VHOST_USER_PROTOCOL_F_DEVICE_STATE         VHOST_USER_PROTOCOL_BIT(19)
#define VHOST_USER_PROTOCOL_F_GET_VRING_BASE_INFLIGHT \
	VHOST_USER_PROTOCOL_BIT(20)
#define VHOST_USER_PROTOCOL_F_GPA_ADDRESSES VHOST_USER_PROTOCOL_BIT(21)
#define VHOST_USER_PROTOCOL_F_SHMEM         VHOST_USER_PROTOCOL_BIT(22)
#define VHOST_USER_PROTOCOL_F_GET_VRING_BASE_SKIP_DRAIN \
	VHOST_USER_PROTOCOL_BIT(23)

struct vhost_user_hdr {
	uint32_t request;
	uint32_t flags;
	uint32_t size;
};

struct vhost_user_vring_state {
	uint32_t index;
	uint32_t num;
};

#define VHOST_USER_VRING_F_LOG 1u /* log writes to the used area */

struct vhost_user_vring_addr {
	uint32_t index;
	uint32_t flags;
	uint64_t desc; /* front end's virtual addresses */
	uint64_t used;
	uint64_t avail;
	uint64_t log; /* guest physical */
};

struct vhost_user_region {
	uint64_t gpa;
	uint64_t size;
	uint64_t uva;
	uint64_t offset; /* of the first byte in the file */
};

struct vhost_user_mem_table {
	uint32_t nregions;
	uint32_t padding;
	struct vhost_user_region region[VHOST_USER_REGIONS_MAX];
};

/* Bytes of a table with @n regions. */
#define VHOST_USER_MEM_TABLE_BYTES(n)                    \
	(offsetof(struct vhost_user_mem_table, region) + \
	 (n) * sizeof(struct vhost_user_region))

struct vhost_user_mem_reg {
	uint64_t padding;
	struct vhost_user_region region;
};

struct vhost_user_log {
	uint64_t size;
	uint64_t offset;
};

#define VHOST_USER_IOTLB_MISS        1u
#define VHOST_USER_IOTLB_UPDATE      2u
#define VHOST_USER_IOTLB_INVALIDATE  3u
#define VHOST_USER_IOTLB_ACCESS_FAIL 4u

struct vhost_user_iotlb {
	uint64_t iova;
	uint64_t size;
	uint64_t uva;
	uint8_t perm; /* 1 read, 2 write */
	uint8_t type;
	uint8_t padding[6];
};

#define VHOST_USER_CONFIG_WRITABLE  0u
#define VHOST_USER_CONFIG_MIGRATION 1u

struct vhost_user_config {
	uint32_t offset;
	uint32_t size;
	uint32_t flags;
	uint8_t bytes[VHOST_USER_CONFIG_MAX];
};

#define VHOST_USER_CONFIG_HDR_BYTES offsetof(struct vhost_user_config, bytes)

struct vhost_user_vring_area {
	uint64_t index; /* with VHOST_USER_VRING_NOFD */
	uint64_t size;
	uint64_t offset;
};

struct vhost_user_inflight {
	uint64_t mmap_size;
	uint64_t mmap_offset;
	uint16_t num_queues;
	uint16_t queue_size;
	uint32_t padding; /* absent on the wire of some peers: 20 bytes */
};

#define VHOST_USER_INFLIGHT_BYTES 20u

#define VHOST_USER_STATE_SAVE  0u
#define VHOST_USER_STATE_LOAD  1u
#define VHOST_USER_STATE_ERROR 0xffu /* of the reply */
#define VHOST_USER_STATE_NOFD  (1u << 8)

struct vhost_user_device_state {
	uint32_t direction;
	uint32_t phase; /* 0: stopped */
};

struct vhost_user_shared_object {
	uint8_t uuid[16];
};

/* Shared memory regions that a back end exposes (SHMEM). */
struct vhost_user_shmem_config {
	uint32_t nregions;
	uint32_t padding;
	uint64_t size[256];
};

struct vhost_user_shmem_map {
	uint8_t shmid;
	uint8_t padding[7];
	uint64_t fd_offset;
	uint64_t shm_offset;
	uint64_t len;
	uint64_t flags;
};

/* The payload of any message except GET_SHMEM_CONFIG's reply. */
union vhost_user_payload {
	uint64_t u64;
	struct vhost_user_vring_state state;
	struct vhost_user_vring_addr addr;
	struct vhost_user_mem_table mem;
	struct vhost_user_mem_reg mem_reg;
	struct vhost_user_log log;
	struct vhost_user_iotlb iotlb;
	struct vhost_user_config config;
	struct vhost_user_vring_area area;
	struct vhost_user_inflight inflight;
	struct vhost_user_device_state device_state;
	struct vhost_user_shared_object object;
	struct vhost_user_shmem_map shmem_map;
};

_Static_assert(sizeof(struct vhost_user_hdr) == 12, "Header");
_Static_assert(sizeof(struct vhost_user_vring_state) == 8, "vring state");
_Static_assert(sizeof(struct vhost_user_vring_addr) == 40, "vring address");
_Static_assert(offsetof(struct vhost_user_vring_addr, used) == 16,
               "descriptor, used, available: in this order");
_Static_assert(offsetof(struct vhost_user_vring_addr, avail) == 24, "avail");
_Static_assert(sizeof(struct vhost_user_region) == 32, "region");
_Static_assert(VHOST_USER_MEM_TABLE_BYTES(8) == 264, "memory regions");
_Static_assert(sizeof(struct vhost_user_mem_reg) == 40, "single region");
_Static_assert(sizeof(struct vhost_user_log) == 16, "log");
_Static_assert(sizeof(struct vhost_user_iotlb) == 32, "IOTLB");
_Static_assert(VHOST_USER_CONFIG_HDR_BYTES == 12, "configuration space");
_Static_assert(sizeof(struct vhost_user_vring_area) == 24, "vring area");
_Static_assert(offsetof(struct vhost_user_inflight, padding) ==
                       VHOST_USER_INFLIGHT_BYTES,
               "inflight");
_Static_assert(sizeof(struct vhost_user_device_state) == 8, "device state");
_Static_assert(sizeof(struct vhost_user_shared_object) == 16, "shared object");
_Static_assert(sizeof(struct vhost_user_shmem_map) == 40, "shmem map");

#endif
