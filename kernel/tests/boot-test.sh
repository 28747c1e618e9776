#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boots a patched kernel with the tests of guest/ as its init, and says how many passed. The kernel is one for User Mode
# Linux, in virtual time, or an arm64 Image, in an emulator (arm64-test.sh).
#
#   boot-test.sh LINUX [TEST...]     TEST: test_window, test_window.Window.test_...;
#                                    of stress/ only those that are named
#
# BOOT_TEST_TIMEOUT_SECONDS (900) is of the host, BOOT_TEST_MEMORY (256M) of the
# guest. BOOT_TEST_SEED (1): the same seed is the same run, another one draws
# other ports, losses and windows to begin with. STRESS_ROUNDS and STRESS_SEED go
# to stress/test_stress.py. GUEST_USERLAND and BOOT_TEST_CPUS (1) are of an arm64 guest.
#
# Status 0 only if tests ran, none failed or was skipped, and the kernel said
# nothing alarming. The log of the guest goes to standard output.
set -euo pipefail

usage() {
	sed -n '4,18s/^# \{0,1\}//p' "$0"
}
case ${1:-} in
-h | --help)
	usage
	exit 0
	;;
'' | -*)
	usage >&2
	exit 2
	;;
esac
if [ ! -f "$1" ] || [ ! -x "$1" ]; then
	echo "boot-test.sh: '$1' is no kernel that can be run" >&2
	exit 2
fi
linux=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
tests=$(IFS=,; echo "$*")
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# shellcheck source=SCRIPTDIR/boot.sh
. "$here/boot.sh"

# What the kernel does not know of its command line is init's environment.
environment=("PYTHONPATH=$here/stress")
for name in STRESS_ROUNDS STRESS_SEED; do
	[ -z "${!name:-}" ] || environment+=("$name=${!name}")
done

boot_guest "$linux" "${BOOT_TEST_TIMEOUT_SECONDS:-900}" "${BOOT_TEST_MEMORY:-256M}" "${BOOT_TEST_SEED:-1}" "${tests:-all}" \
	"${environment[@]}" loglevel=7 | tee "$log" || true

fail() {
	echo "FAIL: $*" >&2
	exit 1
}
ran=$(sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p' "$log")
! grep -qE "$alarms" "$log" || fail "the kernel complained, see the log above"
[ -n "$ran" ] || fail "the tests did not come to an end"
[ "$ran" -gt 0 ] || fail "no test ran"
! grep -qE '\.\.\. skipped |\(.*skipped=[0-9]' "$log" || fail "a skipped test is not a passed one"
grep -q '^guest tests ended with status 0' "$log" || fail "of $ran tests"
echo "PASS: $ran tests in the guest"
