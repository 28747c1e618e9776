#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A phone's user space simulated in a directory: Android's layout, its shell or BusyBox's, and stand-ins for the
# managers of modules, in namespaces of its own for mounts and processes. Needs root, and mksh and busybox-static of
# Debian.
#   phone.sh make DIR SHELL ARCH         SHELL: mksh (Android's own) or ash (BusyBox's, which managers use)
#   phone.sh boot DIR                    in the network namespace of the caller
#   phone.sh install DIR ZIP MANAGER     MANAGER: magisk or kernelsu
#   phone.sh run DIR COMMAND             a command line for the phone's shell
#   phone.sh off DIR                     as if the battery was taken out

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

fail() {
	echo "phone.sh: $*" >&2
	exit 1
}

# The static build, since a phone has not Debian's libraries.
mksh=/usr/lib/x86_64-linux-musl/bin/mksh
busybox=/bin/busybox
# What goes onto the phone: for another architecture, that of PHONE_BUSYBOX.
on_phone=${PHONE_BUSYBOX:-$busybox}

make() { # SHELL ARCH
	local applet
	[[ -x $mksh ]] || fail "$mksh is missing: install mksh"
	[[ -x $busybox ]] || fail "$busybox is missing: install busybox-static"
	mkdir -p "$root"/{system/bin,proc,sys,dev,data/local/tmp,data/adb/{modules,modules_update,magisk}}
	chmod 700 "$root/data/adb"
	ln -s system/bin "$root/bin"
	cp "$on_phone" "$root/system/bin/busybox"
	for applet in $("$busybox" --list | grep -vx busybox); do
		ln -s busybox "$root/system/bin/$applet"
	done
	if [[ $1 == mksh ]]; then
		rm "$root/system/bin/sh"
		cp "$mksh" "$root/system/bin/sh"
	fi
	echo "$2" >"$root/arch"
	cp "$here/managers/util_functions.sh" "$root/data/adb/magisk/"
	cp "$here/managers/install.sh" "$here/managers/boot.sh" "$root/system/bin/"
}

boot() {
	[[ ! -e $root.pid ]] || fail "$root runs already"
	# shellcheck disable=SC2016  # for the inner shell
	unshare --mount --pid --fork --kill-child --propagation private bash -euc '
		cd "$1"
		mount -t tmpfs phone dev
		for each in null zero urandom; do
			touch "dev/$each"
			mount --bind "/dev/$each" "dev/$each"
		done
		mount -t proc proc proc
		mount -t sysfs sysfs sys
		# shellcheck disable=SC2086  # several assignments
		exec chroot . /system/bin/env -i PATH=/system/bin ANDROID_DATA=/data ${BOOT_ENVIRONMENT:-} \
			/system/bin/sh /system/bin/boot.sh' phone "$root" </dev/null >"$root.log" 2>&1 &
	local outer=$! tries seen
	disown
	for tries in $(seq 200); do
		if pgrep -P "$outer" >"$root.pid"; then
			seen=/proc/$(<"$root.pid")/root
			[[ ! -e $seen/dev/booted ]] || return 0
		fi
		kill -0 "$outer" 2>/dev/null || break
		sleep 0.1
	done
	rm -f "$root.pid"
	fail "it does not boot ($tries): $(cat "$root.log")"
}

run() { # COMMAND
	[[ -e $root.pid ]] || fail "$root does not run"
	nsenter --target "$(<"$root.pid")" --mount --pid --root --wd=/ \
		/system/bin/env -i PATH=/system/bin ANDROID_DATA=/data /system/bin/sh -c "$1"
}

install() { # ZIP MANAGER
	cp "$1" "$root/data/local/tmp/module.zip"
	run "sh /system/bin/install.sh '$2' /data/local/tmp/module.zip"
	rm "$root/data/local/tmp/module.zip"
}

off() {
	[[ -e $root.pid ]] || return 0
	local init
	init=$(<"$root.pid")
	kill -KILL "$init" 2>/dev/null || true
	while kill -0 "$init" 2>/dev/null; do sleep 0.05; done
	rm -f "$root.pid"
}

command=${1:-} root=${2:-}
[[ -n $root ]] || fail "usage: see the comment at the beginning"
shift 2
case $command in
make | boot | run | install | off) "$command" "$@" ;;
*) fail "no command '$command'" ;;
esac
