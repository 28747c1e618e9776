#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checks the patch series of one kernel line.
#
#   check-series.sh apply          each patch applies, without fuzz
#   check-series.sh checkpatch     each patch is clean with --strict
#   check-series.sh build          builds the whole series for User Mode Linux
#                                  and prints the path of the kernel
#   check-series.sh build-base     the same for the unpatched source
#   check-series.sh build-each     builds, boots and runs KUnit after each patch
#   check-series.sh sparse         the series adds no sparse warning
#   check-series.sh kunit LINUX    boots a built kernel and runs KUnit in it
#
# Environment: SERIES (default patches/6.1 beside this folder), TARBALL
# (default /usr/src/linux-source-6.1.tar.xz), CACHE (default
# ~/.cache/airbound/kernel; takes 3 GB), JOBS (default 2), EXTRA (patches of
# one's own for build and build-base).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
series=$(realpath "${SERIES:-$here/../patches/6.1}")
tarball=${TARBALL:-/usr/src/linux-source-6.1.tar.xz}
cache=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/airbound/kernel}
jobs=${JOBS:-2}
export ARCH=um

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

patches() {
	grep -vE '^(#|$)' "$series/series"
}

# The unpacked source, never changed; trees are hard links of it.
base_tree() {
	local base
	[ -r "$tarball" ] || fail "no $tarball: install the linux-source package or set TARBALL"
	base=$cache/base-$(sha256sum "$tarball" | cut -c1-16)
	if [ ! -e "$base/.complete" ]; then
		rm -rf "$base"
		mkdir -p "$base"
		tar -C "$base" --strip-components=1 -xf "$tarball"
		touch "$base/.complete"
	fi
	echo "$base"
}

# A tree of hard links; patch(1) replaces files, so the base stays as it is.
# What an earlier tree was built to goes with it: here a file that was patched
# then has its old date again, and make would take its objects for current.
fresh_tree() { # NAME [BUILD]
	local base tree=$cache/$1
	base=$(base_tree)
	rm -rf "$tree" ${2:+"$2"}
	cp -al "$base" "$tree"
	echo "$tree"
}

apply_patch() {
	patch -d "$1" -p1 -s --fuzz=0 --no-backup-if-mismatch <"$series/$2" ||
		fail "$2 does not apply"
}

apply_all() {
	local name
	for name in $(patches); do
		apply_patch "$1" "$name"
	done
}

apply_extra() {
	local file
	for file in ${EXTRA:-}; do
		patch -d "$1" -p1 -s --no-backup-if-mismatch <"$file" || fail "$file does not apply"
	done
}

cmd_apply() {
	local tree name
	tree=$(fresh_tree apply)
	for name in $(patches); do
		apply_patch "$tree" "$name"
		echo "applies: $name"
	done
	echo "PASS: $(patches | wc -l) patches apply"
}

cmd_checkpatch() {
	local name base
	base=$(base_tree)
	for name in $(patches); do
		"$base/scripts/checkpatch.pl" --strict --no-tree --quiet "$series/$name" ||
			fail "$name is not clean"
	done
	echo "PASS: $(patches | wc -l) patches are checkpatch --strict clean"
}

configure() { # TREE BUILD
	mkdir -p "$2"
	make -s -C "$1" O="$2" tinyconfig >/dev/null
	(cd "$1" && scripts/kconfig/merge_config.sh -m -O "$2" "$2/.config" \
		"$here/uml.config" "$here/../configs/airbound.config" \
		"$here/../configs/kunit.config" >/dev/null 2>&1)
	make -s -C "$1" O="$2" olddefconfig
}

compile() { # TREE BUILD; the kernel's own warnings are as fatal as errors
	local log=$2/build.log
	nice make -s -C "$1" O="$2" -j"$jobs" linux >"$log" 2>&1 || {
		tail -30 "$log" >&2
		fail "does not build"
	}
	! grep -E '(net|include)/.*warning:' "$log" >&2 || fail "builds with warnings"
}

cmd_build() {
	local tree build=$cache/build
	tree=$(fresh_tree all "$build")
	apply_all "$tree"
	apply_extra "$tree"
	configure "$tree" "$build"
	compile "$tree" "$build"
	echo "$build/linux"
}

cmd_build_base() {
	local tree build=$cache/build-base
	tree=$(fresh_tree unpatched "$build")
	apply_extra "$tree"
	configure "$tree" "$build"
	compile "$tree" "$build"
	echo "$build/linux"
}

cmd_build_each() {
	local tree name build=$cache/build-each
	tree=$(fresh_tree each "$build")
	for name in $(patches); do
		apply_patch "$tree" "$name"
		configure "$tree" "$build"
		compile "$tree" "$build"
		cmd_kunit "$build/linux"
		echo "builds and boots: $name"
	done
	echo "PASS: each of $(patches | wc -l) patches builds, boots and passes KUnit"
}

# Sparse's words on the files that the series touches, without line numbers.
sparse_words() { # TREE BUILD
	local file files
	mapfile -t files < <(sed -n 's|^+++ b/\(net/.*\)\.c$|\1.o|p' "$series"/*.patch | sort -u)
	configure "$1" "$2"
	nice make -s -C "$1" O="$2" -j"$jobs" prepare >/dev/null 2>&1
	for file in "${files[@]}"; do
		[ -e "$1/${file%.o}.c" ] || continue
		nice make -s -C "$1" O="$2" C=2 "$file" 2>&1 |
			grep -E '(warning|error):' | sed -E 's/:[0-9]+:[0-9]+:/:/; s|^.*/(net/)|\1|' || true
	done | sort
}

cmd_sparse() {
	local tree base
	command -v sparse >/dev/null || fail "sparse is not installed"
	base=$(base_tree)
	tree=$(fresh_tree sparse "$cache/build-sparse")
	apply_all "$tree"
	sparse_words "$base" "$cache/build-sparse-base" >"$cache/sparse-before"
	sparse_words "$tree" "$cache/build-sparse" >"$cache/sparse-after"
	if comm -13 "$cache/sparse-before" "$cache/sparse-after" | grep .; then
		fail "new sparse warnings, above"
	fi
	echo "PASS: no new sparse warning"
}

# KUnit prints KTAP; a suite counts as run only by its own "ok" and totals.
cmd_kunit() {
	local log status=0 totals
	[ -x "${1:-}" ] || fail "kunit needs the path of a kernel"
	log=$(mktemp)
	timeout 300 "$1" mem=256M root=none rootfstype=hostfs rootflags=/ ro \
		"init=$here/guest/init.sh" airbound.tests=none \
		kunit.enable=1 'kunit.filter_glob=tcp_cwnd_bounds*' \
		con=null con0=fd:0,fd:1 ssl=null time-travel=inf-cpu \
		</dev/null >"$log" 2>&1 || true
	totals=$(grep -E '^# Totals: ' "$log" || grep -E '^# tcp_cwnd_bounds: ' "$log" || true)
	grep -qE '^ok [0-9]+ tcp_cwnd_bounds' "$log" || status=1
	! grep -qE '(^|[[:space:]])not ok ' "$log" || status=1
	! grep -qE 'BUG:|WARNING:|Call Trace|Kernel panic' "$log" || status=1
	grep -q '^guest powers off' "$log" || status=1
	grep -qE 'pass:[1-9][0-9]* fail:0 skip:0' <<<"$totals" || status=1
	[ "$status" -eq 0 ] || grep -vE '^ +ok ' "$log" >&2
	rm -f "$log"
	[ "$status" -eq 0 ] || fail "KUnit"
	echo "PASS: KUnit ${totals#\# }"
}

case ${1:-} in
apply | checkpatch | build | sparse) "cmd_$1" ;;
build-base) cmd_build_base ;;
build-each) cmd_build_each ;;
kunit) cmd_kunit "${2:-}" ;;
*)
	sed -n '4,19s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
