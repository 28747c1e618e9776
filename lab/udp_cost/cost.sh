#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures what a rate of UDP costs a phone: instructions that the kernel executes for a datagram that is sent at
# 50 Mb/s, with the program of phone-agent/flows/ at the interface and without. As kernel/tests/cost/cost.sh it counts
# in qemu's emulator, of a kernel for x86-64 with a compiler for BPF; report.py has the limit. Without the program it
# is counted twice: the difference is the noise.
#
#   cost.sh [--datagrams N] [--keep DIR] [--line LINE]
#
#   --datagrams N  of each phase (default 3200)
#   --keep DIR     keep the counts there; report.py can read them again
#   --line LINE    the kernel line (default 6.1)
#
# init.sh has the phases. Status 1 if a limit is exceeded. Needs what kernel/tests/cost/cost.sh needs, Go and iw.
#
# example:
#   lab/udp_cost/cost.sh --keep /tmp/udp-cost && lab/udp_cost/report.py /tmp/udp-cost

own=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=kernel/tests/series/prelude.sh
. "$own/../../kernel/tests/series/prelude.sh"

kernel_line=6.1 datagrams=3200 keep=''
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		print_help
		exit 0
		;;
	--datagrams) datagrams=$2 && shift ;;
	--keep) keep=$2 && shift ;;
	--line) kernel_line=$2 && shift ;;
	*)
		echo "cost.sh: unknown option '$1'; try 'cost.sh --help'" >&2
		exit 2
		;;
	esac
	shift
done
for program in qemu-system-x86_64 cpio go iw; do
	PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || fail "$program is not installed"
done

build_kernel() { # DIR
	local tree objects=$work/objects-udp-cost arch=x86_64
	tree=$(fresh_tree udp-cost)
	configure "$tree" "$objects" tinyconfig "$here/cost/cost.config" "$own/cost.config"
	check_options "$objects" "$here/cost/cost.config" "$own/cost.config"
	compile "$tree" "$objects" bzImage
	mkdir -p "$1.new"
	cp "$objects/System.map" "$objects/arch/x86/boot/bzImage" "$1.new/"
	remove_tree udp-cost
	mv "$1.new" "$1"
}

# As kernel/tests/cost/initramfs.sh, with other programs.
make_initramfs() { # FILE
	local root=$tmp/root file
	mkdir -p "$root"/{proc,sys,dev,run,bin}
	for program in /usr/bin/{dash,mount,sleep,cat,rm} $(PATH=$PATH:/usr/sbin command -v ip iw); do
		for file in "$program" $(ldd "$program" | grep -o '/[^ ]*'); do
			mkdir -p "$root$(dirname "$file")"
			[ -e "$root$file" ] || cp -L "$file" "$root$file"
		done
	done
	ln -s /usr/bin/dash "$root/bin/sh"
	gcc -O2 -Wall -Wextra -Werror -static -o "$root/udp_work" "$own/udp_work.c"
	gcc -O2 -Wall -Wextra -Werror -static -o "$root/power_off" "$own/power_off.c"
	(cd "$own" && CGO_ENABLED=0 go build -trimpath -o "$root/pace-program" ./pace)
	mv "$root/pace-program" "$root/pace"
	cp "$own/init.sh" "$root/init"
	chmod +x "$root/init"
	(cd "$root" && find . -print0 | LC_ALL=C sort -z | cpio --quiet -0 -o -H newc -R 0:0 --reproducible) >"$1"
}

use_line "$kernel_line"
lock_line
kernel=$work/udp-cost-$( (inputs cost && cat "$here/cost/cost.config" "$own/cost.config") | sha256sum | cut -c1-16)
if [ ! -e "$kernel" ]; then
	rm -rf "$work"/udp-cost-*
	echo "building the kernel" >&2
	build_kernel "$kernel"
fi
exec 8>&- # allow other builds while this counts

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
keep=${keep:-$tmp/counts}
mkdir -p "$keep"
gcc -O2 -Wall -Werror -shared -fPIC -fvisibility=hidden -o "$tmp/count_insns.so" "$here/cost/count_insns.c"
make_initramfs "$tmp/initramfs"
sort "$kernel/System.map" | awk -f "$own/hooks.awk" >"$tmp/hooks"
echo "counting" >&2
parameters="console=ttyS0 quiet panic=-1 norandmaps tsc_early_khz=1000000 nolapic mac80211_hwsim.radios=1"
nice timeout 3600 qemu-system-x86_64 -accel tcg,thread=single -icount shift=0,sleep=off -cpu qemu64 -m 512 -seed 1 \
	-nodefaults -no-user-config -display none -no-reboot -rtc base=2026-01-01,clock=vm -serial stdio \
	-kernel "$kernel/bzImage" -initrd "$tmp/initramfs" -append "$parameters DATAGRAMS=$datagrams" \
	-plugin "$tmp/count_insns.so,out=$keep/counts,hooks=$tmp/hooks" </dev/null >"$keep/console"
echo "$datagrams" >"$keep/datagrams"
python3 "$own/report.py" "$keep"
