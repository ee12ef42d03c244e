/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire/virtio.h - feature and status bits that every device shares. Layout
 * only; anyone may include it. Spec: virtio 1.3, 6 Reserved Feature Bits; 2.1
 * Device Status Field.
 */
#ifndef VIADUCT_WIRE_VIRTIO_H
#define VIADUCT_WIRE_VIRTIO_H

#include "base/defs.h"

#define VIRTIO_BIT(n) (UINT64_C(1) << (n))

#define VIRTIO_F_ANY_LAYOUT        VIRTIO_BIT(27)
#define VIRTIO_F_INDIRECT_DESC     VIRTIO_BIT(28)
#define VIRTIO_F_EVENT_IDX         VIRTIO_BIT(29)
#define VIRTIO_F_VERSION_1         VIRTIO_BIT(32)
#define VIRTIO_F_ACCESS_PLATFORM   VIRTIO_BIT(33)
#define VIRTIO_F_RING_PACKED       VIRTIO_BIT(34)
#define VIRTIO_F_IN_ORDER          VIRTIO_BIT(35)
#define VIRTIO_F_ORDER_PLATFORM    VIRTIO_BIT(36)
#define VIRTIO_F_NOTIFICATION_DATA VIRTIO_BIT(38)
#define VIRTIO_F_RING_RESET        VIRTIO_BIT(40)

/* Bits that vhost lays over the device's own. */
#define VHOST_F_LOG_ALL                VIRTIO_BIT(26)
#define VHOST_USER_F_PROTOCOL_FEATURES VIRTIO_BIT(30)

#define VIRTIO_STATUS_ACKNOWLEDGE 1u
#define VIRTIO_STATUS_DRIVER      2u
#define VIRTIO_STATUS_DRIVER_OK   4u
#define VIRTIO_STATUS_FEATURES_OK 8u
#define VIRTIO_STATUS_NEEDS_RESET 64u
#define VIRTIO_STATUS_FAILED      128u

#endif
