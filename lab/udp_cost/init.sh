#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Process 1 of cost.sh's guest: each phase sends the same datagrams over an interface, with and without the program.
#   dummy0   drops what it is given: the shortest way of a packet
#   wlan0    mac80211, with a simulated radio that nobody else hears; frames to a group, without a rate control of
#            stations or a block ack
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
finish() {
	echo "guest ends: $1"
	exec /power_off
}
trap 'finish "failed"' EXIT
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev 2>/dev/null || true
mount -t tmpfs run /run
ip link set dummy0 up
ip addr add 10.9.0.1/24 dev dummy0
iw dev wlan0 set type ibss
ip link set wlan0 up
iw dev wlan0 ibss join cost 2412
ip addr add 10.8.0.1/24 dev wlan0
ip route add 239.0.0.0/8 dev wlan0
until [ "$(cat /sys/class/net/wlan0/carrier)" = 1 ]; do sleep 0.1; done
sleep 5 # its first beacons, and IPv6 at both
phase=0
for interface in dummy0 wlan0; do
	to=10.9.0.2
	[ $interface = dummy0 ] || to=239.8.0.1
	for segments in 1 16; do
		# The kernel divides no buffer for an interface without checksums of its own, as this radio is (udp_send_skb).
		[ $interface = dummy0 ] || [ $segments = 1 ] || continue
		# shellcheck disable=SC2154  # of the kernel's command line
		for state in none again all app; do
			phase=$((phase + 1))
			case $state in
			all | app)
				/pace $interface $state /run/ready &
				pace=$!
				until [ -e /run/ready ]; do sleep 0.1; done
				;;
			esac
			/udp_work $phase $to "$DATAGRAMS" $segments
			case $state in
			all | app)
				kill -TERM "$pace"
				wait "$pace"
				rm /run/ready
				;;
			esac
			echo "work $phase $interface $segments $state"
		done
	done
done
trap - EXIT
finish "done"
