#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Measures the cost of the series for a sender: instructions that the kernel executes for it per acknowledged segment,
# with the series and without. Both kernels are x86-64 with the same options and compiler. They run in qemu's emulator,
# where time is the number of instructions executed. When its timers fire still depends on the host by a few
# instructions, so the unpatched kernel is counted twice: the difference between these two counts is the noise.
#
#   cost.sh [--json] [--repeats N] [--megabytes N] [--keep DIR] [--line LINE]
#
#   --json         the table and the functions as JSON
#   --repeats N    uploads of each kind, each with another start time (default 3)
#   --megabytes N  size of an upload (default 24)
#   --keep DIR     keep the counts there; report.py can read them again
#   --line LINE    the kernel line (default 6.1)
#
# guest_work.py defines the uploads and the states of the kernel, report.py the limits. Status 1 if a limit is exceeded.
# Needs qemu-system-x86, cpio and the tools for building a kernel. CACHE and JOBS as in check-series.sh.
#
# example:
#   kernel/tests/cost/cost.sh --keep /tmp/cost && kernel/tests/cost/report.py --json /tmp/cost

# shellcheck source=SCRIPTDIR/../series/prelude.sh
. "$(dirname "$0")/../series/prelude.sh"

cost=$here/cost
cases=none,one,full-no-match,full,full-limits,full-changes,traced
kernel_line=6.1 repeats=3 megabytes=24 keep='' report=()
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		print_help
		exit 0
		;;
	--json) report+=(--json) ;;
	--repeats) repeats=$2 && shift ;;
	--megabytes) megabytes=$2 && shift ;;
	--keep) keep=$2 && shift ;;
	--line) kernel_line=$2 && shift ;;
	*)
		echo "cost.sh: unknown option '$1'; try 'cost.sh --help'" >&2
		exit 2
		;;
	esac
	shift
done
for program in qemu-system-x86_64 cpio ethtool; do
	command -v "$program" >/dev/null || fail "$program is not installed"
done

save() { # OBJECTS DIR
	mkdir -p "$2"
	cp "$1/System.map" "$1/arch/x86/boot/bzImage" "$2/"
}

# One tree, built without the series and then with it: only changed files are compiled twice.
build_kernels() { # DIR
	local tree objects=$work/objects-cost
	arch=x86_64
	tree=$(fresh_tree cost)
	echo "building the unpatched kernel" >&2
	configure "$tree" "$objects" tinyconfig "$cost/cost.config"
	check_options "$objects" "$cost/cost.config"
	compile "$tree" "$objects" bzImage
	save "$objects" "$1.new/base"
	echo "building the patched kernel" >&2
	apply_all "$tree"
	configure "$tree" "$objects" tinyconfig "$cost/cost.config" "$here/../configs/airbound.config"
	check_options "$objects" "$cost/cost.config" "$here/../configs/airbound.config"
	compile "$tree" "$objects" bzImage
	save "$objects" "$1.new/patched"
	remove_tree cost
	mv "$1.new" "$1"
}

# An instruction takes a nanosecond and idling takes no time, so the guest depends very little on the host.
count() { # KERNEL DIR CASES
	local parameters="console=ttyS0 quiet panic=-1 norandmaps tsc_early_khz=1000000 nolapic"
	mkdir -p "$2"
	cp "$1/System.map" "$2/"
	sort "$2/System.map" | awk -f "$cost/hooks.awk" >"$2/hooks"
	nice timeout 3600 qemu-system-x86_64 -accel tcg,thread=single -icount shift=0,sleep=off -cpu qemu64 -m 512 \
		-seed 1 -nodefaults -no-user-config -display none -no-reboot -rtc base=2026-01-01,clock=vm -serial stdio \
		-kernel "$1/bzImage" -initrd "$tmp/initramfs" \
		-append "$parameters CASES=$3 REPEATS=$repeats MEGABYTES=$megabytes" \
		-plugin "$tmp/count_insns.so,out=$2/counts,hooks=$2/hooks" </dev/null >"$2/console"
}

use_line "$kernel_line"
lock_line
kernels=$work/cost-$( (inputs cost && cat "$cost/cost.config" "$cost/cost.sh") | sha256sum | cut -c1-16)
if [ ! -e "$kernels" ]; then
	rm -rf "$work"/cost-*
	build_kernels "$kernels"
fi
exec 8>&- # allow other builds while this counts

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
keep=${keep:-$tmp}
gcc -O2 -Wall -Werror -shared -fPIC -fvisibility=hidden -o "$tmp/count_insns.so" "$cost/count_insns.c"
"$cost/initramfs.sh" "$tmp/initramfs"
echo "counting the unpatched kernel" >&2
count "$kernels/base" "$keep/base" none
echo "counting it again" >&2
count "$kernels/base" "$keep/again" none
echo "counting the patched kernel" >&2
count "$kernels/patched" "$keep/patched" "$cases"
python3 "$cost/report.py" "${report[@]}" "$keep"
