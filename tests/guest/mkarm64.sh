#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the arm64 guest that `boot-linux.sh --arch arm64` boots: Debian's own
# arm64 kernel and busybox, downloaded beside the system, and `rig` compiled
# for it. Prints the paths as mkinitrd.sh does.
#
#   tools/install-deps guest
#   mkarm64.sh
#
# Environment: GUEST_OUT as for mkinitrd.sh; the result goes to its arm64/
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
export GUEST_OUT=${GUEST_OUT:-$(realpath -m "$here/../../build/guest")}
out=$GUEST_OUT/arm64
root=$out/root

"$here/get-qemu.sh" qemu-system-arm qemu-system-aarch64 >/dev/null
if [ ! -e "$root/complete" ]; then
	"$here/fetch-deb.sh" "$root" arm64 '' linux-image-cloud-arm64 \
		busybox-static
	: >"$root/complete"
fi
CC=${CC:-aarch64-linux-gnu-gcc} GUEST_ROOT=$root BUSYBOX=$root/bin/busybox \
	"$here/mkinitrd.sh" "$out"
