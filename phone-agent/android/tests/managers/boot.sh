#!/system/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Process 1 of a simulated phone, with what a manager does at a boot: installs updates, removes what is to be removed,
# and runs the modules' service.sh.

cd /data/adb || exit
for each in modules_update/*; do
	[ -d "$each" ] || continue
	rm -rf "modules/${each##*/}"
	mv "$each" modules/
done
for each in modules/*; do
	[ -e "$each/remove" ] || continue
	[ ! -f "$each/uninstall.sh" ] || sh "/data/adb/$each/uninstall.sh"
	rm -rf "$each"
done
for each in modules/*; do
	if [ -f "$each/service.sh" ] && [ ! -e "$each/disable" ]; then
		sh "/data/adb/$each/service.sh" &
	fi
done
touch /dev/booted
# Waits for the children of others, too, as process 1 must.
while :; do
	sleep 1
done
