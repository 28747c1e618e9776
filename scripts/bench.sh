#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the controller costs: the core alone, then the whole controller over gRPC on one core, beside a raw grpc.aio
# server that answers the same streams and does nothing else.
#   bench.sh [PART...]    parts: core metrics store all-send a-fifth saturated replicas; default all of them
#                         and, beside them: replicas-plain-text, abuse, dashboards, faults, fault-orders,
#                         redis-orders, churn, fuzz, openflow (as root)
# BENCH_SECONDS (default 30) is the counted length of each run under load, CHURN_SECONDS (default 600) that of churn;
# FUZZ_CONNECTIONS (default 20000) and SEED (default 1) are those of fuzz.
# Quote ratios and medians: machines differ, and the figures are only good while nothing else runs (the load generator
# reports when it had no core).

. "$(dirname "$0")/lib.sh"
use_tools

SECONDS_EACH=${BENCH_SECONDS:-30}
OUT=out/bench

load() { # NAME OPTIONS...
	local name=$1
	shift
	# Connections cost more than reports: they come slowly, and what waited is handled before anything is counted.
	airbound-lab load --seconds "$SECONDS_EACH" --connect-rate 250 --warmup 15 --json "$OUT/$name.json" "$@"
}

mkdir -p "$OUT"
step "programs" scripts/build.sh
parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(core metrics store all-send a-fifth saturated replicas)
for part in "${parts[@]}"; do
	case $part in
	replicas)
		step "what two replicas cost, mutual TLS" \
			python controller/benchmarks/replicas.py --seconds "$SECONDS_EACH" --json "$OUT/replicas.json"
		;;
	replicas-plain-text)
		step "what two replicas cost, plain text" python controller/benchmarks/replicas.py --plain-text \
			--seconds "$SECONDS_EACH" --json "$OUT/replicas-plain-text.json"
		;;
	churn)
		step "memory while terminals come and go" \
			python controller/benchmarks/churn.py --seconds "${CHURN_SECONDS:-600}" --json "$OUT/churn.json"
		;;
	abuse) step "what others notice of abuse" python controller/benchmarks/abuse.py --json "$OUT/abuse.json" ;;
	dashboards)
		step "what the dashboards ask, 500 cells" python dashboards/benchmarks/fleet.py --json "$OUT/dashboards.json"
		;;
	fuzz)
		for front in "" --front; do
			step "what no peer should send, at the controller's ports${front:+ behind HAProxy}" \
				python controller/benchmarks/fuzz.py --seed "${SEED:-1}" --connections "${FUZZ_CONNECTIONS:-20000}" \
				${front:+"$front"} --json "$OUT/fuzz$front.json"
		done
		;;
	openflow) step "what an OpenFlow switch costs" python controller/benchmarks/openflow.py ;;
	faults) step "what faults do to replicas" python controller/benchmarks/faults.py ;;
	fault-orders) step "every order of two faults at the store" python controller/benchmarks/fault_orders.py ;;
	redis-orders)
		step "orders of faults of a real Redis, drawn at random" python controller/benchmarks/redis_orders.py
		;;
	core) step "the core alone" python controller/benchmarks/core.py --json "$OUT/core.json" ;;
	metrics) step "a scrape of the metrics" python controller/benchmarks/metrics.py --json "$OUT/metrics.json" ;;
	store) step "the store" python controller/benchmarks/store.py --json "$OUT/store.json" ;;
	all-send)
		step "4,000 terminals that all send, 400 cells" load all-send --cells 400 --terminals 10 --sending 1 --compare-raw
		;;
	a-fifth)
		step "10,000 terminals of which a fifth sends, 1,000 cells" \
			load a-fifth --cells 1000 --terminals 10 --sending 0.2 --compare-raw
		;;
	saturated) step "as many reports as it takes" load saturated --cells 100 --terminals 10 --saturate --compare-raw ;;
	*)
		die "bench: unknown part '$part' (core, metrics, store, all-send, a-fifth, saturated, replicas," \
			"replicas-plain-text, abuse, dashboards, faults, fault-orders, redis-orders, churn, fuzz, openflow)"
		;;
	esac
done
printf '\nThe figures are in %s/\n' "$OUT"
