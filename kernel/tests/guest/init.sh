#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# PID 1 of the guest: mounts file systems, runs the tests of the kernel command line (airbound.tests=: names, "all",
# "none" for a boot without tests, "flow,CC,RTT_MS" for flow.py) and powers off. In User Mode Linux, the root is the
# host's file system, read-only.
set -uo pipefail

mount -t proc proc /proc
mount -t sysfs sysfs /sys
# The host's /tmp stays visible because it may contain these files.
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
	# With debug/debug.config: memory that the tests leaked. kmemleak reports an object after the second scan.
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
# Not every Debian system has poweroff(8). LINUX_REBOOT_CMD_POWER_OFF of reboot(2).
python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'
