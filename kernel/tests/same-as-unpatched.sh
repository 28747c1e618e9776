#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Without rules the patched kernel behaves as the unpatched one: builds both, runs the same uploads in each (cubic, bbr and
# reno, 4 and 256 ms) and compares 200 samples of everything that TCP_INFO tells, byte by byte.
#
#   same-as-unpatched.sh [LINE]        the kernel line, default 6.1
#
# Both have the patches of um/: without them no kernel is the same as itself, because its ports, and BBR's lots, are drawn
# from the host's randomness, and because in virtual time each look at the clock takes some. Takes some minutes, for the
# builds, which are kept. CACHE and JOBS as in check-series.sh.

# shellcheck source=SCRIPTDIR/series/of-one-line.sh
. "$(dirname "$0")/series/of-one-line.sh" "$@"

base=$(cmd_build_base)
patched=$(cmd_build)
exec 8>&- # others may build while these run

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Memory enough for the limits of the socket buffers not to depend on the size of the kernel.
flow() { # KERNEL CC RTT_MS SEED
	boot_guest "$1" 300 1G "$4" "flow,$2,$3" loglevel=1 | tr -d '\r' | grep '^flow ' || true
}

for cc in cubic bbr reno; do
	for rtt_ms in 4 256; do
		flow "$base" "$cc" "$rtt_ms" 1 >"$dir/base"
		flow "$patched" "$cc" "$rtt_ms" 1 >"$dir/patched"
		python3 "$here/compare_flows.py" "$dir/base" "$dir/patched" ||
			fail "$cc, $rtt_ms ms: not the same"
		echo "same: $cc, $rtt_ms ms"
	done
done
# A comparison that cannot tell two runs apart would find all of them the same.
flow "$base" bbr 4 1 >"$dir/base"
flow "$base" bbr 4 2 >"$dir/other"
status=0
python3 "$here/compare_flows.py" "$dir/base" "$dir/other" >/dev/null 2>"$dir/why" || status=$?
[ "$status" -eq 1 ] || fail "bbr with another seed: status $status instead of 1: $(<"$dir/why")"
echo "PASS: $line: without rules the kernels behave the same"
