#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Starts DPDK's testpmd as a stand-in vhost-user-net back end, runs a command
# beside it and stops it. It shows that a test (not a new back end) is right.
#
#   with-dpdk.sh MODE SOCKS [PORT_OPTIONS] -- COMMAND...
#
#   MODE  io       frames go from one port to the other, as through a wire
#         echo     answers ARP and ping for every address (icmpecho)
#         tap      one port, its other end a tap device `host0` with address
#                  10.77.0.1/24 in a network name space of its own, in which
#                  COMMAND's HOST_CMD hooks may run servers: `ip netns exec $NS`
#   SOCKS paths of the sockets to listen on, separated by commas
#   PORT_OPTIONS are added to each --vdev, e.g. client=1,iommu-support=1
#
# Environment: TESTPMD (default dpdk-testpmd), QUEUES (default 1), MBUF (bytes of
# an mbuf, default 2176), LOG (testpmd's output, default thrown away)
# apt-get install dpdk-dev iproute2; needs no hugepages. Polls: takes one core.
set -euo pipefail

mode=$1 socks=$2
shift 2
opts=
[ "$1" = -- ] || { opts=,$1; shift; }
[ "$1" = -- ] || { echo "with-dpdk: -- COMMAND missing" >&2; exit 2; }
shift

testpmd=${TESTPMD:-dpdk-testpmd} queues=${QUEUES:-1}
work=$(mktemp -d)
log=${LOG:-$work/log}
pid='' ns=''

cleanup() {
	if [ -n "$pid" ]; then
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	[ -z "$ns" ] || ip netns del "$ns"
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

IFS=, read -r -a paths <<<"$socks"
vdevs=() n=0
for p in "${paths[@]}"; do
	vdevs+=(--vdev "net_vhost$n,iface=$p,queues=$queues$opts")
	n=$((n + 1))
done
run=()
case $mode in
io) forward=io ;;
echo) forward=icmpecho ;;
tap)
	forward=io ns=rig-$$
	ip netns add "$ns"
	run=(ip netns exec "$ns")
	vdevs+=(--vdev "net_tap0,iface=host0") ;;
*) echo "with-dpdk: unknown mode $mode" >&2; exit 2 ;;
esac

# A fifo held open on standard input keeps testpmd from ending at end of file.
mkfifo "$work/stdin"
exec 4<>"$work/stdin"
"${run[@]}" "$testpmd" --lcores 0@0,1@0 --file-prefix="rig$$" --no-pci --no-huge \
	--no-shconf -m 256 "${vdevs[@]}" -- --forward-mode=$forward \
	--rxq="$queues" --txq="$queues" --mbuf-size="${MBUF:-2176}" \
	--total-num-mbufs=16384 --auto-start <"$work/stdin" >"$log" 2>&1 4>&- &
pid=$!
for p in "${paths[@]}"; do
	case $opts in *client=1*) break ;; esac
	for _ in $(seq 100); do
		[ ! -S "$p" ] || break
		kill -0 "$pid" 2>/dev/null || { tail -5 "$log" >&2; exit 2; }
		sleep 0.1
	done
done
if [ -n "$ns" ]; then
	for _ in $(seq 50); do
		ip -n "$ns" addr add 10.77.0.1/24 dev host0 2>/dev/null && break
		sleep 0.1
	done
	ip -n "$ns" link set host0 up
	ip -n "$ns" addr add fd77::1/64 dev host0 nodad
	ip -n "$ns" link set lo up
	export NS=$ns
fi
rc=0
"$@" || rc=$?
kill -0 "$pid" 2>/dev/null || { echo "with-dpdk: testpmd died"; rc=3; }
exit $rc
