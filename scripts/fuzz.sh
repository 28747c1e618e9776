#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Feeds each fuzz target of some packages with inputs for a moment; CONTRIBUTING.md shows how to search for longer.
#   fuzz.sh PACKAGE...    FUZZ_INPUTS (20000) is the number of inputs for each target, SEED (1) that of the mutations
# By number of inputs, not by time: a deadline that falls into a busy moment counts as a failure of the target. What
# earlier runs found interesting is not used.
#
# Packages that passed with the same sources, seed and number of inputs are not fuzzed again; KEEP=no does so in any
# case. If nothing was fuzzed, the key is written to the file CHECK_KEPT, if there is one (scripts/check-step.sh).

. "$(dirname "$0")/lib.sh"
use_go

inputs=${FUZZ_INPUTS:-20000}
kept=$CACHE_DIR/fuzz

# key_of PACKAGE...: a hash of all that decides: sources of the packages and of those that they import, at any depth,
# with their tests' data; the modules' versions; the compiler; how much is drawn.
key_of() {
	local directories
	directories=$(go list -deps -test -f '{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}' "$@" | sort -u)
	(
		printf '%s\n' "$*" "$inputs" "${SEED:-1}"
		go env GOVERSION GOARCH
		sha256sum go.mod go.sum scripts/fuzz.sh
		while read -r directory; do
			(cd "$directory" && echo "${directory#"$ROOT"}" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
		done <<<"$directories"
	) | sha256sum | cut -c1-16
}

record=$kept/$(key_of "$@")
if [[ -e $record && ${KEEP:-} != no ]]; then
	touch "$record"
	[[ -z ${CHECK_KEPT:-} ]] || basename "$record" >"$CHECK_KEPT"
	# Only the line that a run shows says so: what a fuzzed target printed is gone.
	echo "$(<"$record"); passed at $(basename "$record"), kept"
	exit 0
fi
rm -f "$record"

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
passed="PASS: $found fuzz targets, $inputs inputs each, seed ${SEED:-1}"
if [[ $kept/$(key_of "$@") == "$record" ]]; then
	mkdir -p "$kept"
	find "$kept" -type f -mtime +30 -delete
	echo "$passed" >"$record.$$" && mv "$record.$$" "$record"
else
	echo "not kept: a source changed while the targets ran" >&2
fi
echo "$passed"
