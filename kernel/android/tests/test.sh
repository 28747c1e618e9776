#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test.sh [LINE]
#
# Tests the commands of kernel/android on the source of Debian's kernel of that line (6.1, 6.12), which stands for
# Android's, and on stand-ins for AnyKernel3 and mkbootimg. Takes about half a minute.

# shellcheck source=kernel/tests/series/prelude.sh
. "$(dirname "$0")/../../tests/series/prelude.sh"
start_with_line "$@"

android=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tests=0

# Runs a command and checks its exit code and that its output has each text.
expect() { # CODE TEXT... -- COMMAND...
	local want=$1 code=0 output texts=()
	shift
	while [ "$1" != -- ]; do
		texts+=("$1")
		shift
	done
	shift
	output=$("$@" 2>&1) || code=$?
	[ "$code" -eq "$want" ] || fail "$*: ended with $code, want $want: $output"
	for text in "${texts[@]}"; do
		[[ $output == *"$text"* ]] || fail "$*: no '$text' in: $output"
	done
	tests=$((tests + 1))
}

sums() { # FOLDER
	(cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
}

# The files that the series changes, with the marks of Android's tree of this line.
stand_in() { # FOLDER
	cp -r "$scratch/stand-in" "$1"
}

make_stand_in() {
	local file base tree=$scratch/stand-in
	base=$(base_tree)
	while read -r file; do
		[ -e "$base/$file" ] || continue
		mkdir -p "$tree/$(dirname "$file")"
		cp "$base/$file" "$tree/$file"
	done < <(echo Makefile && sed -nE 's,^--- a/(.*)$,\1,p' "$series"/*.patch | sort -u)
	echo "BRANCH=$branch" >"$tree/build.config.constants"
}

case $line in
6.1) branch=android14-6.1 ;;
*) branch=android16-6.12 ;;
esac

test_apply() {
	local tree=$scratch/tree patched=$scratch/patched before
	stand_in "$tree"
	stand_in "$patched"
	apply_all "$patched"
	before=$(sums "$tree")
	expect 0 "$branch, Linux $line." "the series applies: 12 patches" "in the functions that they are meant for" -- \
		"$android/apply.sh" --check "$tree"
	expect 0 "not in the tree" -- "$android/apply.sh" --reverse "$tree"
	"$android/apply.sh" --list-changes "$tree" 2>/dev/null | cmp - "$android/expected/$line.txt" ||
		fail "expected/$line.txt is not that of the series: see --list-changes"
	[ "$(sums "$tree")" = "$before" ] || fail "a check changed the tree"
	ln "$tree/net/ipv4/tcp_input.c" "$scratch/link"
	expect 0 "was applied: 12 patches" -- "$android/apply.sh" "$tree"
	[ "$(sums "$tree")" = "$(sums "$patched")" ] || fail "the tree is not as by patch(1)"
	cmp -s "$scratch/link" "$patched/net/ipv4/tcp_input.c" && fail "wrote through a hard link"
	expect 0 "in the tree already" -- "$android/apply.sh" "$tree"
	expect 0 "can be taken out" -- "$android/apply.sh" --check --reverse "$tree"
	[ "$(sums "$tree")" = "$(sums "$patched")" ] || fail "a check changed the tree"
	expect 0 "was taken out" -- "$android/apply.sh" --reverse "$tree"
	[ "$(sums "$tree")" = "$before" ] || fail "taking out left something"
}

# Another stable release: lines are elsewhere, and what is around some has changed.
test_other_release() {
	local tree=$scratch/other before
	stand_in "$tree"
	# The two setters of the window have the same lines, and patch(1) takes the place that is nearer.
	sed -i '1,40{/^ \*/d}' "$tree/include/net/tcp.h"
	sed -i '0,/^#define TCP_/s//#define OTHER_TCP_1 1\n#define OTHER_TCP_2 2\n&/' "$tree/net/ipv4/tcp_input.c"
	before=$(sums "$tree")
	expect 0 "in the functions that they are meant for" -- "$android/apply.sh" "$tree"
	expect 0 "was taken out" -- "$android/apply.sh" --reverse "$tree"
	[ "$(sums "$tree")" = "$before" ] || fail "taking out left something"
}

test_conflicts() {
	local tree=$scratch/conflict before copy=$scratch/copy
	stand_in "$tree"
	sed -i 's/tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp) - 1)/tcp_snd_cwnd_set(tp, 7)/;
		s/^static void tcp_cwnd_application_limited/static __always_inline void tcp_cwnd_application_limited/;
		s/tp->snd_ssthresh = tcp_current_ssthresh(sk);/tp->snd_ssthresh = vendor_ssthresh(sk);/' "$tree/net/ipv4/tcp_output.c"
	before=$(sums "$tree")
	expect 1 "conflicts:" "0008-tcp-write-ssthresh" "net/ipv4/tcp_output.c: Hunk" "nothing was changed" -- \
		"$android/apply.sh" "$tree"
	[ "$(sums "$tree")" = "$before" ] || fail "conflicts changed the tree"

	# A tree that has some of the patches, and one with a file changed since.
	tree=$scratch/half
	stand_in "$tree"
	apply_patch "$tree" "$series/$(patches | head -n 1)"
	before=$(sums "$tree")
	expect 1 "0001-tcp-add-rules" "nothing was changed" -- "$android/apply.sh" "$tree"
	expect 1 "neither in the tree nor fits it" -- "$android/apply.sh" --reverse "$tree"
	[ "$(sums "$tree")" = "$before" ] || fail "conflicts changed the tree"

	# Lines in another function than expected.
	tree=$scratch/moved
	stand_in "$tree"
	mkdir -p "$copy"
	cp -r "$android" "$copy/android"
	cp -r "$android/../patches" "$copy/patches"
	sed -i '1s/: .*: +/: static void other(void): +/' "$copy/android/expected/$line.txt"
	expect 1 "get into another function" "static void other(void)" "nothing was changed" -- \
		"$copy/android/apply.sh" "$tree"
	expect 0 "was applied" -- "$copy/android/apply.sh" --accept-moved "$tree"
}

test_recognition() {
	local tree=$scratch/recognized
	stand_in "$tree"
	echo "BRANCH=android15-6.6" >"$tree/build.config.constants"
	expect 1 "says that it is android15-6.6" -- "$android/apply.sh" --check "$tree"
	rm "$tree/build.config.constants"
	expect 0 "no branch of Android's" -- "$android/apply.sh" --check "$tree"
	mkdir "$tree/bazel"
	echo "BRANCH = \"$branch\"" >"$tree/bazel/constants.scl"
	expect 0 "$branch, Linux" -- "$android/apply.sh" --check "$tree"
	sed -i 's/^PATCHLEVEL = .*/PATCHLEVEL = 6/' "$tree/Makefile"
	expect 1 "there are series for 6.1 6.12 only" -- "$android/apply.sh" --check "$tree"
	expect 1 "has no Makefile" -- "$android/apply.sh" --check "$scratch"
	expect 2 "expected one TREE" -- "$android/apply.sh"
	expect 2 "unknown option" -- "$android/apply.sh" --frob "$tree"
}

test_options() {
	local arch=arm64 tree before=$scratch/config-before after=$scratch/config-after
	local make=(make -s ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-)
	tree=$(fresh_tree android)
	"$android/apply.sh" "$tree" >/dev/null
	mkdir "$before" "$after"
	"${make[@]}" -C "$tree" O="$before" defconfig >/dev/null
	(cd "$tree" && scripts/kconfig/merge_config.sh -m -O "$before" "$before/.config" \
		"$android/../configs/android.config" >/dev/null)
	cp "$before/.config" "$after/merged"
	"${make[@]}" -C "$tree" O="$before" olddefconfig 2>/dev/null
	(cd "$tree" && scripts/kconfig/merge_config.sh -m -O "$after" "$after/merged" \
		"$android/airbound_gki.config" >/dev/null)
	"${make[@]}" -C "$tree" O="$after" olddefconfig 2>/dev/null
	expect 0 "are right" -- "$android/check-options.sh" "$after/.config"
	expect 0 "are right" -- "$android/check-options.sh" "$after/.config" "$before/.config"
	expect 1 "CONFIG_TCP_CONG_VEGAS is " "CONFIG_TCP_CWND_BOUNDS is n, want y: the fragment" -- \
		"$android/check-options.sh" "$before/.config"
	"$tree/scripts/config" --file "$after/.config" -d MODVERSIONS -d TUN -m TCP_CONG_HTCP
	expect 1 "CONFIG_MODVERSIONS is n, want y" "CONFIG_TCP_CONG_HTCP is m, want n" "CONFIG_TUN was y, is n" \
		"3 options" -- "$android/check-options.sh" "$after/.config" "$before/.config"
	echo >"$scratch/empty"
	expect 1 "is no .config" -- "$android/check-options.sh" "$scratch/empty"
	remove_tree android
}

test_kmi() {
	local folder=$scratch/kmi list=$scratch/abi
	mkdir -p "$folder/objects/net"
	printf '0x%08x\t%s\tvmlinux\tEXPORT_SYMBOL\t\n' 1 tcp_poll 2 kfree 3 gone >"$folder/before"
	printf '0x%08x\t%s\tvmlinux\tEXPORT_SYMBOL\t\n' 9 tcp_poll 2 kfree 4 fresh >"$folder/after"
	expect 0 "3 symbols before, 3 after: 0 have" -- "$android/check-kmi.sh" "$folder/before" "$folder/before"
	expect 1 "1 have another checksum, 1 are missing, 1 are new" "changed: tcp_poll" "changed: gone" "new: fresh" -- \
		"$android/check-kmi.sh" "$folder/before" "$folder/after"
	printf '[abi_symbol_list]\n# comment\n  kfree\n  tcp_poll # vendor\n' >"$list"
	expect 1 "of 2 listed symbols, 1 have" "changed: tcp_poll" -- \
		"$android/check-kmi.sh" --list "$list" "$folder/before" "$folder/after"
	printf '[abi_symbol_list]\n  kfree\n' >"$list"
	expect 0 "of 1 listed symbols, 0 have" -- "$android/check-kmi.sh" --list "$list" "$folder/before" "$folder/after"
	echo '#SYMVER tcp_poll 0x00000001' >"$folder/objects/net/.tcp.o.cmd"
	expect 1 "1 symbols before" "1 have another checksum" -- "$android/check-kmi.sh" "$folder/objects" "$folder/after"
	expect 2 "no checksums" -- "$android/check-kmi.sh" "$list" "$folder/after"
	expect 2 "is not there" -- "$android/check-kmi.sh" "$folder/none" "$folder/after"
	# Modules: 8 octets of checksum, 56 of name.
	mkdir "$folder/modules"
	for module in 'old 1' 'new 9'; do
		printf '.section __versions,"a"\n.quad %s\n.asciz "tcp_poll"\n.zero 47\n' "${module#* }" |
			aarch64-linux-gnu-gcc -c -x assembler -o "$folder/modules/${module% *}.ko" -
	done
	expect 1 "refused: old.ko: tcp_poll" "of 2 modules, 1 will be refused" -- \
		"$android/check-kmi.sh" --modules "$folder/modules" "$folder/before" "$folder/after"
}

test_pack() {
	local image=$scratch/Image core=$scratch/anykernel mkbootimg=$scratch/mkbootimg out=$scratch/out
	mkdir -p "$core/tools" "$core/META-INF/com/google/android" "$mkbootimg" "$out"
	{
		head -c 56 /dev/zero
		printf 'ARM\144'
		seq 1000
	} >"$image"
	gzip -k "$image"
	lz4 -q "$image" "$image.lz4"
	echo core >"$core/tools/ak3-core.sh"
	echo binary >"$core/META-INF/com/google/android/update-binary"
	echo other >"$core/anykernel.sh"
	local pack=("$android/pack.sh" anykernel --anykernel "$core" --device tegu)
	for kernel in "$image" "$image.gz" "$image.lz4"; do
		expect 0 "bytes" -- "${pack[@]}" --device caiman --kernel "$kernel" --out "$out/$(basename "$kernel").zip"
	done
	(cd "$out" && mkdir unpacked && cd unpacked && unzip -q ../Image.lz4.zip)
	[ "$(cd "$out/unpacked" && find . -type f | LC_ALL=C sort | paste -sd ' ')" = \
		"./Image.lz4 ./META-INF/com/google/android/update-binary ./anykernel.sh ./tools/ak3-core.sh" ] ||
		fail "the zip has $(find "$out/unpacked" -type f)"
	cmp "$image.lz4" "$out/unpacked/Image.lz4" || fail "another kernel is in the zip"
	# As AnyKernel3 reads it: name=value, one to a line.
	[ "$(grep -E '^(device.name|do.devicecheck)' "$out/unpacked/anykernel.sh" | paste -sd ' ')" = \
		"do.devicecheck=1 device.name1=tegu device.name2=caiman" ] || fail "$(cat "$out/unpacked/anykernel.sh")"
	sh -n "$out/unpacked/anykernel.sh"
	mksh -n "$out/unpacked/anykernel.sh"
	touch "$core/tools/ak3-core.sh"
	"${pack[@]}" --device caiman --kernel "$image" --out "$out/again.zip" >/dev/null
	cmp "$out/Image.zip" "$out/again.zip" || fail "the same files gave another zip"
	expect 1 "is there already" -- "${pack[@]}" --kernel "$image" --out "$out/again.zip"
	expect 1 "is no arm64 kernel image" -- "${pack[@]}" --kernel "$core/anykernel.sh" --out "$out/x"
	expect 1 "is no name of a device" -- "${pack[@]}" --device 'a b' --kernel "$image" --out "$out/x"
	expect 1 "--device is missing" -- "$android/pack.sh" anykernel --anykernel "$core" --kernel "$image" --out "$out/x"
	expect 1 "is no checkout of AnyKernel3" -- \
		"$android/pack.sh" anykernel --anykernel "$scratch" --device a --kernel "$image" --out "$out/x"

	# Stand-ins that write and read what Android's commands do: parts, and arguments that name them.
	cat >"$mkbootimg/unpack_bootimg.py" <<-'PYTHON'
		import pathlib, sys
		given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
		assert sys.argv[-2:] == ["--format=mkbootimg", "--null"], sys.argv
		parts = pathlib.Path(given["--out"])
		parts.mkdir()
		for part in pathlib.Path(given["--boot_img"]).read_text().split():
		    (parts / part).write_text("old")
		print("--header_version", "4", "--os_version", "14.0.0", "--kernel", parts / "kernel", sep="\0", end="\0")
	PYTHON
	cat >"$mkbootimg/mkbootimg.py" <<-'PYTHON'
		import argparse, pathlib
		parser = argparse.ArgumentParser()
		for name in ("--header_version", "--os_version", "--kernel", "--output"):
		    parser.add_argument(name)
		given = parser.parse_args()
		image = f"v{given.header_version} {given.os_version} ".encode() + pathlib.Path(given.kernel).read_bytes()
		pathlib.Path(given.output).write_bytes(image)
	PYTHON
	pack=("$android/pack.sh" boot --mkbootimg "$mkbootimg" --kernel "$image.lz4")
	echo kernel >"$scratch/boot.img"
	expect 0 "is larger than" -- "${pack[@]}" --boot "$scratch/boot.img" --out "$out/boot.img"
	cmp "$out/boot.img" <(printf 'v4 14.0.0 ' && cat "$image.lz4") || fail "the image is not of the parts"
	echo ramdisk >"$scratch/init_boot.img"
	expect 1 "take boot.img, not init_boot.img" -- "${pack[@]}" --boot "$scratch/init_boot.img" --out "$out/y"
	expect 1 "has no mkbootimg.py" -- "$android/pack.sh" boot --mkbootimg "$scratch" --kernel "$image" \
		--boot "$scratch/boot.img" --out "$out/y"
}

for tool in aarch64-linux-gnu-gcc lz4 mksh modprobe unzip zip; do
	command -v "$tool" >/dev/null || fail "$tool is not installed; see tools/apt-packages-test.txt"
done
make_stand_in
test_apply
test_other_release
test_conflicts
test_recognition
test_options
test_kmi
test_pack
echo "PASS: $line: kernel/android: $tests commands did what they should"
