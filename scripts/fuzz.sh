#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Feeds each fuzz target of some packages with inputs for a moment; CONTRIBUTING.md shows how to search for longer.
#   fuzz.sh PACKAGE...    FUZZ_INPUTS (20000) is the number of inputs for each target, SEED (1) that of the mutations
# By number of inputs, not by time: a deadline that falls into a busy moment counts as a failure of the target. What
# earlier runs found interesting is not used: the same seed gives the same inputs.

. "$(dirname "$0")/lib.sh"
use_go

inputs=${FUZZ_INPUTS:-20000}
# internal/fuzz/pcg.go; one worker, since workers' mutations depend on how they take turns.
export GODEBUG=fuzzseed=${SEED:-1}
# In memory, if there is a place: some targets write and sync a file for each input.
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
export TMPDIR=$work
trap 'report_failure; rm -rf "$work"' EXIT

found=0
for package in "$@"; do
	# Built once for all targets of the package; -fuzz has the compiler count what each input reaches.
	go test -c -trimpath -fuzz . -o "$work/tests" "$package"
	while read -r target; do
		found=$((found + 1))
		echo "$package $target"
		(cd "$package" && "$work/tests" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "${inputs}x" \
			-test.parallel 1 -test.fuzzcachedir "$work/corpus" 2>&1) | grep -v '^fuzz: elapsed'
	done < <("$work/tests" -test.list '^Fuzz')
done
[[ $found -gt 0 ]] || die "found no fuzz target in $*"
echo "PASS: $found fuzz targets, $inputs inputs each, seed ${SEED:-1}"
