#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Without rules the patched kernel behaves as the unpatched one: the same
# uploads in virtual time, compared sample by sample.
#
#   same-as-unpatched.sh BASE LINUX    kernels built by check-series.sh
#                                      build-base and build
set -euo pipefail

if [ $# -ne 2 ] || [ ! -x "$1" ] || [ ! -x "$2" ]; then
	sed -n '4,8s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

flows() { # LINUX; addresses fixed and no entropy from the host
	timeout 300 setarch -R "$1" mem=256M root=none rootfstype=hostfs \
		rootflags=/ ro "init=$here/guest/init.sh" airbound.tests=flow \
		con=null con0=fd:0,fd:1 ssl=null time-travel=inf-cpu \
		time-travel-start=1000000000000000000 norandmaps loglevel=1 \
		</dev/null 2>&1 | tr -d '\r' | grep '^flow ' || true
}

flows "$1" >"$dir/base"
flows "$2" >"$dir/patched"
samples=$(wc -l <"$dir/base")
if [ "$samples" -ne 1200 ]; then
	echo "FAIL: $samples samples of the unpatched kernel, not 1200" >&2
	exit 1
fi
if ! cmp -s "$dir/base" "$dir/patched"; then
	diff "$dir/base" "$dir/patched" | cut -c1-120 | head -6 >&2 || true
	echo "FAIL: the patched kernel behaves differently" >&2
	exit 1
fi
echo "PASS: $samples samples of six uploads are the same"
