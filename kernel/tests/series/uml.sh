# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The series built for User Mode Linux, and booted.

net_dirs=(net/core/ net/ipv4/ net/ipv6/)
guest_fragments=("$here/guest.config" "$here/../configs/airbound.config" "$here/../configs/kunit.config")
uml_fragments=("$here/uml.config" "${guest_fragments[@]}")

configure_uml() { # TREE OBJECTS
	configure "$1" "$2" tinyconfig "${uml_fragments[@]}"
}

kernel_path() { # NAME
	echo "$work/kernels/$1-$(inputs "$1")/linux"
}

# Builds once and keeps the kernel by its inputs; prints its path.
kernel_of() { # NAME PREPARE: PREPARE patches the tree that it is given
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

# Of each name the last few that were asked for stay: one may be in use.
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

# Between the unpatched kernel and the patched one, which come out of it as well, the files that the series touches, whether
# the options have them or not: most of what a patch can break, in a fraction of the time of whole builds.
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
	echo "PASS: $line: what the series touches compiles after each of $(patches | wc -l) patches, and the whole builds"
}

cmd_build_each() {
	local tree name objects=$work/objects-each
	tree=$(fresh_tree each)
	for name in $(patches); do
		apply_patch "$tree" "$series/$name"
		configure_uml "$tree" "$objects"
		compile "$tree" "$objects" linux
		cmd_kunit "$objects/linux" >&2
		echo "builds and boots: $name" >&2
	done
	remove_tree each
	echo "PASS: $line: each of $(patches | wc -l) patches builds, boots and passes KUnit"
}

# Without both options, then nothing of the series may be left in an object; and each without the other one.
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
		grep -E 'tcp_cwnd_(rule|bounds|in_bounds|below_max)|tcp_monitor' || true)
	[ -z "$left" ] || fail "without its options the series leaves: $left"
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

# KUnit prints KTAP; a suite counts as run only by its own "ok" and totals.
cmd_kunit() { # LINUX
	local log status=0 totals
	[ -x "$1" ] || fail "kunit needs the path of a kernel"
	log=$(mktemp)
	boot_guest "$1" 300 256M 1 none kunit.enable=1 'kunit.filter_glob=tcp_cwnd_bounds*' >"$log" || true
	totals=$(grep -E '^# Totals: ' "$log" || grep -E '^# tcp_cwnd_bounds: ' "$log" || true)
	grep -qE '^ok [0-9]+ tcp_cwnd_bounds' "$log" || status=1
	! grep -qE '(^|[[:space:]])not ok ' "$log" || status=1
	! grep -qE "$alarms" "$log" || status=1
	grep -q '^guest powers off' "$log" || status=1
	grep -qE 'pass:[1-9][0-9]* fail:0 skip:0' <<<"$totals" || status=1
	[ "$status" -eq 0 ] || grep -vE '^ +ok ' "$log" >&2
	rm -f "$log"
	[ "$status" -eq 0 ] || fail "KUnit"
	echo "PASS: ${line:+$line: }KUnit ${totals#\# }"
}
