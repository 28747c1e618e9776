#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs one step of the checks for scripts/checks.mk: its output goes to build/checks/NAME/log, one line says how it
# ended. Not run by hand: `make check STEPS=NAME`.
#   check-step.sh NAME COMMAND...
# Leaves in build/checks/NAME: command, log, times (elapsed, user and system seconds), status (of the command), and kept
# if the command did not run the check, since it passed before with the same inputs (kernel/tests/kept.sh,
# scripts/fuzz.sh), and cells, of which the tests of the lab write how many they booted (lab/tests/kept_cells.py).

set -uo pipefail
name=$1
shift
# `make -n` runs what may be a make: here, it lists the steps.
if [[ ${MAKEFLAGS%% *} == *n* && ${MAKEFLAGS%% *} != -* ]]; then
	printf '%s\n' "$name"
	exit
fi
directory=build/checks/$name
mkdir -p "$directory"
printf '%s\n' "$*" >"$directory/command"
export CHECK_KEPT=$PWD/$directory/kept CHECK_CELLS=$PWD/$directory/cells
code=0
TIMEFORMAT='%R %U %S'
# The tables of names and of times are read while other steps run: each file appears whole.
{ time "$@" >"$directory/log" 2>&1 </dev/null; } 2>"$directory/.times" || code=$?
printf '%s\n' "$code" >"$directory/status"
mv "$directory/.times" "$directory/times"
read -r elapsed_s _ <"$directory/times"

# The last line of a test runner, as it stands: "=== 17 passed in 33.21s ===", "DONE 512 tests in 43.2s", "PASS: ...".
closing=$(grep -aE '^=+ .* in [0-9.]+s.* =+$|^DONE [0-9]+ tests|^PASS: ' "$directory/log" | tail -n 1)
if [[ $code -ne 0 ]]; then
	# In one write: the lines of other steps must not come between.
	printf '%s\n' "$(
		printf '== %s: FAILED (exit %d) after %.0f s; the end of build/checks/%s/log:\n' "$name" "$code" "$elapsed_s" "$name"
		tail -n "${FAILED_LINES:-60}" "$directory/log" | sed 's/^/   | /'
	)"
else
	done_steps=$(find build/checks -name times | wc -l)
	printf '%3d/%s %5.0f s  %-44s %s\n' "$done_steps" "${CHECK_STEPS:-?}" "$elapsed_s" "$name" "$closing"
fi
exit "$code"
