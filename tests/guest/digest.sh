#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A random file each way over TCP, with its SHA-256 taken at both ends: by
# programs that know nothing of this rig. Needs busybox only; the same script
# runs in the guest and on the host.
#
#   digest.sh serve BYTES      ports 5003 and 5004, until it is killed
#   digest.sh HOST BYTES       sends BYTES, then receives the server's file
set -u

sha() { busybox sha256sum | cut -c-64; }
random() { head -c "$1" /dev/urandom; }
number() {
	case $1 in
	*M) echo $((${1%M} << 20)) ;;
	*K) echo $((${1%K} << 10)) ;;
	*) echo "$1" ;;
	esac
}

case $1 in
serve)
	DIGEST_BYTES=$(number "${2:-4M}")
	export DIGEST_BYTES
	busybox nc -ll -p 5003 -e sh "$0" sink &
	sinks=$!
	busybox nc -ll -p 5004 -e sh "$0" source &
	trap 'kill $sinks $!; exit 0' TERM INT
	wait ;;
sink)			# standard input and output are the connection
	sha ;;
source)
	file=$(mktemp)
	random "$DIGEST_BYTES" >"$file"
	sha <"$file"
	cat "$file"
	rm -f "$file" ;;
*)
	file=$(mktemp)
	random "$(number "$2")" >"$file"
	mine=$(sha <"$file")
	theirs=$(busybox nc "$1" 5003 <"$file")
	rm -f "$file"
	echo "digest: sent $2 sha256=$mine arrived as ${theirs:-nothing}"
	[ "$mine" = "$theirs" ] || exit 1
	busybox nc "$1" 5004 </dev/null | {
		read -r theirs
		mine=$(sha)
		echo "digest: received sha256=$mine was sent as $theirs"
		[ -n "$theirs" ] && [ "$mine" = "$theirs" ]
	} ;;
esac
