#!/system/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Process 1 of the phone of arm64-test.sh and uml-test.sh: installs the module as a manager does, boots it, and tests
# what is in force in the kernel. Its last line says whether all was as expected.

module=/data/adb/modules/airbound
data=/data/adb/airbound
rules=/proc/net/tcp_cwnd_bounds
wanted="all 10 20"

PATH=/system/bin
export PATH
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tracefs tracefs /sys/kernel/tracing
exec </dev/console >/dev/console 2>&1
ip link set lo up

finish() {
	echo "phone: $1"
	[ ! -e "$data/log" ] || sed 's/^/log: /' "$data/log"
	sync
	poweroff -f
}

# eventually WHAT COMMAND...: within 60 s of virtual time.
eventually() {
	what=$1
	shift
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || finish "FAIL: never: $what; rules: $(cat "$rules")"
		sleep 0.1
	done
	echo "phone: $what"
}

in_force() { [ "$(cat "$rules")" = "$wanted" ]; }

none_in_force() { [ -z "$(cat "$rules")" ]; }

is_another_agent() { [ -s "$data/run/agent.pid" ] && [ "$(cat "$data/run/agent.pid")" != "$1" ] && in_force; }

boot() {
	rm -f /dev/booted
	sh /system/bin/boot.sh &
	eventually "booted" test -e /dev/booted
}

uname -a
controller 127.0.0.1:50051 10 20 &
sh /system/bin/install.sh magisk /data/local/tmp/module.zip || finish "FAIL: installation"
printf '%s\n' "controller = 127.0.0.1:50051" "plain-text = true" "mac = 02:00:00:00:01:0a" "heartbeat = 1s" \
	>"$data/airbound.conf"
boot
eventually "bounds in force" in_force
"$module/airbound" doctor || finish "FAIL: doctor"
"$module/airbound" status
"$module/airbound" status | grep 'starts       seen at once' >/dev/null || finish "FAIL: no trace events"
# Longer than the lease: it is renewed.
sleep 20
in_force || finish "FAIL: the bounds ended"

before=$(cat "$data/run/agent.pid")
kill -KILL "$before"
eventually "no bounds of an agent that was killed" none_in_force
eventually "another agent, bounds in force" is_another_agent "$before"
ls /sys/kernel/tracing/instances

touch "$module/remove"
boot
none_in_force || finish "FAIL: rules after the removal: $(cat "$rules")"
if [ -e "$data" ] || [ -e "$module" ]; then
	finish "FAIL: files after the removal"
fi
[ -z "$(ls /sys/kernel/tracing/instances)" ] || finish "FAIL: an instance of tracing after the removal"
# shellcheck disable=SC2009  # this BusyBox has no pgrep
! ps | grep '[a]irbound' || finish "FAIL: processes after the removal"
finish "PASS"
