# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The source of a line, trees made from it, and cached results.

lines=(6.1 6.12)
cache=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/airbound/kernel}

use_line() { # LINE
	line=$1
	series=$(realpath "${SERIES:-$here/../patches/$line}")
	tarball=${TARBALL:-/usr/src/linux-source-$line.tar.xz}
	work=$cache/$line
	[ -r "$series/series" ] || fail "no $series/series"
	[ -r "$tarball" ] || fail "no $tarball: install linux-source-$line or set TARBALL"
	mkdir -p "$work/good" "$work/kernels"
}

# Prevents two runs in the same tree.
lock_line() {
	exec 8>"$work/lock"
	flock -n 8 || {
		echo "waiting for another check of $line to end" >&2
		flock 8
	}
}

patches() { # [FOLDER]
	grep -vE '^(#|$)' "${1:-$series}/series"
}

# The objects of the files that the series changes and that exist; patches not yet applied add others.
series_objects() { # TREE
	local object
	while read -r object; do
		[ ! -e "$1/${object%.o}.c" ] || echo "$object"
	done < <(sed -n 's|^+++ b/\(net/.*\)\.c$|\1.o|p' "$series"/*.patch | sort -u)
}

# The unpacked source, never changed. Trees are hard links of it.
base_tree() {
	local base
	base=$cache/base-$(sha256sum "$tarball" | cut -c1-16)
	if [ ! -e "$base/.complete" ]; then
		echo "unpacking $(basename "$tarball")" >&2
		rm -rf "$base"
		mkdir -p "$base"
		tar -C "$base" --strip-components=1 -xf "$tarball"
		touch "$base/.complete"
	fi
	echo "$base"
}

# A tree of hard links, with um/ if it is for User Mode Linux, and an empty object directory. patch(1) replaces files,
# so the base does not change. Objects of an earlier tree are removed: a file patched there has its old date again in
# this tree, and make would consider its object current.
fresh_tree() { # NAME
	local base
	base=$(base_tree)
	remove_tree "$1"
	cp -al "$base" "$work/tree-$1"
	mkdir "$work/objects-$1"
	[ "$arch" != um ] || apply_folder "$here/um" "$work/tree-$1"
	echo "$work/tree-$1"
}

remove_tree() { # NAME
	rm -rf "$work/tree-$1" "$work/objects-$1"
}

apply_patch() { # TREE FILE
	patch -d "$1" -p1 -s --fuzz=0 --no-backup-if-mismatch <"$2" ||
		fail "$(basename "$2") does not apply"
}

apply_folder() { # FOLDER TREE
	local name names
	names=$(patches "$1") || fail "no patches in $1/series"
	for name in $names; do
		apply_patch "$2" "$1/$name"
	done
}

apply_all() { # TREE
	apply_folder "$series" "$1"
}

# The inputs of NAME beyond those common to all names.
inputs_only_of() { # NAME
	case $1 in
	arm64 | arm64-image | sizes) echo series/arm64.sh series/sizes.sh ../configs ;;
	guest-arm64) echo series/arm64.sh arm64/arm64.config ../configs ;;
	debug) echo debug ;;
	esac
}

# A hash of everything that the result of NAME, a kernel or a command, depends on.
inputs() { # NAME
	local only
	read -r -a only < <(inputs_only_of "$1" && echo)
	{
		sha256sum <"$tarball"
		gcc -dumpfullversion
		aarch64-linux-gnu-gcc -dumpfullversion 2>/dev/null || true
		ld --version | head -n 1
		sparse --version 2>/dev/null || true
		(cd "$series" && sha256sum -- *)
		(cd "$here" && find check-series.sh boot.sh {guest,uml}.config um guest/init.sh series/{make,style,tree,uml}.sh \
			../configs/{airbound,kunit}.config "${only[@]}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
	} | sha256sum | cut -c1-16
}

# Runs COMMAND, or prints its cached output if it passed with the same inputs before.
once() { # NAME COMMAND...
	local name=$1 record
	shift
	record=$work/good/$name-$(inputs "$name")
	if [ ! -e "$record" ] || [ -n "${AGAIN:-}" ]; then
		rm -f "$work/good/$name"-*
		"$@" | tee "$work/good/.$name"
		mv "$work/good/.$name" "$record"
	else
		sed 's/$/ (cached)/' "$record"
	fi
}
