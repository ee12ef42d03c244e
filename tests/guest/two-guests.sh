#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two guests, one server and one client, through a back end that joins them.
#
#   two-guests.sh SOCK_A SOCK_B [DEVICE_OPTIONS_A [DEVICE_OPTIONS_B]]
#
# The options are boot-linux.sh's, e.g. `packed=on` `mrg_rxbuf=off`: the two ends
# need not agree. Lines begin with A| or B|. Exit status 0 if both passed.
#   with-dpdk.sh io /run/a,/run/b -- two-guests.sh /run/a /run/b packed=on
# Under emulation it wants two cores to itself, and testpmd takes one.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '4p' "$0" | cut -c3- >&2; exit 2; }
work=$(mktemp -d)
server=
cleanup() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

cat >"$work/a" <<'PLAN'
net eth0 10.77.0.1/24
serve
hold
PLAN
cat >"$work/b" <<'PLAN'
net eth0 10.77.0.2/24
await 10.77.0.1 60
ping 10.77.0.1 50
ping 10.77.0.1 5 1472
sweep 10.77.0.1 0 1472 13
send 10.77.0.1 32M
recv 10.77.0.1 32M
both 10.77.0.1 16M
rr 10.77.0.1 100 256 3
rr 10.77.0.1 1 1 1
quit 10.77.0.1
PLAN
"$here/boot-linux.sh" --id 1 --net "$1${3:+,$3}" --plan-file "$work/a" \
	> >(sed -u 's/^/A| /') 2>&1 &
server=$!
rc=0
"$here/boot-linux.sh" --id 2 --net "$2${4:+,$4}" --plan-file "$work/b" \
	> >(sed -u 's/^/B| /') 2>&1 || rc=1
[ $rc = 0 ] || exit 1
wait "$server" || rc=1
server=
exit $rc
