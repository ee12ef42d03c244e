#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A guest is killed with SIGKILL while data streams to it and from it; another
# guest beside it must not notice, and a new one on the same socket must work.
#
#   killed.sh SOCK_A SOCK_B      with a tap and its servers: with-viaduct.sh tap
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 2 ] || { sed -n '6p' "$0" | cut -c3- >&2; exit 2; }
work=$(mktemp -d)
bystander=''
cleanup() {
	[ -z "$bystander" ] || kill "$bystander" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

# The bystander exchanges small messages all the while; none may wait for 3 s.
cat >"$work/bystander" <<'PLAN'
net eth0 10.77.0.3/24
ready
rr 10.77.0.1 4 256 20 1 3000
ping 10.77.0.1 20
PLAN
cat >"$work/victim" <<'PLAN'
net eth0 10.77.0.2/24
await 10.77.0.1
bg send 10.77.0.1 1G
ready
recv 10.77.0.1 1G
PLAN
cat >"$work/heir" <<'PLAN'
net eth0 10.77.0.2/24
ping 10.77.0.1 20
send 10.77.0.1 4M
recv 10.77.0.1 4M
PLAN

ip netns exec "$NS" "$GUEST_OUT/rig" serve 300 tcp::5001 >"$work/serve" 2>&1 &
server=$!
"$here/boot-linux.sh" --id 3 --net "$1" --plan-file "$work/bystander" \
	--host-cmd ": >$work/steady" > >(sed -u 's/^/steady| /') 2>&1 &
bystander=$!
until [ -e "$work/steady" ]; do
	kill -0 "$bystander"
	sleep 0.2
done
rc=0
# shellcheck disable=SC2016 # expanded by boot-linux.sh's host command
"$here/boot-linux.sh" --id 2 --net "$2" --plan-file "$work/victim" \
	--host-cmd 'sleep 1; kill -9 $QEMU_PID; sleep 5' \
	> >(sed -u 's/^/victim| /') 2>&1 && rc=1
[ $rc = 0 ] || { echo "killed: the victim was not killed"; exit 1; }
"$here/boot-linux.sh" --id 2 --net "$2" --plan-file "$work/heir" \
	> >(sed -u 's/^/heir  | /') 2>&1 || rc=1
wait "$bystander" || rc=1
bystander=''
kill "$server" || rc=1
wait "$server" 2>/dev/null || true
! grep FAULT "$work/serve" || rc=1
exit $rc
