#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Boots the guest under QEMU against vhost-user sockets, prints its serial line
# and exits 0 only if it printed GUEST-PASS (once per --boots).
#
#   boot-linux.sh [OPTIONS] --plan STEP[,STEP...] | --plan-file FILE
#
#   --net SOCK[,queues=N][,OPT=VAL...]   a virtio-net-pci device (repeatable);
#            queues=N pairs; other options go to the device: packed=on,
#            mrg_rxbuf=off, event_idx=off, indirect_desc=off, disable-modern=on,
#            rx_queue_size=1024, tx_queue_size=1024, host_mtu=9000, ...
#   --vsock SOCK[,OPT=VAL...]            a vhost-user-vsock-pci device; the CID
#            is the back end's to tell
#   --device TYPE,SOCK[,OPT=VAL...]      any other, e.g. vhost-user-rng-pci
#   --server          QEMU listens on the sockets and waits for the back end
#   --reconnect SECS  QEMU tries again when the back end goes away
#   --plan / --plan-file   steps.sh lists them; `name:arg:arg` with commas on
#            the command line, `name arg arg` on the lines of a file
#   --host-cmd CMD    run on the host when the guest's plan reaches `ready`;
#            the boot fails if it fails. $QEMU_PID is in its environment
#   --boots N         the plan ends with `reboot` and must pass N times
#   --id N            tells guests of one test apart: MAC 52:54:00:77:0N:NIC
#   --arch arm64      the guest that mkarm64.sh built, on QEMU's `virt` board
#   --smp N, --mem MIB, --machine TYPE, --timeout SECS, --append KERNEL_ARGS
#   --qemu-arg ARG    one more QEMU argument (repeatable)
#   --show            print the QEMU command first
#   --enter           the serial line is the terminal, for plans with `shell`;
#                     no verdict is looked for
#
# Environment: GUEST_OUT (where mkinitrd.sh put kernel and initrd; made if
# missing), KERNEL, INITRD, QEMU (default the one get-qemu.sh brings), ACCEL
# (default tcg), CONSOLE (default ttyS0), NET_DEVICE (default virtio-net-pci),
# MEM_BACKEND (default memory-backend-memfd), PATIENCE (the time limits are
# multiplied by it on a slow or busy machine, default 1)
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
export GUEST_OUT=${GUEST_OUT:-$(realpath -m "$here/../../build/guest")}
accel=${ACCEL:-tcg}
net_device=${NET_DEVICE:-virtio-net-pci}

die() { echo "boot-linux: $*" >&2; exit 2; }

arch=x86_64 machine='' smp=1 mem=256 timeout=120 boots=1 id=1 chardev_opts=
append='' plan='' plan_file='' host_cmd='' show='' enter='' count=0 nics=0
devices=() extra=()

# Splits "SOCK,queues=N,rest" into sock, queues and rest (with its comma).
split() {
	local part
	sock=${1%%,*} queues=1 rest=
	[ "$sock" = "$1" ] && return
	while read -r -d, part; do
		case $part in
		queues=*) queues=${part#*=} ;;
		?*) rest+=,$part ;;
		esac
	done <<<"${1#*,},"
}

add_chardev() {
	count=$((count + 1))
	devices+=(-chardev "socket,id=chr$count,path=$1$chardev_opts")
}

add_net() {
	local mac mq=
	split "$1"
	add_chardev "$sock"
	nics=$((nics + 1))
	printf -v mac '52:54:00:77:%02x:%02x' "$id" "$nics"
	[ "$queues" = 1 ] || mq=,mq=on
	case $net_device$intx in
	*-pci) [ "$queues" = 1 ] || mq+=,vectors=$((2 * queues + 2)) ;;
	*-pci-intx) mq+=,vectors=0 ;;
	esac
	case $rest in *,mac=*) mac= ;; *) mac=,mac=$mac ;; esac
	devices+=(-netdev "vhost-user,id=net$count,chardev=chr$count,queues=$queues"
		-device "$net_device,netdev=net$count$mac$mq$rest")
}

add_device() {
	local type=${1%%,*}
	split "${1#*,}"
	add_chardev "$sock"
	devices+=(-device "$type,chardev=chr$count$rest")
}

# QEMU 7 without KVM crashes when a vhost-user-net device with MSI-X starts.
must_avoid_msix() {
	[ "$accel" != kvm ] && [ "$("$qemu" --version |
		sed -n '1s/.*version \([0-9]*\).*/\1/p')" -lt 8 ]
}

# The machine, its kernel and where they are; both make what is missing.
arch_x86_64() {
	qemu=${QEMU:-$("$here/get-qemu.sh" 2>/dev/null)}
	kernel=${KERNEL:-$GUEST_OUT/kernel}
	initrd=${INITRD:-$GUEST_OUT/initrd}
	machine=${machine:-q35}
	console=${CONSOLE:-ttyS0}
	[ -s "$initrd" ] || "$here/mkinitrd.sh" >/dev/null
}

arch_arm64() {
	[ -s "$GUEST_OUT/arm64/initrd" ] || "$here/mkarm64.sh" >/dev/null
	qemu=${QEMU:-$GUEST_OUT/qemu/qemu-system-aarch64}
	kernel=${KERNEL:-$GUEST_OUT/arm64/kernel}
	initrd=${INITRD:-$GUEST_OUT/arm64/initrd}
	machine=${machine:-virt}
	console=${CONSOLE:-ttyAMA0}
	extra+=(-cpu max,pauth-impdef=on -global virtio-net-pci.romfile=)
}

declare -a specs=()
while [ $# -gt 0 ]; do
	case $1 in
	--net|--vsock|--device) specs+=("$1" "$2"); shift ;;
	--server) chardev_opts=,server=on,wait=on ;;
	--reconnect) chardev_opts=,reconnect=$2; shift ;;
	--plan) plan=$2; shift ;;
	--plan-file) plan_file=$2; shift ;;
	--host-cmd) host_cmd=$2; shift ;;
	--boots) boots=$2; shift ;;
	--id) id=$2; shift ;;
	--arch) arch=$2; shift ;;
	--smp) smp=$2; shift ;;
	--mem) mem=$2; shift ;;
	--machine) machine=$2; shift ;;
	--timeout) timeout=$2; shift ;;
	--append) append=$2; shift ;;
	--qemu-arg) extra+=("$2"); shift ;;
	--show) show=1 ;;
	--enter) enter=1 ;;
	-h|--help) sed -n '2,/^set /p' "$0" | sed '$d; s/^# \?//'; exit 0 ;;
	*) die "unknown option $1 (try --help)" ;;
	esac
	shift
done
[ -n "$plan$plan_file" ] || die "no --plan (try --help)"
case $arch in
x86_64) arch_x86_64 ;;
arm64) arch_arm64 ;;
*) die "unknown architecture $arch (x86_64, arm64)" ;;
esac
intx=
! must_avoid_msix || intx=-intx
for ((i = 0; i < ${#specs[@]}; i += 2)); do
	case ${specs[i]} in
	--net) add_net "${specs[i + 1]}" ;;
	--vsock) add_device "vhost-user-vsock-pci,${specs[i + 1]}" ;;
	--device) add_device "${specs[i + 1]}" ;;
	esac
done

timeout=$((timeout * ${PATIENCE:-1}))
work=$(mktemp -d)
qemu_pid='' host_pid=''
cleanup() {
	if [ -n "$host_pid" ]; then kill -- "-$host_pid" 2>/dev/null || true; fi
	if [ -n "$qemu_pid" ]; then
		kill "$qemu_pid" 2>/dev/null || true
		wait "$qemu_pid" 2>/dev/null || true
	fi
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# The plan travels as a second archive behind the initramfs.
if [ -n "$plan_file" ]; then
	cp "$plan_file" "$work/plan"
else
	tr ',:' '\n ' <<<"$plan" >"$work/plan"
fi
(cat "$initrd"; cd "$work"; echo plan | cpio --quiet -o -H newc -R 0:0) \
	>"$work/initrd"

# What a kernel under emulation need not do to be a good driver. (Not
# tsc=reliable: measured while the machine was busy, the guest's clock may run
# several times too fast, and only the watchdog finds it out.)
quick="random.trust_cpu=on mitigations=off cryptomgr.notests"

# A machine that can never have a second CPU is emulated without memory barriers
# and atomics, as if nobody else looked at its memory: the driver and a back end
# in another process then miss each other's notifications. So allow two.
case $smp in *maxcpus=*) ;; 1) smp=1,maxcpus=2 ;; esac

command=("$qemu" -accel "$accel" -machine "$machine" -smp "$smp"
	-m "$mem" -nodefaults -no-user-config -display none -serial stdio
	-object "${MEM_BACKEND:-memory-backend-memfd},id=mem,size=${mem}M,share=on"
	-machine memory-backend=mem
	-kernel "$kernel" -initrd "$work/initrd"
	-append "console=$console quiet panic=-1 $quick $append"
	"${devices[@]}" "${extra[@]}")
[ "$boots" -gt 1 ] || command+=(-no-reboot)
[ -z "$show" ] || printf '%q ' "${command[@]}"

if [ -n "$enter" ]; then
	rc=0
	"${command[@]}" || rc=$?
	exit $rc
fi

# Reads the serial line until the verdict, and looks every two seconds whether
# the time is up or the host's command has failed.
mkfifo "$work/serial"
"${command[@]}" </dev/null >"$work/serial" 2>&1 &
qemu_pid=$!
start=$SECONDS passes=0 verdict='no verdict: QEMU ended' part=
exec 3<"$work/serial"
while true; do
	if [ $((SECONDS - start)) -ge "$timeout" ]; then
		verdict="no verdict within $timeout s"
		break
	fi
	rc=0
	IFS= read -r -t 2 line <&3 || rc=$?
	if [ $rc -gt 128 ]; then	# no whole line yet
		part+=$line
		[ -n "$host_pid" ] && ! kill -0 "$host_pid" 2>/dev/null || continue
		wait "$host_pid" && host_pid='' && continue
		verdict="the host command failed"
		break
	fi
	line=$part${line%$'\r'} part=
	if [ $rc != 0 ] && [ -z "$line" ]; then
		wait "$qemu_pid" || verdict+=", status $?"
		qemu_pid=
		break
	fi
	printf '%s\n' "$line"
	case $line in
	*GUEST-READY*)
		[ -n "$host_cmd" ] || continue
		QEMU_PID=$qemu_pid RIG=$GUEST_OUT/rig setsid bash -c "$host_cmd" 2>&1 3<&- &
		host_pid=$! ;;
	*GUEST-PASS*)
		passes=$((passes + 1))
		[ $passes -lt "$boots" ] || { verdict=pass; break; } ;;
	*GUEST-FAIL*) verdict=${line##*GUEST-FAIL}; break ;;
	esac
done
if [ "$verdict" = pass ] && [ -n "$host_pid" ]; then
	wait "$host_pid" || verdict="the host command failed"
	host_pid=
fi
echo "boot-linux: $verdict after $((SECONDS - start)) s"
[ "$verdict" = pass ]
