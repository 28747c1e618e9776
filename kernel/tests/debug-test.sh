#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the series with the kernel's debugging options (debug/) and runs all boot tests in it, then the stress tests:
# random transactions, concurrent use, and each allocation of a transaction failing once.
#
#   debug-test.sh [LINE]        the kernel line, default 6.1
#
# Takes half an hour on two cores, most of it for the build, which is cached. CACHE and JOBS as in check-series.sh,
# STRESS_ROUNDS and STRESS_SEED as in boot-test.sh. Status 0 only if all tests passed and the kernel logged no warning.

# shellcheck source=SCRIPTDIR/series/prelude.sh
. "$(dirname "$0")/series/prelude.sh"
start_with_line "$@"

uml_fragments+=("$here/debug/debug.config" "$here/debug/$line.config")
prepare_debug() { # TREE
	apply_all "$1"
	apply_patch "$1" "$here/debug/$line.patch"
}
kernel=$(kernel_of debug prepare_debug)
exec 8>&- # allow other builds during the tests

# The sanitizers need memory for their tables and time for their checks.
export BOOT_TEST_MEMORY=${BOOT_TEST_MEMORY:-1G} BOOT_TEST_TIMEOUT_SECONDS=${BOOT_TEST_TIMEOUT_SECONDS:-3600}
cmd_kunit "$kernel"
"$here/boot-test.sh" "$kernel"
"$here/boot-test.sh" "$kernel" test_stress test_failing_allocations
echo "PASS: $line: KUnit, boot tests and stress tests under the debug kernel"
