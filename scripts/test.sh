#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
#   test.sh unit    Go tests and short fuzzing, Python tests: seconds to a few minutes, no kernel
#   test.sh uml     the kernel series and the cell, in User Mode Linux
#   test.sh         both

. "$(dirname "$0")/lib.sh"
use_tools

# By number of inputs, not by time: a deadline that falls into a busy moment counts as a failure of the target.
FUZZ_INPUTS=${FUZZ_INPUTS:-20000}

go_test() {
	CGO_ENABLED=1 go test -race ./...
}

# Each fuzz target for a moment; CONTRIBUTING.md tells how to hunt for longer.
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

unit() {
	step "programs" scripts/build.sh
	step "Go tests" go_test
	step "Go fuzzing, $FUZZ_INPUTS inputs each" go_fuzz
	step "controller tests" pytest controller
	step "lab tests" pytest lab -m 'not uml'
}

# Builds, boots and KUnit after each patch. What was found good is not built again until series, options, base or compiler
# change; the last kernel built is the whole series and stays for the boot tests.
series_kernel=$CACHE_DIR/kernel/build-each/linux

kernel_series() {
	local stamp
	stamp=$CACHE_DIR/kernel/good-$( (gcc -dumpfullversion && sha256sum /usr/src/linux-source-6.1.tar.xz &&
		find kernel/patches/6.1 kernel/configs kernel/tests/{check-series.sh,uml.config,guest/init.sh} -type f -print0 |
		sort -z | xargs -0 sha256sum) | sha256sum | cut -c1-16)
	if [[ -f $stamp && -x $series_kernel ]]; then
		echo "the series is one that was found good before"
		return
	fi
	rm -f "$CACHE_DIR"/kernel/good-*
	CACHE=$CACHE_DIR/kernel kernel/tests/check-series.sh build-each
	CACHE=$CACHE_DIR/kernel kernel/tests/check-series.sh sparse
	touch "$stamp"
}

uml() {
	step "programs" scripts/build.sh
	step "kernel: each patch builds, boots, passes KUnit" kernel_series
	step "kernel: boot tests" kernel/tests/boot-test.sh "$series_kernel"
	step "lab kernel" lab/kernel/build
	step "lab tests in the cell" pytest lab -m uml
}

case ${1:-all} in
unit) unit ;;
uml) uml ;;
all)
	unit
	uml
	;;
*) die "test: unknown part '$1' (unit, uml)" ;;
esac
