#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The host's servers for a guest behind a tap: rig (TCP and UDP port 5001, TCP
# over IPv6 port 5006) and digest.sh, in the name space $NS, until the guest's
# plan says `quit`. Meant for boot-linux.sh --host-cmd, which sets $RIG and ends
# the whole process group.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
ip netns exec "$NS" busybox sh "$here/digest.sh" serve "${DIGEST:-4M}" &
digest=$!
trap 'kill $digest 2>/dev/null || true' EXIT
rc=0
ip netns exec "$NS" "$RIG" serve "${1:-300}" tcp::5001 udp::5001 tcp6::5006 ||
	rc=$?
exit $rc
