#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Live migration with traffic under way: the dirty log and the hand-over.
#
#   migrate.sh SOCK_A1 SOCK_A2 SOCK_B1 SOCK_B2 [DEVICE_OPTIONS]
#
# One guest with two devices talks to itself through the back end (A1 and A2 are
# joined, so are B1 and B2). While it streams, it moves to a second QEMU on B1
# and B2; the stream goes on there. Whatever the back end wrote into the guest
# and did not mark in the dirty log arrives as a wrong byte, and rig says where.
#   with-dpdk.sh io $a1,$a2,$b1,$b2 -- migrate.sh $a1 $a2 $b1 $b2
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 4 ] || { sed -n '4p' "$0" | cut -c3- >&2; exit 2; }
opts=${5:+,$5}
work=$(mktemp -d)
source_pid=
cleanup() {
	[ -z "$source_pid" ] || kill "$source_pid" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

cat >"$work/plan" <<'PLAN'
ns a eth0 10.77.0.1/24
ns b eth1 10.77.0.2/24
in a serve
in b ping 10.77.0.1 20
ready
in b recv 10.77.0.1 256M
in b send 10.77.0.1 32M
in b ping 10.77.0.1 20
in b quit 10.77.0.1
hold
PLAN
move="sleep 1; '$here/qmp.py' $work/qmp migrate '{\"uri\": \"unix:$work/move\"}'"
"$here/boot-linux.sh" --net "$1$opts" --net "$2$opts" --plan-file "$work/plan" \
	--qemu-arg -qmp --qemu-arg "unix:$work/qmp,server=on,wait=off" \
	--host-cmd "$move" > >(sed -u 's/^/source| /') 2>&1 &
source_pid=$!
rc=0
"$here/boot-linux.sh" --net "$3$opts" --net "$4$opts" --plan-file "$work/plan" \
	--qemu-arg -incoming --qemu-arg "unix:$work/move" \
	> >(sed -u 's/^/target| /') 2>&1 || rc=1
exit $rc
