#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The module on a simulated phone that runs the lab's kernel, in User Mode Linux and in virtual time: installed by a
# manager's installer, started by its service.sh, bounds in force in the kernel, the agent killed and started again, the
# module removed (guest.sh). arm64-test.sh does the same on an emulated arm64 machine.
#   uml-test.sh [SHELL]        SHELL: mksh or ash (the default)
#
# Needs root, as phone.sh does, and builds the lab's kernel if it is not in the cache.

. "$(dirname "$0")/../../../scripts/lib.sh"
use_go
here="phone-agent/android/tests"
shell=${1:-ash}
work=$(mktemp -d)
trap 'report_failure; rm -rf "$work"' EXIT

files() {
	scripts/module.sh --output "$work/packages"
	"$here/phone.sh" make "$work/phone" "$shell" x64
	cp "$work"/packages/*.zip "$work/phone/data/local/tmp/module.zip"
	CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -o "$work/phone/system/bin/controller" "./$here/controller"
	cp "$here/guest.sh" "$work/phone/init"
}

boot() {
	timeout "${BOOT_TEST_TIMEOUT_SECONDS:-900}" setarch -R "$kernel" mem=512M root=none rootfstype=hostfs \
		"rootflags=$work/phone" rw init=/init con=null con0=fd:0,fd:1 ssl=null \
		time-travel=inf-cpu time-travel-start=1800000000000000000 norandmaps airbound_seed=1 </dev/null 2>&1 |
		tr -d '\r' | tee "$work/log" || true
	# shellcheck source=kernel/tests/boot.sh
	. kernel/tests/boot.sh # alarms
	! grep -E "$alarms" "$work/log" || die "the kernel logged a warning, see above"
	grep -qx 'phone: PASS' "$work/log" || die "the phone did not pass, see above"
}

kernel=$(lab/kernel/build.sh | tail -n 1)
step "files" files
step "phone with $shell" boot
echo "PASS: the module with the lab's kernel and $shell"
