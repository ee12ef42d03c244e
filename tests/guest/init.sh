#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# PID 1 of the guest: loads the drivers, runs the plan, prints the verdict.
# The verdict is the last marker on the serial line:
#   GUEST-PASS steps=N secs=S     every step did what it should
#   GUEST-FAIL step=...           the first one that did not; the rest not run
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
echo 5 >/proc/sys/kernel/printk

. /rig/steps.sh

echo "GUEST-BOOT kernel=$(uname -r) arch=$(uname -m) cpus=$(nproc) uptime=$(up)"
sh -c "$quiet"
for m in $(cat /modules/order 2>/dev/null); do
	insmod "/modules/$m" || echo "GUEST-NOTE insmod $m failed"
done
ip link set lo up
rig_describe

# The plan is a file (/plan, appended to the initramfs by boot-linux.sh) or, for
# those who start QEMU themselves, plan=step:arg:arg,step on the command line.
if [ ! -s /plan ]; then
	sed -n 's/.*plan=\([^ ]*\).*/\1/p' /proc/cmdline | tr ',:' '\n ' >/plan
fi

steps=0
verdict=
while read -r line <&9; do
	line=${line%%#*}
	set -f; set -- $line; set +f
	[ $# -gt 0 ] || continue
	steps=$((steps + 1))
	rig_step "$@" || { verdict="GUEST-FAIL step=$*"; break; }
done 9</plan
[ -n "$verdict" ] && rig_post_mortem
sleep 0.2
echo "${verdict:-GUEST-PASS steps=$steps secs=$(up)}"
[ -e /tmp/reboot ] && reboot -f
poweroff -f
