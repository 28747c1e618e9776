# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Builds the series for User Mode Linux and boots it.

net_dirs=(net/core/ net/ipv4/ net/ipv6/)
guest_fragments=("$here/guest.config" "$here/../configs/airbound.config" "$here/../configs/kunit.config")
uml_fragments=("$here/uml.config" "${guest_fragments[@]}")

configure_uml() { # TREE OBJECTS
	configure "$1" "$2" tinyconfig "${uml_fragments[@]}"
}

kernel_path() { # NAME
	echo "$work/kernels/$1-$(inputs "$1")/linux"
}

# Builds the kernel unless one with the same inputs is cached; prints its path.
kernel_of() { # NAME PREPARE: PREPARE is called with the tree and patches it
	local name=$1 prepare=$2 tree objects=$work/objects-$1 kernel
	kernel=$(kernel_path "$name")
	if [ ! -x "$kernel" ] || [ -n "${AGAIN:-}" ]; then
		tree=$(fresh_tree "$name")
		"$prepare" "$tree"
		configure_uml "$tree" "$objects"
		[ "$name" = base ] || check_options "$objects" "${uml_fragments[@]}"
		compile "$tree" "$objects" linux
		keep_kernel "$objects/linux" "$kernel"
		remove_tree "$name"
	fi
	touch "$(dirname "$kernel")"
	echo "$kernel"
}

# Keeps the most recently used kernels of each name: one may be running.
keep_kernel() { # FROM TO
	local folder
	folder=$(dirname "$2")
	mkdir -p "$folder"
	cp "$1" "$2.new"
	mv "$2.new" "$2"
	find "$(dirname "$folder")" -mindepth 1 -maxdepth 1 -name "$(basename "${folder%-*}")-*" -printf '%T@ %p\n' |
		sort -rn | tail -n +5 | cut -d' ' -f2- | xargs -r rm -r
}

cmd_build() {
	kernel_of series apply_all
}

cmd_build_base() {
	kernel_of base true
}

# Builds the unpatched kernel, then after each patch all files that the series changes, whether enabled or not, then the
# patched kernel. Finds most build errors of a single patch in a fraction of the time of whole builds.
cmd_compile_each() {
	local tree name files objects=$work/objects-each
	tree=$(fresh_tree each)
	configure_uml "$tree" "$objects"
	compile "$tree" "$objects" linux
	keep_kernel "$objects/linux" "$(kernel_path base)"
	echo "builds: the unpatched kernel" >&2
	for name in $(patches); do
		apply_patch "$tree" "$series/$name"
		configure_uml "$tree" "$objects"
		mapfile -t files < <(series_objects "$tree")
		compile "$tree" "$objects" "${files[@]}"
		echo "compiles: $name" >&2
	done
	check_options "$objects" "${uml_fragments[@]}"
	compile "$tree" "$objects" linux
	keep_kernel "$objects/linux" "$(kernel_path series)"
	remove_tree each
	echo "PASS: $line: the changed files compile after each of $(patches | wc -l) patches, and the whole kernel builds"
}

cmd_build_each() {
	local tree name suites objects=$work/objects-each
	tree=$(fresh_tree each)
	for name in $(patches); do
		apply_patch "$tree" "$series/$name"
		configure_uml "$tree" "$objects"
		compile "$tree" "$objects" linux
		mapfile -t suites < <(added_suites "$tree")
		cmd_kunit "$objects/linux" "${suites[@]}" >&2
		echo "builds and boots: $name" >&2
	done
	remove_tree each
	echo "PASS: $line: each of $(patches | wc -l) patches builds, boots and passes KUnit"
}

# The KUnit suites in TREE, in the order of kunit_suites.
added_suites() { # TREE
	local suite
	for suite in "${kunit_suites[@]}"; do
		[ ! -e "$1/net/ipv4/${suite}_test.c" ] || echo "$suite"
	done
}

# Without both options, no object may contain a symbol of the series; and with each option alone.
cmd_options() {
	local tree option left objects=$work/objects-options
	tree=$(fresh_tree options)
	apply_all "$tree"
	configure_uml "$tree" "$objects"
	for option in TCP_CWND_BOUNDS_KUNIT_TEST TCP_CWND_BOUNDS TCP_MONITOR; do
		"$tree/scripts/config" --file "$objects/.config" --disable "$option"
	done
	compile_options "$tree" "$objects" "neither"
	left=$(find "$objects/net" -name '*.o' -exec nm -A {} + 2>/dev/null |
		grep -E -e 'tcp_cwnd_(rule|bounds|clamp_to|within_bounds)|tcp_monitor' \
			-e 'tcp_retransmit_(now|parse)|tcp_undo_outage' || true)
	[ -z "$left" ] || fail "symbols of the series without its options: $left"
	"$tree/scripts/config" --file "$objects/.config" --enable TCP_MONITOR
	compile_options "$tree" "$objects" "TCP_MONITOR alone"
	"$tree/scripts/config" --file "$objects/.config" --disable TCP_MONITOR --enable TCP_CWND_BOUNDS
	compile_options "$tree" "$objects" "TCP_CWND_BOUNDS alone"
	remove_tree options
	echo "PASS: $line: net/ compiles with TCP_CWND_BOUNDS alone, TCP_MONITOR alone and neither"
}

compile_options() { # TREE OBJECTS WHICH
	kmake "$1" "$2" olddefconfig
	compile "$1" "$2" "${net_dirs[@]}"
	echo "compiles: $3" >&2
}

kunit_suites=(tcp_cwnd_rules tcp_cwnd_bounds tcp_retransmit)

# KUnit prints KTAP. Each SUITE must end with "ok" and with totals that have neither failures nor skips.
cmd_kunit() { # LINUX [SUITE...]: default all suites
	local log suite suites=("${@:2}") status=0 totals
	[ ${#suites[@]} -gt 0 ] || suites=("${kunit_suites[@]}")
	[ -x "$1" ] || fail "kunit needs the path of a kernel"
	log=$(mktemp)
	boot_guest "$1" 300 256M 1 none kunit.enable=1 'kunit.filter_glob=tcp_*' >"$log" || true
	totals=$(grep -E '^# Totals: ' "$log" || true)
	for suite in "${suites[@]}"; do
		grep -qE "^ok [0-9]+ $suite\$" "$log" || status=1
	done
	[ "$(grep -cE 'pass:[1-9][0-9]* fail:0 skip:0' <<<"$totals")" -eq ${#suites[@]} ] || status=1
	! grep -qE '(^|[[:space:]])not ok ' "$log" || status=1
	! grep -qE "$alarms" "$log" || status=1
	grep -q '^guest powers off' "$log" || status=1
	[ "$status" -eq 0 ] || grep -vE '^ +ok ' "$log" >&2
	rm -f "$log"
	[ "$status" -eq 0 ] || fail "KUnit"
	paste -d ' ' <(printf '%s\n' "${suites[@]}") - <<<"${totals//\# Totals: /}" |
		sed "s/^/PASS: ${line:+$line: }KUnit /"
}
