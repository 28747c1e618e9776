# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A line's source, trees made of it, and what was found out about it before.

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

# Two runs would build in one another's trees.
lock_line() {
	exec 8>"$work/lock"
	flock -n 8 || {
		echo "waiting for another check of $line" >&2
		flock 8
	}
}

patches() { # [FOLDER]
	grep -vE '^(#|$)' "${1:-$series}/series"
}

# The objects of the files that the series touches, as far as they are there: a patch not yet applied may bring some.
series_objects() { # TREE
	local object
	while read -r object; do
		[ ! -e "$1/${object%.o}.c" ] || echo "$object"
	done < <(sed -n 's|^+++ b/\(net/.*\)\.c$|\1.o|p' "$series"/*.patch | sort -u)
}

# The unpacked source, never changed; trees are hard links of it.
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

# A tree of hard links, with um/ if it is for User Mode Linux, and nothing where it is to be built. patch(1) replaces files,
# so the base stays as it is. What an earlier tree was built to goes with it: here a file that was patched then has its
# old date again, and make would take its objects for current.
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

# What decides NAME beside what decides everything.
inputs_only_of() { # NAME
	case $1 in
	arm64 | arm64-image | sizes) echo series/arm64.sh series/sizes.sh ../configs ;;
	guest-arm64) echo series/arm64.sh arm64/arm64.config ../configs ;;
	debug) echo debug ;;
	esac
}

# One word for all that decides what NAME, a kernel or a command, comes to.
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

# Runs COMMAND, unless it came to a good end with the same inputs before: then tells again what it printed.
once() { # NAME COMMAND...
	local name=$1 record
	shift
	record=$work/good/$name-$(inputs "$name")
	if [ ! -e "$record" ] || [ -n "${AGAIN:-}" ]; then
		rm -f "$work/good/$name"-*
		"$@" | tee "$work/good/.$name"
		mv "$work/good/.$name" "$record"
	else
		sed 's/$/ (found before)/' "$record"
	fi
}
