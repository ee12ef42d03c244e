#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fetches a newer QEMU from the distribution's backports and unpacks it beside
# the installed one, which stays as it is. Prints the path of the program.
#
#   get-qemu.sh [PACKAGE [PROGRAM]]   default qemu-system-x86 qemu-system-x86_64
#
# Why: QEMU 7.2 crashes when a guest with MSI-X starts a vhost-user-net device
# without KVM (it forgets that nothing routes the interrupts in the kernel), so
# with it boot-linux.sh must take the interrupt away from the queues (vectors=0).
# QEMU 10 does not, speaks more of the vhost-user protocol, and offers
# in_order. Both are worth testing against.
#
# Environment: GUEST_OUT as for mkinitrd.sh. apt-get install qemu-system-x86
# first: the libraries are the same.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
package=${1:-qemu-system-x86} program=${2:-qemu-system-x86_64}
out=${GUEST_OUT:-$(realpath -m "$here/../../build/guest")}
root=$out/qemu
wrapper=$root/$program

if [ -x "$wrapper" ]; then echo "$wrapper"; exit 0; fi

"$here/fetch-deb.sh" "$root/root" "$(dpkg --print-architecture)" -backports \
	"$package" qemu-system-common qemu-system-data
cat >"$wrapper" <<WRAPPER
#!/bin/sh
here=\$(dirname "\$(readlink -f "\$0")")/root
for d in "\$here"/usr/lib/*/qemu; do QEMU_MODULE_DIR=\$d; done
export QEMU_MODULE_DIR
exec "\$here/usr/bin/$program" -L "\$here/usr/share/qemu" -L /usr/share/seabios \\
	-L /usr/lib/ipxe/qemu "\$@"
WRAPPER
chmod +x "$wrapper"
"$wrapper" --version >&2
echo "$wrapper"
