/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire/net.h - bytes of a virtio network device. Layout only, no logic; net,
 * port and driver include it. Spec: virtio 1.3, 5.1 Network Device.
 */
#ifndef VIADUCT_WIRE_NET_H
#define VIADUCT_WIRE_NET_H

#include "base/le.h"
#include "wire/virtio.h"

#define VIRTIO_NET_F_CSUM                VIRTIO_BIT(0)
#define VIRTIO_NET_F_GUEST_CSUM          VIRTIO_BIT(1)
#define VIRTIO_NET_F_CTRL_GUEST_OFFLOADS VIRTIO_BIT(2)
#define VIRTIO_NET_F_MTU                 VIRTIO_BIT(3)
#define VIRTIO_NET_F_MAC                 VIRTIO_BIT(5)
#define VIRTIO_NET_F_GUEST_TSO4          VIRTIO_BIT(7)
#define VIRTIO_NET_F_GUEST_TSO6          VIRTIO_BIT(8)
#define VIRTIO_NET_F_GUEST_ECN           VIRTIO_BIT(9)
#define VIRTIO_NET_F_GUEST_UFO           VIRTIO_BIT(10)
#define VIRTIO_NET_F_HOST_TSO4           VIRTIO_BIT(11)
#define VIRTIO_NET_F_HOST_TSO6           VIRTIO_BIT(12)
#define VIRTIO_NET_F_HOST_ECN            VIRTIO_BIT(13)
#define VIRTIO_NET_F_HOST_UFO            VIRTIO_BIT(14)
#define VIRTIO_NET_F_MRG_RXBUF           VIRTIO_BIT(15)
#define VIRTIO_NET_F_STATUS              VIRTIO_BIT(16)
#define VIRTIO_NET_F_CTRL_VQ             VIRTIO_BIT(17)
#define VIRTIO_NET_F_CTRL_RX             VIRTIO_BIT(18)
#define VIRTIO_NET_F_CTRL_VLAN           VIRTIO_BIT(19)
#define VIRTIO_NET_F_CTRL_RX_EXTRA       VIRTIO_BIT(20)
#define VIRTIO_NET_F_GUEST_ANNOUNCE      VIRTIO_BIT(21)
#define VIRTIO_NET_F_MQ                  VIRTIO_BIT(22)
#define VIRTIO_NET_F_CTRL_MAC_ADDR       VIRTIO_BIT(23)
#define VIRTIO_NET_F_VQ_NOTF_COAL        VIRTIO_BIT(52)
#define VIRTIO_NET_F_NOTF_COAL           VIRTIO_BIT(53)
#define VIRTIO_NET_F_GUEST_USO4          VIRTIO_BIT(54)
#define VIRTIO_NET_F_GUEST_USO6          VIRTIO_BIT(55)
#define VIRTIO_NET_F_HOST_USO            VIRTIO_BIT(56)

/* 5.1.6 Device Operation: the header before every packet, 12 bytes. */
struct virtio_net_hdr {
	uint8_t flags;
	uint8_t gso_type;
	le16 hdr_len;
	le16 gso_size;
	le16 csum_start;
	le16 csum_offset;
	le16 num_buffers;
};

#define VIRTIO_NET_HDR_F_NEEDS_CSUM 1u
#define VIRTIO_NET_HDR_F_DATA_VALID 2u
#define VIRTIO_NET_HDR_F_RSC_INFO   4u

#define VIRTIO_NET_HDR_GSO_NONE   0u
#define VIRTIO_NET_HDR_GSO_TCPV4  1u
#define VIRTIO_NET_HDR_GSO_UDP    3u
#define VIRTIO_NET_HDR_GSO_TCPV6  4u
#define VIRTIO_NET_HDR_GSO_UDP_L4 5u
#define VIRTIO_NET_HDR_GSO_ECN    0x80u

/* 5.1.4 Device configuration layout. */
struct virtio_net_config {
	uint8_t mac[6];
	le16 status;
	le16 max_virtqueue_pairs;
	le16 mtu;
	le32 speed;
	uint8_t duplex;
	uint8_t rss_max_key_size;
	le16 rss_max_indirection_table_length;
	le32 supported_hash_types;
};

#define VIRTIO_NET_S_LINK_UP  1u
#define VIRTIO_NET_S_ANNOUNCE 2u

/* 5.1.6.5 Control Virtqueue. */
struct virtio_net_ctrl_hdr {
	uint8_t class;
	uint8_t command;
};

#define VIRTIO_NET_OK  0u
#define VIRTIO_NET_ERR 1u

#define VIRTIO_NET_CTRL_RX                 0u
#define VIRTIO_NET_CTRL_RX_PROMISC         0u
#define VIRTIO_NET_CTRL_RX_ALLMULTI        1u
#define VIRTIO_NET_CTRL_RX_ALLUNI          2u
#define VIRTIO_NET_CTRL_RX_NOMULTI         3u
#define VIRTIO_NET_CTRL_RX_NOUNI           4u
#define VIRTIO_NET_CTRL_RX_NOBCAST         5u
#define VIRTIO_NET_CTRL_MAC                1u
#define VIRTIO_NET_CTRL_MAC_TABLE_SET      0u
#define VIRTIO_NET_CTRL_MAC_ADDR_SET       1u
#define VIRTIO_NET_CTRL_VLAN               2u
#define VIRTIO_NET_CTRL_VLAN_ADD           0u
#define VIRTIO_NET_CTRL_VLAN_DEL           1u
#define VIRTIO_NET_CTRL_ANNOUNCE           3u
#define VIRTIO_NET_CTRL_ANNOUNCE_ACK       0u
#define VIRTIO_NET_CTRL_MQ                 4u
#define VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET    0u
#define VIRTIO_NET_CTRL_GUEST_OFFLOADS     5u
#define VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET 0u
#define VIRTIO_NET_CTRL_NOTF_COAL          6u
#define VIRTIO_NET_CTRL_NOTF_COAL_TX_SET   0u
#define VIRTIO_NET_CTRL_NOTF_COAL_RX_SET   1u
#define VIRTIO_NET_CTRL_NOTF_COAL_VQ_SET   2u
#define VIRTIO_NET_CTRL_NOTF_COAL_VQ_GET   3u

/* 5.1.6.5.10 Notifications Coalescing. */
struct virtio_net_ctrl_coal {
	le32 max_packets;
	le32 max_usecs;
};

struct virtio_net_ctrl_coal_vq {
	le16 vq_index;
	le16 reserved;
	struct virtio_net_ctrl_coal coal;
};

_Static_assert(sizeof(struct virtio_net_hdr) == 12, "5.1.6");
_Static_assert(sizeof(struct virtio_net_config) == 24, "5.1.4");
_Static_assert(sizeof(struct virtio_net_ctrl_hdr) == 2, "5.1.6.5");
_Static_assert(sizeof(struct virtio_net_ctrl_coal) == 8, "5.1.6.5.10");
_Static_assert(sizeof(struct virtio_net_ctrl_coal_vq) == 12, "5.1.6.5.10");

#endif
