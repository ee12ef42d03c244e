#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The host as a guest behind a tap sees it: a network name space with a tap
# device `host0` (10.77.0.1/24, fd77::1/64) that a back end may open.
#
#   host-net.sh add|del NAMESPACE
#
# Environment: TAP_MTU (default 1500)
set -euo pipefail

[ $# -eq 2 ] || { sed -n '6p' "$0" | cut -c3- >&2; exit 2; }
case $1 in
add)
	ip netns add "$2"
	ip -n "$2" link set lo up
	ip -n "$2" tuntap add dev host0 mode tap vnet_hdr
	ip -n "$2" addr add 10.77.0.1/24 dev host0
	ip -n "$2" addr add fd77::1/64 dev host0 nodad
	ip -n "$2" link set host0 mtu "${TAP_MTU:-1500}" up ;;
del)
	ip netns del "$2" ;;
esac
