#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# pack.sh anykernel --kernel IMAGE --anykernel DIR --device NAME [--device NAME]... --out FILE.zip
# pack.sh boot      --kernel IMAGE --boot boot.img --mkbootimg DIR --out new-boot.img
#
# Packs a kernel for a phone.
#
#   --kernel IMAGE   arch/arm64/boot/Image, Image.gz or Image.lz4 of a built tree
#   --anykernel DIR  a checkout of AnyKernel3 (its core is not part of this repository)
#   --device NAME    a value of ro.product.device that the zip may be installed on; of up to five devices
#   --boot boot.img  the boot image that the phone has now: everything but the kernel is taken from it
#   --mkbootimg DIR  Android's system/tools/mkbootimg, of Android 12 or later: images of GKI kernels have a header of
#                    version 4, which Debian's package mkbootimg (29.0.6) does not write
#   --out FILE       must not be there yet

. "$(dirname "$0")/lib.sh"

kind='' kernel='' anykernel='' boot='' mkbootimg='' out='' devices=()
case ${1:-} in
anykernel | boot) kind=$1 ;;
-h | --help)
	print_help
	exit 0
	;;
*) misused "expected anykernel or boot" ;;
esac
shift
while [ $# -gt 0 ]; do
	[ $# -gt 1 ] || misused "$1 needs a value"
	case $1 in
	--kernel) kernel=$2 ;;
	--anykernel) anykernel=$2 ;;
	--device) devices+=("$2") ;;
	--boot) boot=$2 ;;
	--mkbootimg) mkbootimg=$2 ;;
	--out) out=$2 ;;
	*) misused "unknown option $1" ;;
	esac
	shift 2
done
[ -r "$kernel" ] || fail "cannot read --kernel ${kernel:-: it is missing}"
[ -n "$out" ] || misused "--out is missing"
[ ! -e "$out" ] || fail "$out is there already"
out=$(realpath -m "$out")

# The 64 bytes of arm64's header have "ARM\x64" at 56 (Documentation/arm64/booting.rst).
check_image() { # FILE
	[ "$(tail -c +57 "$1" | head -c 4 | tr -d '\0')" = ARMd ] || fail "$kernel is no arm64 kernel image"
}

make_scratch
case $kernel in
*.gz) gzip -dc "$kernel" >"$scratch/Image" || fail "$kernel is no gzip" ;;
*.lz4) lz4 -dcq "$kernel" >"$scratch/Image" || fail "$kernel is no lz4, or lz4 is not installed" ;;
*) cp "$kernel" "$scratch/Image" ;;
esac
check_image "$scratch/Image"

pack_anykernel() {
	local folder=$scratch/zip number=0 device file text
	for file in tools/ak3-core.sh META-INF/com/google/android/update-binary; do
		[ -r "$anykernel/$file" ] || fail "--anykernel ${anykernel:-(missing)} is no checkout of AnyKernel3: no $file"
	done
	[ ${#devices[@]} -gt 0 ] || fail "--device is missing: without, the zip would install on any phone"
	[ ${#devices[@]} -le 5 ] || fail "AnyKernel3 takes five devices at most"
	command -v zip >/dev/null || fail "zip is not installed"
	mkdir "$folder"
	cp -r "$anykernel/META-INF" "$anykernel/tools" "$folder/"
	[ ! -e "$anykernel/LICENSE" ] || cp "$anykernel/LICENSE" "$folder/"
	cp "$kernel" "$folder/$(basename "$kernel")"
	while IFS= read -r text; do
		if [ "$text" = "@DEVICES@" ]; then
			for device in "${devices[@]}"; do
				[[ $device =~ ^[A-Za-z0-9._-]+$ ]] || fail "$device is no name of a device"
				number=$((number + 1))
				echo "device.name$number=$device"
			done
		else
			echo "$text"
		fi
	done <"$here/anykernel/anykernel.sh" >"$folder/anykernel.sh"
	# The same files give the same zip.
	find "$folder" -exec touch -h -d @1000000000 {} +
	(cd "$folder" && find . -type f | LC_ALL=C sort | TZ=UTC zip -q -X -9 -@ "$out")
}

pack_boot() {
	local arguments=() file
	[ -r "$boot" ] || fail "cannot read --boot ${boot:-: it is missing}"
	for file in mkbootimg.py unpack_bootimg.py; do
		[ -r "$mkbootimg/$file" ] || fail "--mkbootimg ${mkbootimg:-(missing)} has no $file"
	done
	# Its arguments, NUL after each, name the parts that it wrote to --out; the last --kernel counts.
	python3 "$mkbootimg/unpack_bootimg.py" --boot_img "$boot" --out "$scratch/parts" --format=mkbootimg --null \
		>"$scratch/arguments" || fail "cannot unpack $boot"
	mapfile -d '' -t arguments <"$scratch/arguments"
	[ -e "$scratch/parts/kernel" ] || fail "$boot has no kernel: take boot.img, not init_boot.img"
	python3 "$mkbootimg/mkbootimg.py" "${arguments[@]}" --kernel "$kernel" --output "$out" ||
		fail "cannot make the boot image"
	[ "$(stat -c %s "$out")" -le "$(stat -c %s "$boot")" ] ||
		echo "note: $out is larger than $boot; check that the partition takes it" >&2
}

"pack_$kind"
echo "$out: $(stat -c %s "$out") bytes"
