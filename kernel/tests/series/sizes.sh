# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The bytes that the series adds to each socket, computed by the compiler.

size_types=("struct tcp_sock" "struct tcp6_sock" "struct netns_ipv4")

# Prints SIZE_TYPE BYTES, from the assembler's text as in kernel/bounds.c: needs no debugger and runs nothing.
sizes_in() { # TREE OBJECTS
	kmake "$1" "$2" olddefconfig
	kmake "$1" "$2" "${parallel[@]}" net/ipv4/airbound_sizes.s >"$2/build.log" 2>&1 ||
		fail "$arch: cannot compute sizes: $(tail -3 "$2/build.log")"
	sed -nE 's/.*->SIZE_(\w+) [$#]?([0-9]+) .*/\1 \2/p' "$2/net/ipv4/airbound_sizes.s"
}

add_size_source() { # TREE
	local type
	{
		printf '#include <linux/kbuild.h>\n#include <linux/ipv6.h>\n#include <linux/tcp.h>\n#include <net/net_namespace.h>\n'
		printf 'void airbound_sizes(void);\nvoid airbound_sizes(void)\n{\n'
		for type in "${size_types[@]}"; do
			printf '\tDEFINE(SIZE_%s, sizeof(%s));\n' "${type// /_}" "$type"
		done
		printf '}\n'
	} >"$1/net/ipv4/airbound_sizes.c"
	sed -i '$a obj-y += airbound_sizes.o' "$1/net/ipv4/Makefile"
}

cmd_sizes() {
	local tree arch objects=$work/objects-sizes before with without type bytes more
	for arch in x86_64 arm64; do
		tree=$(fresh_tree sizes)
		add_size_source "$tree"
		configure "$tree" "$objects" defconfig
		before=$(sizes_in "$tree" "$objects")
		[ "$(wc -l <<<"$before")" -eq ${#size_types[@]} ] || fail "$arch: no sizes in the compiler's output"
		apply_all "$tree"
		without=$(sizes_in "$tree" "$objects")
		[ "$without" = "$before" ] || fail "$arch: without its options the series changes sizes: $before, $without"
		configure "$tree" "$objects" defconfig "$here/../configs/airbound.config"
		with=$(sizes_in "$tree" "$objects")
		check_options "$objects" "$here/../configs/airbound.config"
		while read -r type bytes _ more; do
			echo "$line $arch ${type/_/ }: $bytes bytes, with the series' options $more"
		done < <(paste -d ' ' <(echo "$before") <(echo "$with"))
	done
	remove_tree sizes
}
