#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# PID 1 of the User Mode Linux guest: makes it habitable, runs the tests named
# on the kernel command line (airbound.tests=: names, "all", "none" for a boot
# alone, "flow,CC,RTT_MS" for flow.py) and powers off. The host's file system is
# the root, read-only.
set -uo pipefail

mount -t proc proc /proc
mount -t sysfs sysfs /sys
# The host's /tmp stays visible: these files may be in there.
mount -t tmpfs tmpfs /run
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/run TMPDIR=/run PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
ip link set lo up

here=$(cd "$(dirname "$0")" && pwd)
tests=$(sed -n 's/.*airbound\.tests=\([^ ]*\).*/\1/p' /proc/cmdline)
cd "$here" || exit 1
if [[ "$tests" = flow,* ]]; then
	IFS=, read -r _ cc rtt_ms <<<"$tests"
	python3 flow.py "$cc" "$rtt_ms"
elif [ "$tests" != none ]; then
	[ "$tests" != all ] || tests=
	# shellcheck disable=SC2086  # several names separated by commas
	python3 -m unittest -v ${tests//,/ } 2>&1
	echo "guest tests ended with status $?"
	# Under debug/debug.config: what the tests left behind. It wants to see an object lost twice.
	mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
	if [ -e /sys/kernel/debug/kmemleak ]; then
		for _ in first second; do
			sleep 6
			echo scan >/sys/kernel/debug/kmemleak
		done
		echo "kmemleak scanned"
		cat /sys/kernel/debug/kmemleak
	fi
fi
echo "guest powers off"
sync
# Not every Debian has poweroff(8). LINUX_REBOOT_CMD_POWER_OFF of reboot(2).
python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'
