#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What viaductd costs with two real guests attached that have nothing to say:
# resident memory (without the guests' own, which is shared memory) and CPU time
# in ten seconds.
#
#   footprint.sh SOCK_A SOCK_B      beside with-viaduct.sh io
#
# Environment: MEMORY_KIB (limit, default 16384), CPU_MS (limit, default 10),
# VIADUCTD_PID (with-viaduct.sh sets it)
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 2 ] || { sed -n '7p' "$0" | cut -c3- >&2; exit 2; }
work=$(mktemp -d)
guests=()
cleanup() {
	kill "${guests[@]}" 2>/dev/null || true
	wait
	rm -rf "$work"
}
trap cleanup EXIT

# A minute in which nobody asks for anything: no IPv6, no DHCP.
cat >"$work/plan" <<'PLAN'
sh echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
net eth0 10.77.0.NUMBER/24
sh ping -q -c 3 -w 60 10.77.0.OTHER
ready
sleep 60
PLAN
for n in 1 2; do
	sed "s/NUMBER/$n/; s/OTHER/$((3 - n))/" "$work/plan" >"$work/plan$n"
	"$here/boot-linux.sh" --id $n --net "$1" --plan-file "$work/plan$n" \
		--host-cmd ": >$work/ready$n" > >(sed -u "s/^/$n| /") 2>&1 &
	guests+=($!)
	shift
done
until [ -e "$work/ready1" ] && [ -e "$work/ready2" ]; do
	kill -0 "${guests[@]}"
	sleep 0.2
done
sleep 2

cpu_ns() {
	awk '{ n += $1 } END { printf "%d\n", n }' \
		"/proc/$VIADUCTD_PID"/task/*/schedstat
}
kib() { awk -v f="$1:" '$1 == f { print $2 }' "/proc/$VIADUCTD_PID/status"; }

before=$(cpu_ns)
sleep 10
cpu_us=$((($(cpu_ns) - before) / 1000))
memory=$(($(kib VmRSS) - $(kib RssShmem)))
echo "footprint: resident=$memory KiB cpu-in-10s=$cpu_us us"
[ "$memory" -lt "${MEMORY_KIB:-16384}" ] &&
	[ $cpu_us -lt $((${CPU_MS:-10} * 1000)) ]
