#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ten phones upload through one access point, 4 ms from their server: without bounds (cubic, with a TXOP limit of 0 at
# the access point, bbr, vegas), with the paper's table (paper-jb), with the bandwidth-delay product (bdp), and with
# Airbound as it is installed (airbound). First the radios of today, 802.11ac and n, at an OpenWrt access point; then
# 802.11g, with phones of today and with those of 2013, whose rate control takes collisions for a bad channel. Ends with
# one HTML report.
# It installs what it needs, and builds the lab's kernel, Linux 6.12, the first time. The report is there after the
# first of the four parts and grows with each.
#   demo.sh    DEMO_SECONDS (default 30) is the virtual length of each run; with DEMO_TLS=1 agents and controller use
#              mutual TLS, and each phone enrols before it sends

. "$(dirname "$0")/lib.sh"

SECONDS_EACH=${DEMO_SECONDS:-30}
LAB=$VENV/bin/airbound-lab
OUT=out/demo
LINE=6.12
TLS=()
case ${DEMO_TLS:-0} in
0) ;;
1) TLS=(--tls) ;;
*) die "DEMO_TLS: $DEMO_TLS is neither 0 nor 1" ;;
esac

results=()
part() { # TITLE NAME MODES OPTION...
	local title=$1 name=$2 modes=$3
	shift 3
	step "ten phones, $title" "$LAB" run --terminals 10 --delay-ms 4 --kernel-line "$LINE" --modes "$modes" "$@" \
		--seconds "$SECONDS_EACH" --warmup-seconds 10 --json "$OUT/$name.json" "${TLS[@]}"
	results+=("$OUT/$name.json")
	"$LAB" report "${results[@]}" --out "$OUT/report.html"
	printf '    part %d of 4 is in the report, %d s after the start: %s\n' "${#results[@]}" "$SECONDS" "$OUT/report.html"
}

# The kernel is compiled while Python's packages and Go are installed and the programs are built. In a group of its own:
# what runs beside a script ignores Ctrl-C, and so would the compilers, which go on when the script is gone.
prepare() {
	local log=$OUT/kernel.log
	set -m
	lab/kernel/build.sh --line "$LINE" >"$log" 2>&1 &
	kernel=$! # no local variable: the trap is run when the function is left
	set +m
	trap 'kill -- "-$kernel" 2>/dev/null || true; report_failure' EXIT
	scripts/setup.sh python-lab go
	scripts/build.sh agents traffic
	printf '\n==> the lab'"'"'s kernel (the first time some minutes)\n'
	tail -n 1 -f --pid="$kernel" "$log"
	wait "$kernel" || die "the kernel does not build, see above"
	trap report_failure EXIT
}

mkdir -p "$OUT"
rm -f "$OUT"/*.json "$OUT"/report.html
scripts/setup.sh demo
prepare
part "802.11ac" ten-phones-11ac-80 cubic,cubic@txop=0,bbr,vegas,bdp,airbound --phy 11ac-80 --ap openwrt
part "802.11n" ten-phones-11n-20 cubic,bbr,vegas,bdp,airbound --phy 11n-20 --ap openwrt
part "802.11g, minstrel" phones-of-today-4ms cubic,bbr,vegas,paper-jb,bdp,airbound --phones today
part "802.11g, AARF" phones-of-2013-4ms cubic,bbr,vegas,paper-jb,bdp,airbound --phones 2013
printf '\nThe report, one file to open in a browser: %s (%d s)\n' "$OUT/report.html" "$SECONDS"
