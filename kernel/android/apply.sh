#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# apply.sh [--check | --reverse | --list-changes] [--accept-moved] TREE
#
# Applies the series of patches of its line to the tree of an Android common kernel (or of another Linux of that line),
# or takes it out again. All is tried on copies of the files first: if anything does not fit, each conflict is named and
# the tree is not touched. Applying twice, or taking out twice, changes nothing.
#
#   --check         only try
#   --reverse       take the series out
#   --list-changes  only print each changed line with its file and function, as in expected/
#   --accept-moved  go on though a line would get into another function than in the kernel that the series was made for:
#                   patch(1) looks for a place where the lines around fit, and may find another one
#
# What git knows of the tree is not changed: commit yourself, or use git am on the same files.

. "$(dirname "$0")/lib.sh"

reverse='' only_check='' list_changes='' accept_moved=''
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		print_help
		exit 0
		;;
	--check) only_check=1 ;;
	--reverse) reverse=1 ;;
	--list-changes) list_changes=1 ;;
	--accept-moved) accept_moved=1 ;;
	-*) misused "unknown option $1" ;;
	*) break ;;
	esac
	shift
done
[ $# -eq 1 ] || misused "expected one TREE"

# The files that the series changes or adds.
touched() {
	sed -nE 's,^\+\+\+ b/(.*)$,\1,p' "${patches[@]/#/$series/}" | sort -u
}

copy_touched() { # FROM TO
	local file
	mkdir -p "$2"
	while read -r file; do
		[ -e "$1/$file" ] || continue
		mkdir -p "$2/$(dirname "$file")"
		cp -p "$1/$file" "$2/$file"
	done < <(touched)
}

# Prints what does not fit, with the patch before it; false if anything does not.
apply_one() { # FOLDER PATCH OPTION...
	local output
	if ! output=$(patch -d "$1" -p1 --fuzz=0 --no-backup-if-mismatch --force -r - "${@:3}" <"$series/$2" 2>&1); then
		echo "  $2:"
		awk '/^(checking|patching) file /{ file = $3; next }
			/^Hunk.*FAILED|ignored|previously applied|Reversed|^can.t find/{ print "    " file ": " $0 }' <<<"$output"
		return 1
	fi
}

apply_in() { # FOLDER
	local name result=0
	for name in "${patches[@]}"; do
		apply_one "$1" "$name" --forward || result=1
	done
	return $result
}

reverse_in() { # FOLDER
	local i
	for ((i = ${#patches[@]} - 1; i >= 0; i--)); do
		apply_one "$1" "${patches[i]}" --reverse || return 1
	done
}

# Each changed line with its file and function.
placement() { # BEFORE AFTER
	local file
	while read -r file; do
		[ -e "$1/$file" ] || continue
		diff -U0 -p "$1/$file" "$2/$file" | awk -v file="$file" '/^(---|\+\+\+) /{ next }
			/^@@/{ sub(/^@@[^@]*@@ ?/, ""); place = $0; next } { print file ": " place ": " $0 }' || true
	done < <(touched | grep "\.[ch]$") | LC_ALL=C sort
}

check_placement() { # BEFORE AFTER
	local expected=$here/expected/$line.txt moved
	if moved=$(diff <(placement "$1" "$2") "$expected"); then
		echo "all $(wc -l <"$expected") changed lines are in the functions that they are meant for"
		return
	fi
	echo "lines that get into another function (<) than they are meant for (>):"
	grep '^[<>]' <<<"$moved" | sed 's/^/  /'
	[ -n "$accept_moved" ] || fail "nothing was changed; look at these lines, then use --accept-moved"
}

install_result() { # FROM
	local file
	while read -r file; do
		if [ ! -e "$1/$file" ]; then
			rm -f "$tree/$file"
		elif ! cmp -s "$1/$file" "$tree/$file"; then
			mkdir -p "$tree/$(dirname "$file")"
			cp --remove-destination "$1/$file" "$tree/$file" # it may be a hard link
		fi
	done < <(touched)
}

recognize "$1" >&2
make_scratch
copy_touched "$tree" "$scratch/taken-out"
is_applied=''
! reverse_in "$scratch/taken-out" >"$scratch/why-not" || is_applied=1

if [ -n "$reverse" ]; then
	if [ -n "$is_applied" ]; then
		[ -n "$only_check" ] || install_result "$scratch/taken-out"
		if [ -n "$only_check" ]; then echo "the series can be taken out"; else echo "the series was taken out"; fi
		exit 0
	fi
	copy_touched "$tree" "$scratch/applied"
	apply_in "$scratch/applied" >"$scratch/conflicts" || {
		echo "conflicts:"
		cat "$scratch/why-not"
		fail "the series is neither in the tree nor fits it: files were changed since; nothing was changed"
	}
	echo "the series is not in the tree: nothing to do"
	exit 0
fi

if [ -n "$is_applied" ]; then
	echo "the series is in the tree already: nothing to do"
	exit 0
fi
copy_touched "$tree" "$scratch/before"
copy_touched "$tree" "$scratch/applied"
apply_in "$scratch/applied" >"$scratch/conflicts" || {
	echo "conflicts:"
	cat "$scratch/conflicts"
	fail "$(grep -c ': Hunk' "$scratch/conflicts" || true) hunks do not fit; nothing was changed"
}
if [ -n "$list_changes" ]; then
	placement "$scratch/before" "$scratch/applied"
	exit 0
fi
check_placement "$scratch/before" "$scratch/applied"
if [ -n "$only_check" ]; then
	echo "the series applies: ${#patches[@]} patches"
	exit 0
fi
install_result "$scratch/applied"
echo "the series was applied: ${#patches[@]} patches"
