#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ten phones upload through one access point: without bounds (cubic, the same with fq_codel at the access point, bbr,
# vegas), with the paper's table (paper-jb), with the bandwidth-delay product (bdp), and that with an access point that
# waits longer for the air (airbound); 4 and 256 ms to the server; with phones of today and with those of 2013, whose
# rate control takes collisions for a bad channel. Ends with one HTML report.
# It installs what it needs, and builds the lab's kernel the first time. The report is there after the first of the four
# parts and grows with each.
#   demo.sh    DEMO_SECONDS (default 30) is the virtual length of each run; with DEMO_TLS=1 agents and controller use
#              mutual TLS, and each phone enrols before it sends

. "$(dirname "$0")/lib.sh"

SECONDS_EACH=${DEMO_SECONDS:-30}
MODES=cubic,cubic@fq_codel,bbr,vegas,paper-jb,bdp,airbound
LAB=$VENV/bin/airbound-lab
OUT=out/demo
declare -A rate_control=([today]=minstrel [2013]=AARF)
TLS=()
case ${DEMO_TLS:-0} in
0) ;;
1) TLS=(--tls) ;;
*) die "DEMO_TLS: $DEMO_TLS is neither 0 nor 1" ;;
esac

run() {
	local phones=$1 delay_ms=$2 name=$3
	"$LAB" run --scenario uplink --terminals 10 --delay-ms "$delay_ms" --seconds "$SECONDS_EACH" --warmup-seconds 10 \
		--seed 1 --modes "$MODES" --phones "$phones" --json "$OUT/$name.json" "${TLS[@]}"
}

# The kernel is compiled while Python's packages and Go are installed and the programs are built.
prepare() {
	local kernel log=$OUT/kernel.log
	lab/kernel/build.sh >"$log" 2>&1 &
	kernel=$!
	trap 'kill "$kernel" 2>/dev/null || true; report_failure' EXIT
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
results=()
for phones in today 2013; do
	for delay_ms in 4 256; do
		name=phones-of-$phones-${delay_ms}ms
		step "10 phones of $phones (802.11g, ${rate_control[$phones]}), $delay_ms ms" run "$phones" "$delay_ms" "$name"
		results+=("$OUT/$name.json")
		"$LAB" report "${results[@]}" --out "$OUT/report.html"
		printf '    part %d of 4 is in the report, %d s after the start: %s\n' \
			"${#results[@]}" "$SECONDS" "$OUT/report.html"
	done
done
printf '\nThe report, one file to open in a browser: %s (%d s)\n' "$OUT/report.html" "$SECONDS"
