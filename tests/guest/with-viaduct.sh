#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Starts viaductd, runs a command beside it, looks at what the daemon says of
# itself and stops it. The same words as with-dpdk.sh, so that a test can be
# tried against both.
#
#   with-viaduct.sh MODE SOCKS [PORT_OPTIONS] -- COMMAND...
#
#   MODE  io    every socket is a port of one switch
#         tap   so is a tap device `host0` with address 10.77.0.1/24 in a
#               network name space of its own: `ip netns exec $NS`
#         echo  the same; the host's kernel answers ping
#   SOCKS paths of the sockets to listen on, separated by commas; the port is
#         named like the file without .sock
#   PORT_OPTIONS are added to each guest port, e.g. mode=client
#
# Exit status: COMMAND's; or 3 if the daemon died, dropped a packet, broke a
# queue, kept a descriptor, or did not end cleanly and soon after SIGTERM.
#
# Environment: VIADUCTD, VIADUCT (default this tree's build/), LOG (default
# thrown away), VIADUCTD_ARGS, TAP_MTU (default 1500), DROPS=any (drops are
# allowed), CTL (control socket)
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mode=$1 socks=$2
shift 2
# An emulated guest on a busy machine may not run for a while: let the others
# wait for it, so that whatever is lost is lost by a mistake.
wait=,wait-us=3000000 opts=$wait
[ "$1" = -- ] || { opts+=,$1; shift; }
[ "$1" = -- ] || { echo "with-viaduct: -- COMMAND missing" >&2; exit 2; }
shift

build=$(realpath -m "$here/../../build")
daemon=${VIADUCTD:-$build/viaductd} tool=${VIADUCT:-$build/viaduct}
work=$(mktemp -d)
log=${LOG:-$work/log}
export CTL=${CTL:-$work/ctl}
pid='' ns=''

cleanup() {
	[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
	[ -z "$ns" ] || "$here/host-net.sh" del "$ns"
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

wrong() { echo "with-viaduct: $*"; rc=3; }
fds() { ls "/proc/$pid/fd" | wc -l; }

ports=() run=()
IFS=, read -r -a paths <<<"$socks"
for p in "${paths[@]}"; do
	ports+=(--port "name=$(basename "$p" .sock),type=guest,socket=$p$opts")
done
case $mode in
io) ;;
tap|echo)
	ns=guest-$$
	"$here/host-net.sh" add "$ns"
	run=(ip netns exec "$ns")
	ports+=(--port "name=host0,type=tap,ifname=host0$wait")
	export NS=$ns ;;
*) echo "with-viaduct: unknown mode $mode" >&2; exit 2 ;;
esac

# shellcheck disable=SC2086 # VIADUCTD may be a command with arguments
"${run[@]}" $daemon "${ports[@]}" --control "$CTL" ${VIADUCTD_ARGS:-} \
	</dev/null >"$log" 2>&1 &
pid=$!
for _ in $(seq 100); do
	[ ! -S "$CTL" ] || break
	kill -0 "$pid" 2>/dev/null || { tail -5 "$log" >&2; exit 2; }
	sleep 0.05
done
fds_before=$(fds)
export VIADUCTD_PID=$pid

rc=0
"$@" || rc=$?

if ! kill -0 "$pid" 2>/dev/null; then
	wrong "viaductd died"
	tail -20 "$log"
	pid=
	exit $rc
fi
"$tool" status --json --control "$CTL" >"$work/status" ||
	wrong "viaduct status failed"
# shellcheck disable=SC2086 # words
"$here/status.py" "$work/status" ${FEATURES:-} || rc=3
for _ in $(seq 40); do
	[ "$(fds)" != "$fds_before" ] || break
	sleep 0.05
done
[ "$(fds)" = "$fds_before" ] ||
	wrong "descriptors: $fds_before before, $(fds) now"
sed -n 's/^\(VmHWM\|VmRSS\):/viaductd: \1/p' "/proc/$pid/status"

kill "$pid"
for _ in $(seq 40); do
	kill -0 "$pid" 2>/dev/null || break
	sleep 0.05
done
if kill -0 "$pid" 2>/dev/null; then
	wrong "viaductd did not end within 2 s of SIGTERM"
else
	wait "$pid" || wrong "viaductd ended with status $?"
	pid=
fi
for p in "${paths[@]}" "$CTL"; do
	[ ! -S "$p" ] || wrong "$p is still there"
done
[ $rc = 0 ] || tail -20 "$log"
exit $rc
