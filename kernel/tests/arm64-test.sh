#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the series for arm64 with Android's options and runs KUnit and all boot tests in it, on one processor and in
# virtual time; then the stress test on four processors in real time, which really run at the same time.
#
#   arm64-test.sh [LINE]        the kernel line, default 6.1
#
# The processors are emulated by qemu. Takes a quarter of an hour on two cores. Needs qemu-system-arm, cpio and, for the
# guest's programs, Debian's package archive. CACHE and JOBS as in check-series.sh, STRESS_ROUNDS and STRESS_SEED as in
# boot-test.sh. Status 0 only if all tests passed and the kernel logged no warning.

# shellcheck source=SCRIPTDIR/series/prelude.sh
. "$(dirname "$0")/series/prelude.sh"
start_with_line "$@"

for program in qemu-system-aarch64 cpio; do
	command -v "$program" >/dev/null || fail "$program is not installed"
done
kernel=$(cmd_build_arm64)
GUEST_USERLAND=$("$here/arm64/userland.sh" "$cache")
export GUEST_USERLAND
exec 8>&- # allow other builds during the tests

export BOOT_TEST_TIMEOUT_SECONDS=${BOOT_TEST_TIMEOUT_SECONDS:-3600}
cmd_kunit "$kernel"
"$here/boot-test.sh" "$kernel"
BOOT_TEST_CPUS=4 "$here/boot-test.sh" "$kernel" test_stress
echo "PASS: $line: KUnit, boot tests and the stress test on arm64"
