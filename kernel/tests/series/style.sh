# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What is found out by reading and by sparse, without running anything.

# What the kernel lines share to the byte: all that is new. Where TCP differs, the hooks in it do.
shared_files=(
	include/net/tcp_cwnd_bounds.h
	include/net/tcp_monitor.h
	include/trace/events/tcp_monitor.h
	net/ipv4/tcp_cwnd_bounds.c
	net/ipv4/tcp_cwnd_bounds_test.c
	net/ipv4/tcp_cwnd_rules.c
	net/ipv4/tcp_cwnd_rules.h
	net/ipv4/tcp_monitor.c
)

cmd_apply() {
	local tree
	tree=$(fresh_tree apply)
	apply_all "$tree"
	remove_tree apply
	echo "PASS: $line: $(patches | wc -l) patches apply"
}

# What the bounds hold and the trace tells is what goes through the setters of tcp.h. tcp_init_metrics() may store: it comes
# before the first window. The trace events of TCP have fields of these names.
cmd_setters() {
	local tree stray
	tree=$(fresh_tree setters)
	apply_all "$tree"
	stray=$(grep -rnE --include='*.[ch]' \
		'(->|\.)snd_(cwnd|ssthresh)[[:space:]]*(\+\+|--|([-+*/%&|^]|<<|>>)?=([^=]|$))' "$tree"/{net,include} |
		grep -vE '/(include/net/tcp\.h|net/ipv4/tcp_metrics\.c|include/trace/events/tcp\.h):|:[[:space:]]*/?\*' || true)
	remove_tree setters
	[ -z "$stray" ] || fail "written past its setter: $stray"
	echo "PASS: $line: every write of cwnd and ssthresh is a setter's"
}

cmd_checkpatch() {
	local name base
	base=$(base_tree)
	for name in $(patches); do
		# UNKNOWN_COMMIT_ID: the kernel's history, to look up commits that a patch names, is not here.
		"$base/scripts/checkpatch.pl" --strict --no-tree --quiet --ignore UNKNOWN_COMMIT_ID "$series/$name" ||
			fail "$name is not clean"
	done
	echo "PASS: $line: $(patches | wc -l) patches are checkpatch --strict clean"
}

# Needs no source: the shared files are all new in the series.
cmd_same_code() {
	local each file name dir include=()
	dir=$(mktemp -d)
	for file in "${shared_files[@]}"; do
		include+=("--include=$file")
	done
	for each in "${lines[@]}"; do
		mkdir "$dir/$each"
		series=$here/../patches/$each
		for name in $(patches); do
			(cd "$dir/$each" && GIT_CEILING_DIRECTORIES=$dir git apply "${include[@]}" "$series/$name") ||
				fail "$each: $name does not apply"
		done
		for file in "${shared_files[@]}"; do
			diff -u "$dir/${lines[0]}/$file" "$dir/$each/$file" >&2 ||
				fail "$file of ${lines[0]} and $each differ, see above"
		done
	done
	rm -r "$dir"
	echo "PASS: ${lines[*]} have the same ${#shared_files[@]} new files"
}

# Sparse's words on the files that the series touches, without line numbers.
sparse_words() { # TREE OBJECTS
	local present
	mapfile -t present < <(series_objects "$1")
	configure_uml "$1" "$2"
	kmake "$1" "$2" -j"$jobs" C=2 "${present[@]}" >"$2/sparse.log" 2>&1 ||
		fail "does not compile with sparse; see $2/sparse.log"
	grep -E '(warning|error):' "$2/sparse.log" | sed -E 's/:[0-9]+:[0-9]+:/:/; s|^.*/(net/)|\1|' | sort || true
}

cmd_sparse() {
	local tree
	command -v sparse >/dev/null || fail "sparse is not installed"
	tree=$(fresh_tree sparse)
	sparse_words "$tree" "$work/objects-sparse" >"$work/sparse-before"
	tree=$(fresh_tree sparse)
	apply_all "$tree"
	sparse_words "$tree" "$work/objects-sparse" >"$work/sparse-after"
	remove_tree sparse
	if comm -13 "$work/sparse-before" "$work/sparse-after" | grep . >&2; then
		fail "new sparse warnings, above"
	fi
	echo "PASS: $line: no new sparse warning"
}
