/* SPDX-License-Identifier: BSD-2-Clause */
/* tapfd.c - opening tap interfaces: the ioctls, and what they answered. */
#include "port/tapfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/segment.h"

/* Since Linux 6.2; older headers do not have them. */
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20u
#define TUN_F_USO6 0x40u
#endif

static int tun_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

int tapfd_open(const char *ifname)
{
	struct ifreq r = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int fd, err;

	if (strlen(ifname) >= IFNAMSIZ)
		return -ENAMETOOLONG;
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	memcpy(r.ifr_name, ifname, strlen(ifname));
	err = tun_ioctl(fd, TUNSETIFF, &r);
	if (err == -EINVAL) { /* it was made for several queues */
		r.ifr_flags |= IFF_MULTI_QUEUE;
		err = tun_ioctl(fd, TUNSETIFF, &r);
	}
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

/* Take what the kernel has, newest first. */
static unsigned offload_set(int fd)
{
	static const struct {
		unsigned long tun;
		unsigned allowed;
	} row[] = {
		{ TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN |
		          TUN_F_USO4 | TUN_F_USO6,
		  OFFLOAD_CSUM | OFFLOAD_TSO4 | OFFLOAD_TSO6 | OFFLOAD_ECN |
		          OFFLOAD_UFO | OFFLOAD_USO4 | OFFLOAD_USO6 },
		{ TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN,
		  OFFLOAD_CSUM | OFFLOAD_TSO4 | OFFLOAD_TSO6 | OFFLOAD_ECN |
		          OFFLOAD_UFO },
		{ TUN_F_CSUM, OFFLOAD_CSUM },
	};

	for (size_t i = 0; i < array_len(row); i++) {
		if (!tun_ioctl(fd, TUNSETOFFLOAD, (void *)row[i].tun))
			return row[i].allowed;
	}
	return 0;
}

int tapfd_prepare(int fd, char *ifname, unsigned *allowed)
{
	struct ifreq r = { .ifr_flags = 0 };
	int len = sizeof(struct virtio_net_hdr), little = 1;
	int err = tun_ioctl(fd, TUNGETIFF, &r);

	if (err || !(r.ifr_flags & IFF_TAP) || !(r.ifr_flags & IFF_VNET_HDR))
		return -EPROTOTYPE;
	memcpy(ifname, r.ifr_name, TAP_IFNAME);
	ifname[TAP_IFNAME - 1] = '\0';
	err = fd_set_nonblock(fd);
	if (!err)
		err = tun_ioctl(fd, TUNSETVNETHDRSZ, &len);
	if (!err)
		err = tun_ioctl(fd, TUNSETVNETLE, &little);
	if (!err)
		*allowed = offload_set(fd);
	return err;
}

static int mtu_set(int sock, const char *ifname, unsigned mtu)
{
	struct ifreq r = { .ifr_mtu = 0 };

	memcpy(r.ifr_name, ifname, TAP_IFNAME);
	if (tun_ioctl(sock, SIOCGIFMTU, &r) == 0 && r.ifr_mtu == (int)mtu)
		return 0;
	r.ifr_mtu = (int)mtu;
	return tun_ioctl(sock, SIOCSIFMTU, &r);
}

static int up_set(int sock, const char *ifname)
{
	struct ifreq r = { .ifr_flags = 0 };
	int err;

	memcpy(r.ifr_name, ifname, TAP_IFNAME);
	err = tun_ioctl(sock, SIOCGIFFLAGS, &r);
	/* Given from another network namespace: its owner cares for it. */
	if (err == -ENODEV)
		return 0;
	if (err || (r.ifr_flags & IFF_UP))
		return err;
	r.ifr_flags |= IFF_UP;
	return tun_ioctl(sock, SIOCSIFFLAGS, &r);
}

int tapfd_up(const char *ifname, unsigned mtu)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	if (sock < 0)
		return -errno;
	if (mtu)
		err = mtu_set(sock, ifname, mtu);
	if (!err)
		err = up_set(sock, ifname);
	/* Not ours to bring up: frames are dropped as "down" until it is. */
	if (err == -EPERM)
		err = 0;
	close(sock);
	return err;
}
