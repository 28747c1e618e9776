#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The module on an emulated arm64 phone with the patched kernel: installed by a manager's installer, started by its
# service.sh, bounds in force in the kernel, the agent killed and started again, the module removed. In virtual time.
#   arm64-test.sh [LINE]        the kernel line, default 6.1
#
# Part of `make test-series`. The kernel is that of kernel/tests/arm64-test.sh, from the same cache (CACHE). Needs
# qemu-system-arm, cpio and Debian's archive, for a BusyBox of arm64. Status 0 only if all was as expected and the
# kernel logged no warning.

. "$(dirname "$0")/../../../scripts/lib.sh"
use_go
here="phone-agent/android/tests"
cache=${CACHE:-$CACHE_DIR/kernel}
line=${1:-6.1}
kernel=$(CACHE=$cache kernel/tests/check-series.sh --line "$line" build-arm64)
# shellcheck source=kernel/tests/boot.sh
. kernel/tests/boot.sh # alarms

work=$(mktemp -d)
trap 'report_failure; rm -rf "$work"' EXIT

programs() {
	scripts/module.sh --output "$work/packages"
	CGO_ENABLED=0 GOARCH=arm64 go build -trimpath -tags grpcnotrace -o "$work/controller" "./$here/controller"
	local userland
	userland=$(kernel/tests/arm64/userland.sh "$cache" busybox-static)
	(cd "$work" && cpio --quiet -id bin/busybox <"$userland")
}

# The phone's files, all in memory.
files() {
	PHONE_BUSYBOX=$work/bin/busybox "$here/phone.sh" make "$work/phone" ash arm64
	cp "$work"/packages/*.zip "$work/phone/data/local/tmp/module.zip"
	cp "$work/controller" "$work/phone/system/bin/controller"
	cp "$here/guest.sh" "$work/phone/init"
	(cd "$work/phone" && find . -print0 | LC_ALL=C sort -z | cpio --quiet -0 -o -H newc -R 0:0) >"$work/files"
}

boot() {
	timeout "${BOOT_TEST_TIMEOUT_SECONDS:-3600}" qemu-system-aarch64 -M virt -cpu cortex-a76 -m 1G \
		-accel tcg,thread=single -icount shift=0,sleep=off -seed 1 -rtc base=2027-01-01,clock=vm \
		-nodefaults -no-user-config -display none -no-reboot -serial stdio \
		-kernel "$kernel" -initrd "$work/files" -append "console=ttyAMA0 panic=-1 rdinit=/init" </dev/null 2>&1 |
		tr -d '\r' | tee "$work/log"
	! grep -E "$alarms" "$work/log" || die "the kernel logged a warning, see above"
	grep -qx 'phone: PASS' "$work/log" || die "the phone did not pass, see above"
}

step "module, controller, BusyBox" programs
step "files" files
step "phone with Linux $line on arm64" boot
echo "PASS: the module on arm64 with Linux $line"
