#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
#   test.sh unit    Go tests and short fuzzing, Python tests: seconds to a few minutes, no kernel
#   test.sh uml     the kernel series and the cell, in User Mode Linux
#   test.sh         both
#   test.sh series  each patch of each kernel line by itself, other options, sparse, arm64, a debug kernel

. "$(dirname "$0")/lib.sh"
use_tools

# By number of inputs, not by time: a deadline that falls into a busy moment counts as a failure of the target.
FUZZ_INPUTS=${FUZZ_INPUTS:-20000}
kernel_lines=(6.1 6.12)

go_test() {
	CGO_ENABLED=1 go test -race ./...
}

# Each fuzz target for a moment; CONTRIBUTING.md shows how to search for longer.
go_fuzz() {
	local package target found=0
	while read -r package; do
		while read -r target; do
			found=$((found + 1))
			echo "$package $target"
			go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZ_INPUTS}x" "$package" | grep -v '^fuzz: elapsed'
		done < <(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true)
	done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)
	[[ $found -gt 0 ]] || die "found no fuzz target"
}

packages_test() {
	AIRBOUND_PACKAGES=$PWD/build/packages pytest ap-firmware phone-agent -m 'not uml'
}

unit() {
	step "programs" scripts/build.sh
	step "Go tests" go_test
	step "Go fuzzing, $FUZZ_INPUTS inputs each" go_fuzz
	# By file: the fixtures of a module start servers. In our order: files that take long begin first.
	step "controller tests" pytest controller -n "$(nproc)" --dist loadfile --no-loadscope-reorder
	step "dashboards' tests" pytest dashboards
	step "packages" scripts/packages.sh
	step "programs of the packages, in emulators" go test -tags packages -count=1 ./ap-firmware/openwrt/packagestest
	step "tests of the packages, of the LuCI application in a browser, of the phone's module" packages_test
	step "lab tests" pytest lab -m 'not uml'
	step "tests of the tools" pytest tools
	step "deployment tests" pytest deploy
}

# What passed is not checked again until source, series, options, scripts or compiler change.
check_series() { # COMMAND...
	CACHE=$CACHE_DIR/kernel kernel/tests/check-series.sh --line "$@"
}

boot_tests() { # LINE
	local kernel
	kernel=$(check_series "$1" build)
	kernel/tests/boot-test.sh "$kernel"
	kernel/tests/boot-test.sh "$kernel" test_stress
	CACHE=$CACHE_DIR/kernel kernel/tests/same-as-unpatched.sh "$1"
}

kernel_line() { # LINE
	check_series "$1" ci
	CACHE=$CACHE_DIR/kernel kernel/android/tests/test.sh "$1"
	boot_tests "$1"
}

kernel_line_thoroughly() { # LINE
	check_series "$1" all
	boot_tests "$1"
	CACHE=$CACHE_DIR/kernel kernel/tests/debug-test.sh "$1"
	CACHE=$CACHE_DIR/kernel kernel/tests/arm64-test.sh "$1"
	CACHE=$CACHE_DIR/kernel phone-agent/android/tests/arm64-test.sh "$1"
}

# Side by side: configuring, linking and a guest keep one processor busy each.
declare -A running
start() { # NAME COMMAND...: NAME goes before each line that it prints
	local name=$1
	shift
	# In a subshell of its own: wait would return the status of sed.
	("$@" 2>&1 | sed -u "s/^/$name: /") &
	running[$!]=$name
}

wait_for_started() {
	local pid failed=()
	for pid in "${!running[@]}"; do
		wait "$pid" || failed+=("${running[$pid]}")
	done
	running=()
	[[ ${#failed[@]} -eq 0 ]] || die "failed: ${failed[*]}; see above"
}

kernels() {
	local line
	for line in "${kernel_lines[@]}"; do
		start "$line" kernel_line "$line"
	done
	for line in "${kernel_lines[@]}"; do
		start "lab $line" lab/kernel/build.sh --line "$line"
	done
	wait_for_started
}

kernels_thoroughly() {
	local line
	for line in "${kernel_lines[@]}"; do
		start "$line" kernel_line_thoroughly "$line"
	done
	wait_for_started
}

cell_tests() {
	AIRBOUND_PACKAGES=$PWD/build/packages \
		pytest lab ap-firmware phone-agent -m uml -n "$(nproc)" --dist loadfile
}

uml() {
	step "programs" scripts/build.sh
	step "packages" scripts/packages.sh
	step "kernels: series, boot tests, stress, comparison with the unpatched kernel; the lab's kernels" kernels
	step "the phone's module in the lab's kernel" phone-agent/android/tests/uml-test.sh
	# By file: what a file's tests share is booted once.
	step "tests in the cell, and of packages" cell_tests
}

# For changes of the series.
series() {
	step "kernels, thoroughly: series, boot tests, stress, comparison, debug kernels" kernels_thoroughly
}

case ${1:-all} in
unit) unit ;;
uml) uml ;;
series) series ;;
all)
	unit
	uml
	;;
*) die "test: unknown part '$1' (unit, uml, series)" ;;
esac
