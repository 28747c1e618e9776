#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Without rules the patched kernel behaves as the unpatched one: the same
# uploads in virtual time, compared sample by sample.
#
#   same-as-unpatched.sh BASE LINUX    kernels built by check-series.sh
#                                      build-base and build, both with
#     EXTRA=lab/kernel/patches/0002-um-derive-all-randomness-from-one-seed.patch
#                                      or no two runs are the same
# compare_flows.py says what "the same" is.
set -euo pipefail

if [ $# -ne 2 ] || [ ! -x "$1" ] || [ ! -x "$2" ]; then
	sed -n '4,12s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Addresses fixed, no entropy from the host, and memory enough for the limits
# of the socket buffers not to depend on the size of the kernel.
flow() { # LINUX CC RTT_MS
	timeout 300 setarch -R "$1" mem=1G root=none rootfstype=hostfs \
		rootflags=/ ro "init=$here/guest/init.sh" "airbound.tests=flow,$2,$3" \
		con=null con0=fd:0,fd:1 ssl=null time-travel=inf-cpu \
		time-travel-start=1000000000000000000 norandmaps \
		airbound_seed=1 loglevel=1 \
		</dev/null 2>&1 | tr -d '\r' | grep '^flow ' || true
}

for cc in cubic bbr reno; do
	for rtt_ms in 4 256; do
		flow "$1" "$cc" "$rtt_ms" >"$dir/base"
		flow "$2" "$cc" "$rtt_ms" >"$dir/patched"
		python3 "$here/compare_flows.py" "$dir/base" "$dir/patched"
		echo "same: $cc, $rtt_ms ms"
	done
done
echo "PASS: without rules the kernels behave the same"
