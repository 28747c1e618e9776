#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boots a patched kernel with the tests of guest/ as its init and reports how many passed. The kernel is one for User
# Mode Linux, in virtual time, or an arm64 Image, in an emulator (arm64-test.sh).
#
#   boot-test.sh LINUX [TEST...]          TEST: test_window, test_window.Window.test_...;
#                                         tests of stress/ run only if named
#   boot-test.sh --line LINE [TEST...]    the same with the kernel of that line's series (check-series.sh build)
#
# BOOT_TEST_TIMEOUT_SECONDS (900) is host time, BOOT_TEST_MEMORY (256M) the memory of the guest. BOOT_TEST_SEED (1) is
# the seed of all randomness, so of ports, losses and random numbers in TCP; the same seed gives the same run.
# STRESS_ROUNDS and STRESS_SEED are passed to stress/test_stress.py. GUEST_USERLAND and BOOT_TEST_CPUS (1) are for an
# arm64 guest.
#
# Status 0 only if tests ran, none failed or was skipped, and the kernel logged no warning. The log of the guest goes to
# standard output.

# shellcheck source=SCRIPTDIR/series/prelude.sh
. "$(dirname "$0")/series/prelude.sh"

case ${1:-} in
-h | --help)
	print_help
	exit 0
	;;
--line)
	line=${2:?LINE is missing}
	linux=$("$here/check-series.sh" --line "$line" build)
	set -- "$linux" "${@:3}"
	;;
'' | -*)
	print_help >&2
	exit 2
	;;
esac
if [ ! -f "$1" ] || [ ! -x "$1" ]; then
	echo "boot-test.sh: '$1' is not an executable kernel" >&2
	exit 2
fi
linux=$1
shift
tests=$(IFS=,; echo "$*")
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The kernel passes unknown parameters of its command line to init as environment.
environment=("PYTHONPATH=$here/stress")
for name in STRESS_ROUNDS STRESS_SEED; do
	[ -z "${!name:-}" ] || environment+=("$name=${!name}")
done

boot_guest "$linux" "${BOOT_TEST_TIMEOUT_SECONDS:-900}" "${BOOT_TEST_MEMORY:-256M}" "${BOOT_TEST_SEED:-1}" \
	"${tests:-all}" "${environment[@]}" loglevel=7 | tee "$log" || true

ran=$(sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p' "$log")
! grep -qE "$alarms" "$log" || fail "the kernel logged a warning, see the log above"
[ -n "$ran" ] || fail "the tests did not finish"
[ "$ran" -gt 0 ] || fail "no test ran"
! grep -qE '\.\.\. skipped |\(.*skipped=[0-9]' "$log" || fail "a test was skipped"
grep -q '^guest tests ended with status 0' "$log" || fail "at least one of $ran tests failed"
echo "PASS: $ran tests in the guest"
