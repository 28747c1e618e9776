#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-kmi.sh [--list FILE]... [--modules DIR] BEFORE AFTER
#
# Compares the symbols that two builds of a kernel export: which have another checksum (CRC), are missing, or are new.
# A module that was built for BEFORE and uses a symbol with another checksum is refused by AFTER ("disagrees about
# version of symbol"), so it must be built again.
#
#   BEFORE, AFTER  a Module.symvers (or vmlinux.symvers) of each, or a folder of objects: then the checksums that the
#                  compiler left beside the objects are taken, which needs no whole build
#   --list FILE    counts and names changed symbols of a symbol list only (android/abi_gki_aarch64*); may be given often
#   --modules DIR  names the modules (*.ko) below a folder that will be refused; needs modprobe of kmod
#
# Ends with 0 if nothing that counts has changed, with 1 if it has, with 2 if the comparison cannot be made.

. "$(dirname "$0")/lib.sh"

fail() {
	echo "$(basename "$0"): $*" >&2
	exit 2
}

lists=() modules=''
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		print_help
		exit 0
		;;
	--list)
		[ -r "${2:-}" ] || fail "cannot read the symbol list ${2:-}"
		lists+=("$2")
		shift
		;;
	--modules)
		[ -d "${2:-}" ] || fail "${2:-} is no folder of modules"
		modules=$2
		shift
		;;
	-*) misused "unknown option $1" ;;
	*) break ;;
	esac
	shift
done
[ $# -eq 2 ] || misused "expected BEFORE and AFTER"
make_scratch

# SYMBOL CRC, sorted.
symbols() { # SOURCE
	if [ -d "$1" ]; then
		find "$1" -name '.*.cmd' -exec sed -nE 's/^#SYMVER ([^ ]+) (0x[0-9a-f]+)$/\1 \2/p' {} +
	else
		awk '/^0x/{ print $2, $1 }' "$1"
	fi | LC_ALL=C sort -u
}

# The names in symbol lists: indented lines below [abi_symbol_list].
listed() {
	sed -nE 's/^[[:space:]]+([A-Za-z_][A-Za-z0-9_]*).*$/\1/p' "$@" | LC_ALL=C sort -u
}

for side in before after; do
	[ -e "$1" ] || fail "$1 is not there"
	symbols "$1" >"$scratch/$side"
	[ -s "$scratch/$side" ] || fail "$1 has no checksums of symbols; is CONFIG_MODVERSIONS set?"
	shift
done
LC_ALL=C join "$scratch/before" "$scratch/after" | awk '$2 != $3 { print $1 }' >"$scratch/changed"
LC_ALL=C join -v 1 "$scratch/before" "$scratch/after" | cut -d' ' -f1 >"$scratch/missing"
LC_ALL=C join -v 2 "$scratch/before" "$scratch/after" | cut -d' ' -f1 >"$scratch/new"
count() { wc -l <"$scratch/$1"; }
echo "$(count before) symbols before, $(count after) after: $(count changed) have another checksum," \
	"$(count missing) are missing, $(count new) are new"
sed 's/^/new: /' "$scratch/new"

LC_ALL=C sort "$scratch/changed" "$scratch/missing" >"$scratch/broken"
if [ ${#lists[@]} -gt 0 ]; then
	listed "${lists[@]}" >"$scratch/listed"
	LC_ALL=C join "$scratch/broken" "$scratch/listed" >"$scratch/counts"
	echo "of $(count listed) listed symbols, $(count counts) have another checksum or are missing"
else
	cp "$scratch/broken" "$scratch/counts"
fi
sed 's/^/changed: /' "$scratch/counts"

if [ -n "$modules" ]; then
	command -v modprobe >/dev/null || fail "modprobe is not installed (package kmod)"
	refused=0 all=0
	while IFS= read -r -d '' module; do
		all=$((all + 1))
		uses=$(modprobe --dump-modversions "$module" | awk '{ print $2, $1 }' | LC_ALL=C sort)
		wrong=$(LC_ALL=C join <(echo "$uses") "$scratch/after" |
			awk '{ a = $2; b = $3; sub(/^0x0*/, "", a); sub(/^0x0*/, "", b) } a != b { print $1 }' | paste -sd ' ')
		[ -z "$wrong" ] || {
			refused=$((refused + 1))
			echo "refused: ${module#"$modules"/}: $wrong"
		}
	done < <(find "$modules" -name '*.ko' -print0 | LC_ALL=C sort -z)
	echo "of $all modules, $refused will be refused"
fi
[ "$(count counts)" -eq 0 ]
