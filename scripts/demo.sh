#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ten phones upload through one access point: without bounds (cubic, the same with fq_codel at the access point, bbr,
# vegas), with the paper's table (paper-jb), with the bandwidth-delay product (bdp), and that with an access point that
# waits longer for the air (airbound); 4 and 256 ms to the server; with today's rate control (minstrel) and with one
# that takes collisions for a bad channel (aarf), as phones of 2013 did. Ends with one HTML report.
#   demo.sh    DEMO_SECONDS (default 30) is the virtual length of each run; with DEMO_TLS=1 agents and controller use
#              mutual TLS, and each phone enrols before it sends

. "$(dirname "$0")/lib.sh"

SECONDS_EACH=${DEMO_SECONDS:-30}
MODES=cubic,cubic@fq_codel,bbr,vegas,paper-jb,bdp,airbound
LAB=$VENV/bin/airbound-lab
OUT=out/demo
TLS=()
case ${DEMO_TLS:-0} in
0) ;;
1) TLS=(--tls) ;;
*) die "DEMO_TLS: $DEMO_TLS is neither 0 nor 1" ;;
esac

run() {
	local rate_control=$1 delay_ms=$2 name=$3
	"$LAB" run --scenario uplink --terminals 10 --delay-ms "$delay_ms" --seconds "$SECONDS_EACH" --warmup-seconds 10 \
		--seed 1 --modes "$MODES" --rate-control "$rate_control" --json "$OUT/$name.json" "${TLS[@]}"
}

mkdir -p "$OUT"
rm -f "$OUT"/*.json "$OUT"/report.html
step "programs" scripts/build.sh
step "lab kernel (some minutes the first time)" lab/kernel/build.sh
results=()
for rate_control in minstrel aarf; do
	for delay_ms in 4 256; do
		case $rate_control in
		minstrel) name=phones-of-today-${delay_ms}ms ;;
		aarf) name=phones-of-2013-${delay_ms}ms ;;
		esac
		step "10 phones, $delay_ms ms, rate control $rate_control" run "$rate_control" "$delay_ms" "$name"
		results+=("$OUT/$name.json")
	done
done
step "report" "$LAB" report "${results[@]}" --out "$OUT/report.html"
printf '\nThe report, one file to open in a browser: %s\n' "$OUT/report.html"
