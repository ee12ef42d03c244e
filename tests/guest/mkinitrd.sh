#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the guest's initramfs: a static busybox, the distribution kernel's own
# virtio modules, ethtool where installed, and the static `rig`
# traffic program. Prints the two paths a boot needs, as KERNEL= and INITRD=.
#
#   tools/install-deps guest
#   mkinitrd.sh [OUTPUT_FOLDER]
#
# All of it can be replaced, which is how a guest of another architecture is
# made on the same machine:
#   GUEST_OUT    output folder          (default build/guest of this tree)
#   GUEST_ROOT   folder that holds boot/ and lib/modules/ (default the system)
#   KVER         kernel release         (default the newest in GUEST_ROOT/boot)
#   BUSYBOX      static busybox         (default the system's)
#   CC           compiler for rig       (default gcc)
#   EXTRA_BINS   dynamic programs to copy with their libraries
#                                       (default: ethtool if present)
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-${GUEST_OUT:-$(realpath -m "$here/../../build/guest")}}
root=${GUEST_ROOT:-}
busybox=${BUSYBOX:-$(command -v busybox)}
cc=${CC:-gcc}

# In no particular order: their dependencies decide.
modules="virtio_pci virtio_mmio virtio_net virtio-rng vsock vsock_loopback
         vsockmon vmw_vsock_virtio_transport pktgen 8021q"

die() { echo "mkinitrd: $*" >&2; exit 1; }

find_kernel() {
	local v
	v=${KVER:-$(ls "$root/boot" | sed -n 's/^vmlinu[xz]-//p' |
		while read -r v; do
			[ -d "$root/lib/modules/$v" ] && echo "$v" || true
		done | sort -V | tail -1)}
	[ -n "$v" ] || die "no kernel with modules below '$root/boot';" \
		"apt-get install linux-image-cloud-amd64"
	echo "$v"
}

kernel_image() {
	local f
	for f in "$root/boot"/vmlinu[xz]-"$kver"; do
		[ -r "$f" ] && echo "$f" && return
	done
	die "cannot read a kernel image for $kver"
}

# Prints the module files to insert, dependencies first, each once.
load_order() {
	local dep="$root/lib/modules/$kver/modules.dep" m
	for m in $modules; do
		awk -v want="/$m.ko" -F': *' '
		substr($1, length($1) - length(want) + 1) == want {
			n = split($2, d, " ")
			for (i = n; i > 0; i--) print d[i]
			print $1
		}' "$dep"
	done | awk '!seen[$0]++'
}

# Copies a dynamic program and the libraries that ldd names for it.
copy_program() {
	local bin
	bin=$(command -v "$1") || return 0
	cp "$bin" "$tree/bin/"
	ldd "$bin" 2>/dev/null | grep -oE '/[^ ]+' | while read -r lib; do
		mkdir -p "$tree$(dirname "$lib")"
		cp -L "$lib" "$tree$lib"
	done
}

[ -x "$busybox" ] || die "no busybox; apt-get install busybox-static"
kver=$(find_kernel)
image=$(kernel_image)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

mkdir -p "$out" "$tree"/{bin,dev,etc,modules,proc,rig,run,sys,tmp}
cp "$busybox" "$tree/bin/busybox"
for applet in $("$busybox" --list 2>/dev/null || busybox --list); do
	[ "$applet" = busybox ] || ln -s busybox "$tree/bin/$applet"
done
if [ -d "$root/lib/modules/$kver" ]; then
	[ -s "$root/lib/modules/$kver/modules.dep" ] ||
		depmod -b "${root:-/}" "$kver"
	load_order >"$tree/modules/order"
	while read -r m; do
		cp "$root/lib/modules/$kver/$m" "$tree/modules/"
	done <"$tree/modules/order"
	sed -i 's,.*/,,' "$tree/modules/order"
fi
"$cc" -std=gnu11 -O2 -Wall -Wextra -static -o "$tree/bin/rig" \
	"$here"/src/*.c -lm
if [ -z "$root" ]; then
	gcc -std=gnu11 -O2 -static -o "$out/rig" "$here"/src/*.c -lm
	for p in ${EXTRA_BINS-ethtool}; do copy_program "$p"; done
fi
cp "$here/init.sh" "$tree/init"
cp "$here/steps.sh" "$here/digest.sh" "$tree/rig/"
chmod +x "$tree/init"
ln -sf ../proc/mounts "$tree/etc/mtab"

# Not compressed: under software emulation unpacking costs more than loading.
(cd "$tree" && find . | cpio --quiet -o -H newc -R 0:0) >"$out/initrd.tmp"
mv "$out/initrd.tmp" "$out/initrd"
cp "$image" "$out/kernel.tmp"
mv "$out/kernel.tmp" "$out/kernel"
printf 'KERNEL=%s\nINITRD=%s\n' "$out/kernel" "$out/initrd"
