#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
#   test.sh            everything: style, unit, uml
#   test.sh lint       style, types, contracts, generated code
#   test.sh unit       Go tests and short fuzzing, Python tests: no kernel
#   test.sh uml        the kernel series and the cell, in User Mode Linux
#   test.sh series     each patch of each kernel line by itself, other options, sparse, arm64, a debug kernel
#   test.sh steps NAME...    steps of scripts/checks.mk; `steps` alone lists them
#   test.sh one TEST         one test of pytest: a file, or FILE::NAME
# SEED (1) is the seed of all that tests draw. JOBS (one more than processors) and WAITING_JOBS (4, for steps that wait
# in real time) are how many steps run at the same time. What each step printed stays in build/checks. KEEP=no also runs
# what ran before with the same inputs: checks of the kernel series (kernel/tests/kept.sh), fuzz targets
# (scripts/fuzz.sh), cells of the lab (lab/tests/kept_cells.py).

. "$(dirname "$0")/lib.sh"
use_tools

export SEED=${SEED:-1}
# One more than there are processors: a step waits now and then, for a disk, a process, or a server that starts.
jobs=${JOBS:-$(($(nproc) + 1))}
waiting_jobs=${WAITING_JOBS:-4}
# Where the kernel's scripts build, and where the cells are that tests boot. No name begins with AIRBOUND_: to a
# controller that a test starts, these are keys.
export CACHE=$CACHE_DIR/kernel BOOTED_CELLS=$CACHE_DIR/cells
[[ ${KEEP:-} != no ]] || BOOTED_CELLS=$ROOT/build/checks/.cells

pool() { # JOBS GOAL...
	make --no-print-directory --keep-going -f scripts/checks.mk -j"$1" "${@:2}"
}

# known_steps GOAL...: ends the run if one of them is no step and no goal; it names those that look like it, or all.
known_steps() {
	local steps goal like
	steps=$(make -s -f scripts/checks.mk names)
	for goal in "$@"; do
		[[ ! $goal =~ ^(all|lint|unit|uml|waiting|series)$ ]] || continue
		! grep -qxF -- "$goal" <<<"$steps" || continue
		like=$(grep -F -- "${goal##*/}" <<<"$steps") || like=$(grep -- "^${goal%%/*}/" <<<"$steps") || like=$steps
		die "no such step: $goal. Steps are: ${like//$'\n'/, }"
	done
}

# run GOAL...: the steps of these goals; those of the goal `waiting` meanwhile, in slots of their own. Then a summary.
run() {
	local goals=() before=() goal code=0 began_s=$SECONDS
	known_steps "$@"
	waiting=''
	rm -rf build/checks
	mkdir -p build/checks "$BOOTED_CELLS"
	# Cells that no run has used for two days.
	find "$BOOTED_CELLS" -mindepth 1 -maxdepth 1 -mtime +1 -exec rm -rf {} +
	CHECK_STEPS=$(make -s -f scripts/checks.mk -n "$@" | grep -vc check-step) || die "make cannot list the steps of: $*"
	export CHECK_STEPS
	printf '%s steps, seed %s, %s slots, %s for steps that wait; logs in build/checks\n' \
		"$CHECK_STEPS" "$SEED" "$jobs" "$waiting_jobs"
	for goal in "$@"; do
		case $goal in
		unit) before=(programs packages) ;;
		all | uml) before=(programs packages kernel/lab-6.1 kernel/lab-6.12 kernel/series-6.1 kernel/series-6.12) ;;
		esac
		[[ $goal == waiting ]] || goals+=("$goal")
	done
	# What others need, before them; checks.mk says why. Steps that wait need the programs alone.
	export BUILT=
	if [[ ${#before[@]} -gt 0 ]]; then
		pool "$jobs" "${before[0]}" || code=1
		BUILT=${before[0]}
	fi
	if [[ $# -gt ${#goals[@]} ]]; then
		pool "$waiting_jobs" waiting &
		waiting=$!
		# An interrupted run leaves none of them behind.
		trap 'kill "$waiting" 2>/dev/null || true; report_failure' EXIT
	fi
	[[ ${#before[@]} -eq 0 ]] || pool "$jobs" "${before[@]:1}" || code=1
	BUILT=${before[*]}
	pool "$jobs" "${goals[@]}" || code=1
	[[ -z $waiting ]] || wait "$waiting" || code=1
	trap report_failure EXIT
	PYTHONPATH=tools python3 -P -m checks --elapsed-s $((SECONDS - began_s)) --seed "$SEED" build/checks || code=1
	return "$code"
}

# Like a step of a run; what several steps need, packages and kernels, is taken as it is.
one() {
	scripts/build.sh >/dev/null
	pytest --hypothesis-seed="$SEED" "$1"
}

case ${1:-all} in
all) run all waiting ;;
lint | uml | series) run "$1" ;;
unit) run unit waiting ;;
steps)
	[[ $# -gt 1 ]] || exec make -s -f scripts/checks.mk names
	run "${@:2}"
	;;
one) one "${2:?TEST is missing}" ;;
*) die "test: unknown part '$1' (lint, unit, uml, series, steps, one)" ;;
esac
