#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# examples/rng.c, built outside the tree against the installed library, serves
# a guest's entropy: dd if=/dev/hwrng reads what it gives.
#
#   rng.sh SOCK [DEVICE_OPTIONS]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tree=$(realpath "$here/../..")
[ $# -ge 1 ] || { sed -n '6p' "$0" | cut -c3- >&2; exit 2; }
work=$(mktemp -d)
device=''
cleanup() {
	[ -z "$device" ] || kill "$device" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

meson install -C "$tree/build" --no-rebuild --destdir "$work/root" >"$work/log"
pc=$(find "$work/root" -name viaduct.pc)
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$work/root
cp "$tree/examples/rng.c" "$work/"
# shellcheck disable=SC2046 # flags are words
gcc -Wall -Wextra -Werror "$work/rng.c" -o "$work/rng" \
	$(pkg-config --cflags --libs viaduct)
lib=$(dirname "$(find "$work/root" -name 'libviaduct.so' | head -1)")
LD_LIBRARY_PATH=$lib "$work/rng" "$1" &
device=$!
for _ in $(seq 100); do
	[ ! -S "$1" ] || break
	sleep 0.05
done
"$here/boot-linux.sh" --device "vhost-user-rng-pci,$1${2:+,$2}" \
	--plan-file "$here/plans/rng.plan"
kill "$device"
wait "$device"
device=''
