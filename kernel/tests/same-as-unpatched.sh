#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checks that without rules the patched kernel behaves as the unpatched one: builds both, runs the same uploads in each
# (cubic, bbr and reno, 4 and 256 ms) and compares 200 samples of all of TCP_INFO, byte by byte.
#
#   same-as-unpatched.sh [LINE]        the kernel line, default 6.1
#
# Both have the patches of um/. Without them two runs of the same kernel differ: ports and BBR's random numbers come
# from the host's entropy, and each reading of the clock advances virtual time. Takes some minutes for the builds, which
# are cached. CACHE and JOBS as in check-series.sh.

# shellcheck source=SCRIPTDIR/series/prelude.sh
. "$(dirname "$0")/series/prelude.sh"
start_with_line "$@"

base=$(cmd_build_base)
patched=$(cmd_build)
exec 8>&- # allow other builds during the runs

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Enough memory that the limits of the socket buffers do not depend on the size of the kernel.
flow() { # KERNEL CC RTT_MS SEED
	boot_guest "$1" 300 1G "$4" "flow,$2,$3" loglevel=1 | tr -d '\r' | grep '^flow ' || true
}

for cc in cubic bbr reno; do
	for rtt_ms in 4 256; do
		flow "$base" "$cc" "$rtt_ms" 1 >"$dir/base"
		flow "$patched" "$cc" "$rtt_ms" 1 >"$dir/patched"
		python3 "$here/compare_flows.py" "$dir/base" "$dir/patched" ||
			fail "$cc, $rtt_ms ms: the kernels differ"
		echo "same: $cc, $rtt_ms ms"
	done
done
# Check the comparison itself: runs with different seeds must differ.
flow "$base" bbr 4 1 >"$dir/base"
flow "$base" bbr 4 2 >"$dir/other"
status=0
python3 "$here/compare_flows.py" "$dir/base" "$dir/other" >/dev/null 2>"$dir/why" || status=$?
[ "$status" -eq 1 ] || fail "bbr with another seed: status of the comparison is $status, not 1: $(<"$dir/why")"
echo "PASS: $line: without rules the kernels behave the same"
