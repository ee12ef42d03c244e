# SPDX-License-Identifier: BSD-2-Clause
# The steps of a plan: the plan line `NAME ARGS` runs step_NAME ARGS.
# HOST below is an IPv4 address (TCP port 5001), `vsock` (CID 2, port 5001),
# `seqpacket` (CID 2, port 5002: the two share one space of ports), or any
# endpoint that rig knows, such as vsock:1:5001.
# N of virtioN counts all virtio devices in the order of their slots.

netns=		# how to enter the name space of the current step

# No word of IPv6 without being asked: a multicast frame for a device whose
# driver has no buffers yet would count as a dropped one.
quiet="echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"

up() { cut -d' ' -f1 /proc/uptime; }

endpoint() {
	case $1 in
	vsock) echo vsock:2:5001 ;;
	seqpacket) echo seqpacket:2:5002 ;;
	*:*) echo "$1" ;;
	*) echo "tcp:$1:5001" ;;
	esac
}

# --- how a step is run and reported -----------------------------------------

irq_counts() {
	awk '/virtio/ { n = 0; for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i
		print $NF, n }' /proc/interrupts
}

# One line: the interrupts that each virtqueue raised during the step.
irq_report() {
	irq_counts >/tmp/irq.now
	awk 'NR == FNR { was[$1] = $2; next }
		$2 > was[$1] { s = s " " $1 "=" ($2 - was[$1]) }
		END { if (s) print "GUEST-IRQ" s }' /tmp/irq.was /tmp/irq.now |
		tee /tmp/irq.delta
}

rig_step() {
	local name=$1 rc=0 t0
	[ "$name" = spread ] || irq_counts >/tmp/irq.was
	t0=$(up)
	shift
	if ! type "step_$name" >/dev/null; then
		echo "GUEST-NOTE no such step: $name"
		return 1
	fi
	"step_$name" "$@" || rc=$?
	[ "$name" = spread ] || irq_report
	echo "GUEST-STEP $([ $rc = 0 ] && echo ok || echo "FAILED($rc)")" \
		"$(echo "$t0 $(up)" | awk '{ printf "%.2fs", $2 - $1 }') $name $*"
	return $rc
}

# One line per device: its type and the feature bits that were negotiated.
rig_describe() {
	local d
	for d in /sys/bus/virtio/devices/*; do
		[ -e "$d" ] || continue
		echo "GUEST-DEVICE ${d##*/} type=$(($(cat $d/device)))" \
			"driver=$(basename "$(readlink $d/driver || echo none)")" \
			"status=$(cat $d/status) features=$(awk '{
			for (i = 1; i <= length($0); i++)
				if (substr($0, i, 1) == "1")
					s = s (s == "" ? "" : ",") i - 1
			print s }' $d/features)"
	done
}

rig_post_mortem() {
	echo "--- post mortem"
	rig_describe
	ip -s link
	cat /proc/interrupts | grep -E 'CPU|virtio'
	dmesg | tail -20
	cat /tmp/serve*.log 2>/dev/null
}

# --- interfaces -------------------------------------------------------------

# net IF CIDR [MTU]: sets an address and waits for the link.
step_net() {
	[ -z "$3" ] || $netns ip link set "$1" mtu "$3" || return
	$netns ip link set "$1" up && $netns ip addr add "$2" dev "$1" &&
		step_carrier "$1"
}

# ns NAME IF CIDR [MTU]: the same in a network name space of its own, so that
# two devices of one guest must talk through the back end.
step_ns() {
	unshare -n sleep 100000 &
	local pid=$! name=$1
	while [ "$(readlink /proc/$pid/ns/net)" = "$(readlink /proc/1/ns/net)" ]
	do sleep 0.05; done
	echo $pid >/tmp/ns.$name
	nsenter -n -t $pid sh -c "$quiet"
	ip link set "$2" netns $pid || return
	shift
	step_in $name net "$@"
}

# in NAME STEP...: runs a step in that name space.
step_in() {
	local rc=0 step=$2
	netns="nsenter -n -t $(cat /tmp/ns.$1)"
	shift 2
	"step_$step" "$@" || rc=$?
	netns=
	return $rc
}

# carrier IF [SECS], nocarrier IF [SECS]: waits for the link to be up, or down.
link_up() { $netns ip link show dev "$1" | grep -q LOWER_UP; }
step_carrier() {
	local n=$((${2:-10} * 10))
	until link_up "$1"; do
		n=$((n - 1))
		[ $n -gt 0 ] || { echo "$1 has no carrier"; return 1; }
		sleep 0.1
	done
}
step_nocarrier() {
	local n=$((${2:-10} * 10))
	while link_up "$1"; do
		n=$((n - 1))
		[ $n -gt 0 ] || { echo "$1 still has a carrier"; return 1; }
		sleep 0.1
	done
}

# mtu IF BYTES, updown IF [COUNT], offload IF FEATURE on|off, features IF
step_mtu() { $netns ip link set "$1" mtu "$2"; }
step_updown() {
	local n=${2:-1}
	while [ $n -gt 0 ]; do
		$netns ip link set "$1" down && $netns ip link set "$1" up ||
			return
		n=$((n - 1))
	done
	step_carrier "$1"
}
step_offload() { $netns ethtool -K "$1" "$2" "$3"; }
step_features() {
	$netns ethtool -i "$1"
	$netns ethtool -k "$1" | grep -E ': on|fixed' | grep -v 'off \[fixed'
	$netns ethtool -g "$1"
	$netns ethtool -l "$1"
	$netns ethtool -S "$1"
	return 0
}

# ip6 IF CIDR: an IPv6 address, usable at once.
step_ip6() {
	$netns sh -c "cd /proc/sys/net/ipv6/conf/$1 &&
		echo 0 >accept_dad && echo 0 >disable_ipv6"
	$netns ip -6 addr add "$2" dev "$1"
}

# offloads_off IF HOST BYTES: turns off what `ethtool -k` lets us turn off, one
# after the other, and moves BYTES each way after every change.
step_offloads_off() {
	local f n=0
	for f in $($netns ethtool -k "$1" | sed -n '/fixed/d
		s/^[ \t]*\(tx-[^:]*\|rx-[^:]*\|scatter-gather\|[^:]*-offload\): on.*/\1/p')
	do
		step_offload "$1" "$f" off || continue
		n=$((n + 1))
		echo "without $f"
		step_send "$2" "$3" && step_recv "$2" "$3" || return
	done
	echo "turned off: $n"
	[ $n -ge 3 ]
}

# mq IF N: N queue pairs. spread N QUEUES: in the step before, at least QUEUES
# receive queues of virtioN raised interrupts.
step_mq() {
	$netns ethtool -L "$1" combined "$2" &&
		[ "$($netns ethtool -l "$1" | awk '/^Combined/ { n = $2 }
			END { print n }')" = "$2" ]
}
step_spread() {
	local used=$(tr ' ' '\n' </tmp/irq.delta | grep -c "^virtio$1-input")
	echo "receive queues with interrupts: $used"
	[ "$used" -ge "$2" ]
}

# unused IF FIRST: for two seconds of somebody's traffic no packet comes in by
# receive queue FIRST or a later one, while the queues before it do get some.
rx_packets() {
	$netns ethtool -S "$1" | awk -v first="$2" '
		/rx_queue_[0-9]+_packets|rx[0-9]+_packets/ {
			q = $1; gsub(/[^0-9]/, "", q)
			if (q + 0 < first) low += $2; else high += $2 }
		END { print low + 0, high + 0 }'
}
step_unused() {
	set -- "$1" "$2" $(rx_packets "$1" "$2")
	sleep 2
	set -- $3 $4 $(rx_packets "$1" "$2")
	echo "before queue: +$(($3 - $1)), from it on: +$(($4 - $2))"
	[ "$3" -gt "$1" ] && [ "$4" = "$2" ]
}

# has N BIT, hasnt N BIT: what was negotiated, not what was asked for.
bit() { cut -c$(($2 + 1)) "/sys/bus/virtio/devices/virtio$1/features"; }
step_has() { [ "$(bit "$1" "$2")" = 1 ]; }
step_hasnt() { [ "$(bit "$1" "$2")" = 0 ]; }

# --- traffic ----------------------------------------------------------------

# ping HOST [COUNT [BYTES]]: as soon as the last was answered; none may be lost.
step_ping() {
	$netns ping -q -A -c "${2:-10}" -s "${3:-56}" -w 30 "$1" >/tmp/ping.log ||
		{ cat /tmp/ping.log; return 1; }
	grep -E 'loss|round' /tmp/ping.log
	grep -q ' 0% packet loss' /tmp/ping.log
}

# await HOST [SECS]: until the peer answers.
step_await() {
	local n=${2:-30}
	until $netns ping -q -c 1 -W 1 "$1" >/dev/null; do
		n=$((n - 1))
		[ $n -gt 0 ] || { echo "no answer from $1"; return 1; }
	done
}

# serve [ENDPOINT...]: starts the server. hold [SECS]: waits until a peer has
# told it to quit; fails if it saw a wrong byte.
servers=0
step_serve() {
	local log n=0
	servers=$((servers + 1))
	log=/tmp/serve$servers.log
	[ $# -gt 0 ] || set -- tcp::5001 udp::5001
	$netns rig serve 3600 "$@" >$log &
	echo $! >/tmp/serve.pid
	until grep -q 'serve: ready' $log; do
		n=$((n + 1))
		[ $n -lt 50 ] || { cat $log; return 1; }
		sleep 0.1
	done
}
step_hold() {
	local rc=0
	wait $(cat /tmp/serve.pid) || rc=$?
	tail -3 /tmp/serve$servers.log
	return $rc
}
step_quit() { $netns rig quit "$(endpoint "$1")"; }

# digest HOST BYTES: a random file each way, its SHA-256 compared at both ends.
# The peer runs digest_serve (or digest.sh serve).
step_digest() { $netns sh /rig/digest.sh "$@"; }
step_digest_serve() {
	$netns sh /rig/digest.sh serve "$1" &
	sleep 0.2
}

# bg STEP...: starts a step and goes on. join: waits for the last one started
# by bg and fails if it failed. finish: the same for an rr, which ends now (and
# so does every other rig of this guest).
step_bg() {
	( "step_$@" ) >/tmp/bg.log 2>&1 &
	echo $! >/tmp/bg.pid
}
step_join() {
	local rc=0
	wait "$(cat /tmp/bg.pid)" || rc=$?
	cat /tmp/bg.log
	return $rc
}

step_finish() {
	killall -TERM rig && step_join
}

# send|recv|both|half HOST BYTES [CHUNK [SLEEP_MS]], rr HOST CONNECTIONS BYTES
# SECONDS [BURST [MAX_MS]], churn HOST COUNT, records HOST COUNT [MAX],
# refused ENDPOINT, sweep IP FROM TO [STEP] (UDP payload lengths): see
# src/client.c.
for verb in send recv both half rr churn records refused; do
	eval "step_$verb() {
		local host=\$1
		shift
		\$netns rig $verb \"\$(endpoint \$host)\" \"\$@\"
	}"
done
step_sweep() {
	local host=$1
	shift
	$netns rig udpsweep "udp:$host:5001" "$@"
}
step_rig() { $netns rig "$@"; }

# pktgen IF DST_IP DST_MAC BYTES COUNT [BURST]: the kernel's packet generator,
# for the highest packet rate this guest can offer.
step_pktgen() {
	local p=/proc/net/pktgen
	echo rem_device_all >$p/kpktgend_0
	echo "add_device $1" >$p/kpktgend_0
	for set in "dst $2" "dst_mac $3" "pkt_size $4" "count $5" "delay 0" \
		"burst ${6:-1}" "clone_skb 0"; do
		echo "$set" >$p/$1
	done
	echo start >$p/pgctrl
	grep -A1 Result $p/$1
	grep -q 'Result: OK' $p/$1
}

# rng BYTES: reads from the virtio entropy device.
step_rng() {
	grep -q virtio /sys/class/misc/hw_random/rng_current &&
		[ "$(head -c "$1" /dev/hwrng | wc -c)" = "$1" ]
}

# --- life cycle -------------------------------------------------------------

# reload [COUNT]: takes the driver out and puts it back, which resets every
# virtio-net device; addresses must be set again. rebind N [COUNT]: one device.
step_reload() {
	local n=${1:-1}
	while [ $n -gt 0 ]; do
		rmmod virtio_net && insmod /modules/virtio_net.ko || return
		n=$((n - 1))
	done
}
step_rebind() {
	local n=${2:-1} d=/sys/bus/virtio/devices/virtio$1 drv
	drv=$(readlink -f $d/driver)
	while [ $n -gt 0 ]; do
		echo "virtio$1" >$drv/unbind && echo "virtio$1" >$drv/bind ||
			return
		n=$((n - 1))
	done
}
step_vsock_reload() {
	rmmod vmw_vsock_virtio_transport &&
		insmod /modules/vmw_vsock_virtio_transport.ko
}
# reboot: after the verdict the guest reboots and runs the plan again.
step_reboot() { : >/tmp/reboot; }
# ready: tells boot-linux.sh to run its --host-cmd now.
step_ready() { echo GUEST-READY; }
step_sleep() { sleep "$1"; }
step_describe() { rig_describe; }
step_not() { local s=$1; shift; ! "step_$s" "$@"; }
# shell: a prompt on the console, for people; the plan goes on when it ends.
step_shell() {
	echo "A shell in the guest; exit ends it, poweroff -f ends the guest."
	PS1='guest# ' setsid cttyhack sh
}
# sh COMMAND...: whatever is missing above.
step_sh() { $netns sh -c "$*"; }
