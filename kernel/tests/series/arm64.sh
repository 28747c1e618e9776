# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The series cross-compiled for arm64 with the options of Android's kernels: configs/android.config for all lines,
# configs/android-LINE.config for one.

configure_arm64() { # TREE OBJECTS DEFCONFIG FRAGMENT...: with these fragments and Android's
	local configs=$here/../configs fragment fragments=()
	command -v aarch64-linux-gnu-gcc >/dev/null || fail "gcc-aarch64-linux-gnu is not installed"
	for fragment in android "android-$line" airbound; do
		[ ! -e "$configs/$fragment.config" ] || fragments+=("$configs/$fragment.config")
	done
	fragments+=("${@:4}")
	configure "$1" "$2" "$3" "${fragments[@]}"
	check_options "$2" "${fragments[@]}"
}

# OBJECT KIND SYMBOL as printed by nm: T or D where the series defines it, U where TCP uses it.
arm64_symbols() {
	cat <<-'SYMBOLS'
		tcp_cwnd_rules.o T tcp_cwnd_rules_apply
		tcp_cwnd_rules.o T tcp_cwnd_rules_bounds
		tcp_cwnd_bounds.o T tcp_cwnd_bounds_lookup
		tcp_cwnd_bounds.o T __tcp_cwnd_bounds_enforce
		tcp_cwnd_bounds.o T __tcp_cwnd_bounds_count
		tcp_retransmit_request.o T tcp_retransmit_parse
		tcp_retransmit.o U tcp_retransmit_now
		tcp_timer.o T tcp_retransmit_now
		tcp_input.o T tcp_undo_outage
		tcp_monitor.o T __tcp_monitor_trace_event
		tcp_monitor.o T __tcp_monitor_trace_window
		tcp_monitor.o D __tracepoint_tcp_monitor_event
		tcp_monitor.o D __tracepoint_tcp_monitor_window
		tcp_input.o U tcp_cwnd_bounds_lookup
		tcp_input.o U __tcp_cwnd_bounds_enforce
		tcp_input.o U __tcp_monitor_trace_event
		tcp_output.o U __tcp_cwnd_bounds_enforce
		tcp_cong.o U __tcp_cwnd_bounds_count
		tcp_cong.o U __tcp_monitor_trace_window
		tcp_cubic.o U __tcp_monitor_trace_window
		tcp_timer.o U __tcp_monitor_trace_event
	SYMBOLS
}

check_symbols() { # NET_IPV4_DIR
	local object kind symbol found
	while read -r object kind symbol; do
		found=$(aarch64-linux-gnu-nm "$1/$object")
		grep -qE "(^| )$kind $symbol\$" <<<"$found" || fail "$object has no '$kind $symbol'"
	done < <(arm64_symbols)
}

cmd_arm64() {
	local tree objects=$work/objects-arm64 arch=arm64
	tree=$(fresh_tree arm64)
	apply_all "$tree"
	configure_arm64 "$tree" "$objects" defconfig
	compile "$tree" "$objects" "${net_dirs[@]}"
	check_symbols "$objects/net/ipv4"
	echo "PASS: $line: net/ compiles for arm64, $(arm64_symbols | wc -l) symbols are defined and used as expected"
	remove_tree arm64
}

# A small kernel for the emulator, to run the tests of guest/.
cmd_build_arm64() {
	local arch=arm64 tree objects=$work/objects-guest-arm64 image
	image=$work/kernels/guest-arm64-$(inputs guest-arm64)/Image
	if [ ! -e "$image" ] || [ -n "${AGAIN:-}" ]; then
		tree=$(fresh_tree guest-arm64)
		apply_all "$tree"
		configure_arm64 "$tree" "$objects" tinyconfig "$here/arm64/arm64.config" "${guest_fragments[@]}"
		compile "$tree" "$objects" Image
		keep_kernel "$objects/arch/arm64/boot/Image" "$image"
		remove_tree guest-arm64
	fi
	touch "$(dirname "$image")"
	echo "$image"
}

# Takes long, so an interrupted build is continued.
cmd_arm64_image() {
	local tree=$work/tree-arm64-image objects=$work/objects-arm64-image arch=arm64 image symbol
	image=$work/kernels/arm64-$(inputs arm64-image)/Image
	if [ ! -e "$image" ] || [ -n "${AGAIN:-}" ]; then
		if [ ! -e "$objects/begun-$(inputs arm64-image)" ]; then
			tree=$(fresh_tree arm64-image)
			apply_all "$tree"
			configure_arm64 "$tree" "$objects" defconfig
			touch "$objects/begun-$(inputs arm64-image)"
		fi
		compile "$tree" "$objects" Image
		while read -r _ _ symbol; do
			grep -q " $symbol\$" "$objects/System.map" || fail "the Image has no $symbol"
		done < <(arm64_symbols)
		keep_kernel "$objects/arch/arm64/boot/Image" "$image"
		remove_tree arm64-image
	fi
	echo "$image"
}
