# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Checks of the source by patch, grep, checkpatch and sparse; nothing is run.

# The new files, identical in all kernel lines. Only the changes of existing files differ between lines.
shared_files=(
	include/net/tcp_cwnd_bounds.h
	include/net/tcp_monitor.h
	include/trace/events/tcp_monitor.h
	net/ipv4/tcp_cwnd_bounds.c
	net/ipv4/tcp_cwnd_bounds_test.c
	net/ipv4/tcp_cwnd_rules.c
	net/ipv4/tcp_cwnd_rules.h
	net/ipv4/tcp_cwnd_rules_test.c
	net/ipv4/tcp_monitor.c
	net/ipv4/tcp_retransmit.c
	net/ipv4/tcp_retransmit.h
	net/ipv4/tcp_retransmit_request.c
	net/ipv4/tcp_retransmit_test.c
)

cmd_apply() {
	local tree
	tree=$(fresh_tree apply)
	apply_all "$tree"
	remove_tree apply
	echo "PASS: $line: $(patches | wc -l) patches apply"
}

# Bounds and tracepoints depend on the setters of tcp.h. Exceptions: tcp_init_metrics() runs before the first window,
# and the trace events of TCP have fields of these names.
cmd_setters() {
	local tree stray
	tree=$(fresh_tree setters)
	apply_all "$tree"
	stray=$(grep -rnE --include='*.[ch]' \
		'(->|\.)snd_(cwnd|ssthresh)[[:space:]]*(\+\+|--|([-+*/%&|^]|<<|>>)?=([^=]|$))' "$tree"/{net,include} |
		grep -vE '/(include/net/tcp\.h|net/ipv4/tcp_metrics\.c|include/trace/events/tcp\.h):|:[[:space:]]*/?\*' || true)
	remove_tree setters
	[ -z "$stray" ] || fail "written without the setter: $stray"
	echo "PASS: $line: cwnd and ssthresh are written by their setters only"
}

cmd_checkpatch() {
	local name base
	base=$(base_tree)
	for name in $(patches); do
		# UNKNOWN_COMMIT_ID: looking up the commits that a patch names needs the kernel's history.
		"$base/scripts/checkpatch.pl" --strict --no-tree --quiet --ignore UNKNOWN_COMMIT_ID "$series/$name" ||
			fail "$name is not checkpatch --strict clean"
	done
	echo "PASS: $line: $(patches | wc -l) patches are checkpatch --strict clean"
}

cmd_checkpatch_once() {
	once checkpatch cmd_checkpatch
}

# Needs no kernel source, because the series adds all shared files.
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

# Sparse's messages for the files that the series changes, without line numbers.
sparse_messages() { # TREE OBJECTS
	local present
	mapfile -t present < <(series_objects "$1")
	configure_uml "$1" "$2"
	kmake "$1" "$2" "${parallel[@]}" C=2 "${present[@]}" >"$2/sparse.log" 2>&1 ||
		fail "does not compile with sparse; see $2/sparse.log"
	grep -E '(warning|error):' "$2/sparse.log" | sed -E 's/:[0-9]+:[0-9]+:/:/; s|^.*/(net/)|\1|' | sort || true
}

cmd_sparse() {
	local tree
	command -v sparse >/dev/null || fail "sparse is not installed"
	tree=$(fresh_tree sparse)
	sparse_messages "$tree" "$work/objects-sparse" >"$work/sparse-before"
	tree=$(fresh_tree sparse)
	apply_all "$tree"
	sparse_messages "$tree" "$work/objects-sparse" >"$work/sparse-after"
	remove_tree sparse
	if comm -13 "$work/sparse-before" "$work/sparse-after" | grep . >&2; then
		fail "new sparse warnings, above"
	fi
	echo "PASS: $line: no new sparse warning"
}
