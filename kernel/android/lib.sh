# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The common start of the commands of this folder. To be sourced first.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

misused() {
	echo "$(basename "$0"): $*; see --help" >&2
	exit 2
}

# Prints the comment at the beginning of the running command.
print_help() {
	awk 'NR > 3 { if (!sub(/^# ?/, "")) exit; print }' "$0"
}

# A directory that is removed at the end.
make_scratch() {
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
}

# The value of a variable in the first lines of a kernel's Makefile.
makefile_value() { # TREE NAME
	sed -n "1,8s/^$2 = *//p" "$1/Makefile"
}

# The branch of Android's common kernel that a tree says it is; nothing if it says none.
android_branch() { # TREE
	local file
	for file in build.config.constants build.config.common bazel/constants.scl; do
		[ -e "$1/$file" ] || continue
		sed -nE 's/^ *BRANCH *= *"?(android[0-9]+-[0-9]+\.[0-9]+)([^0-9].*)?$/\1/p' "$1/$file"
	done | head -n 1
}

# Sets tree, line, release, series and patches.
recognize() { # TREE
	local branch
	tree=$1
	[ -r "$tree/Makefile" ] || fail "$tree is no kernel tree: it has no Makefile"
	line=$(makefile_value "$tree" VERSION).$(makefile_value "$tree" PATCHLEVEL)
	release=$line.$(makefile_value "$tree" SUBLEVEL)
	[ "$line" != . ] || fail "$tree/Makefile has no version of a kernel"
	[ -r "$here/../patches/$line/series" ] ||
		fail "$tree is Linux $release; there are series for $(cd "$here/../patches" && echo *) only"
	branch=$(android_branch "$tree")
	case $branch in
	*-"$line") echo "$tree: $branch, Linux $release" ;;
	'') echo "$tree: Linux $release, and no branch of Android's (no BRANCH in build.config.constants)" ;;
	*) fail "$tree says that it is $branch, but its Makefile is that of Linux $release" ;;
	esac
	series=$here/../patches/$line
	# shellcheck disable=SC2034 # for who sources this
	mapfile -t patches < <(grep -vE '^(#|$)' "$series/series")
}
