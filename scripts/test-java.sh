#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles and tests phone-agent/benchmark, in a folder of its own.
#   test-java.sh [--junit FILE] [ARGUMENT...]    FILE: all results as one; arguments are Maven's: -Dtest=RoundsTest

. "$(dirname "$0")/lib.sh"

junit=''
if [[ ${1:-} == --junit ]]; then
	junit=${2:?FILE is missing}
	shift 2
fi
root=$ROOT/build/checks/java
# Results of an earlier run must not count.
find "$root" -path '*/surefire-reports/TEST-*.xml' -delete 2>/dev/null || true
scripts/android-resources.sh "$root/android-resources"
code=0
maven -Dbuild.root="$root" -Dsurefire.failIfNoSpecifiedTests=false verify "$@" || code=$?
mapfile -t results < <(find "$root" -path '*/surefire-reports/TEST-*.xml' | sort)
if [[ -n $junit && ${#results[@]} -gt 0 ]]; then
	{
		echo '<testsuites>'
		sed '/^<?xml/d' "${results[@]}"
		echo '</testsuites>'
	} >"$junit"
fi
[[ $code -eq 0 ]] || exit "$code"
[[ ${#results[@]} -gt 0 ]] || die "no test ran"
echo "PASS: $(cat "${results[@]}" | grep -c '<testcase ') tests of Java"
