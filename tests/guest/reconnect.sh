#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The back end is killed and started again under a running guest, COUNT times.
#
#   reconnect.sh SOCK COUNT BACK_END_COMMAND...
#
# BACK_END_COMMAND must listen on SOCK, stay in the foreground and answer ping
# at 10.77.0.1. It is ended with SIGKILL: nothing may depend on a clean exit, and
# a stale socket must not stop the next start. The guest must see its link go
# down, come back, and lose no packet after that. Environment: SECONDS_DOWN
# (default 2), OPTS (device options), REMOVE_SOCKET=1 for a back end that does
# not clear a stale socket itself (DPDK).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 3 ] || { sed -n '4p' "$0" | cut -c3- >&2; exit 2; }
sock=$1 count=$2
shift 2
work=$(mktemp -d)
cleanup() {
	[ ! -s "$work/pid" ] || kill -9 "$(cat "$work/pid")" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

printf '%q ' "$@" >"$work/command"
cat >"$work/start" <<START
#!/bin/bash
[ -z "${REMOVE_SOCKET:-}" ] || rm -f "$sock"
$(cat "$work/command") </dev/null >>"$work/log" 2>&1 &
echo \$! >"$work/pid"
for i in \$(seq 100); do
	sleep 0.1
	kill -0 \$(cat "$work/pid") 2>/dev/null || break
	[ \$i -lt 5 ] || [ ! -S "$sock" ] || exit 0
done
echo "the back end did not start:"
tail -5 "$work/log"
exit 1
START
cat >"$work/cycle" <<CYCLE
for i in \$(seq $count); do
	sleep 1
	kill -9 \$(cat "$work/pid")
	sleep ${SECONDS_DOWN:-2}
	bash "$work/start" || exit 1
	sleep 3
done
CYCLE
{
	echo net eth0 10.77.0.2/24
	echo ping 10.77.0.1 20
	echo ready
	for ((i = 0; i < count; i++)); do
		echo nocarrier eth0 15
		echo carrier eth0 30
		echo ping 10.77.0.1 50
	done
} >"$work/plan"
rm -f "$sock"
bash "$work/start" || { tail -5 "$work/log" >&2; exit 2; }
"$here/boot-linux.sh" --net "$sock${OPTS:+,$OPTS}" --reconnect 1 \
	--plan-file "$work/plan" --host-cmd "bash $work/cycle"
