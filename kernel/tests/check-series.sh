#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checks the patch series of a kernel line; `check-series.sh --help` tells how. What it does is in series/.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lines=(6.1 6.12)

usage() {
	cat <<-'HELP'
		usage: check-series.sh [--line LINE] COMMAND

		Checks patches/LINE, the series for Linux LINE (6.1 or 6.12).

		of one line, or of all of them in turn when there is no --line:
		  apply          each patch applies, without fuzz
		  checkpatch     each patch is clean with --strict
		  setters        no write of cwnd or ssthresh passes its setter
		  same-code      files that all lines are meant to share are the same in each

		of the line given:
		  ci             what every change is tested with: same-code, apply, setters, compile-each, build, kunit
		  all            what a change of the series is tested with: ci, build-each, options, sparse, arm64, sizes
		  compile-each   after each patch the files that the series touches compile without warnings; builds the kernels
		                 without and with the series on the way
		  build          builds the whole series for User Mode Linux; prints the path of the kernel
		  build-base     the same for the unpatched source
		  build-each     after each patch: builds, boots, passes KUnit
		  options        net/ compiles with each combination of the series' options
		  sparse         the series adds no sparse warning
		  arm64          net/ cross-compiles for arm64 with Android's options, and calls what the series adds
		  build-arm64    the series for arm64 with Android's options, small, for the emulator; prints the path of the Image
		  arm64-image    the whole arm64 Image; prints its path (takes half an hour and more on two cores)
		  sizes          what the series adds to each socket, x86-64 and arm64

		of a kernel that is built:
		  kunit LINUX    boots it and runs KUnit in it

		A result is kept and told again as long as source, series, options, these scripts and the compiler are the same.

		examples:
		  check-series.sh checkpatch
		  check-series.sh --line 6.12 ci
		  boot-test.sh "$(check-series.sh --line 6.12 build)"
		  AGAIN=1 check-series.sh --line 6.1 arm64

		environment:
		  CACHE     where to build (default: airbound/kernel in $XDG_CACHE_HOME or ~/.cache; takes 4 GB)
		  JOBS      of make (default: 2)
		  AGAIN     1: do not believe what was found before
		  SERIES    with --line: another folder than patches/LINE
		  TARBALL   with --line: another source than /usr/src/linux-source-LINE.tar.xz
	HELP
}

# shellcheck source=SCRIPTDIR/boot.sh
. "$here/boot.sh"
# shellcheck source=SCRIPTDIR/series/tree.sh
. "$here/series/tree.sh"
# shellcheck source=SCRIPTDIR/series/make.sh
. "$here/series/make.sh"
# shellcheck source=SCRIPTDIR/series/style.sh
. "$here/series/style.sh"
# shellcheck source=SCRIPTDIR/series/uml.sh
. "$here/series/uml.sh"
# shellcheck source=SCRIPTDIR/series/arm64.sh
. "$here/series/arm64.sh"
# shellcheck source=SCRIPTDIR/series/sizes.sh
. "$here/series/sizes.sh"

fail() {
	echo "FAIL: ${line:+$line: }$*" >&2
	exit 1
}

misused() {
	echo "check-series.sh: $*" >&2
	echo "Try 'check-series.sh --help'." >&2
	exit 2
}

on_each_line() { # COMMAND
	local each
	for each in ${line:-"${lines[@]}"}; do
		use_line "$each"
		lock_line
		"$1"
	done
}

on_one_line() { # COMMAND...
	[ -n "$line" ] || misused "$command needs --line ${lines[0]} or --line ${lines[1]}"
	use_line "$line"
	lock_line
	"$@"
}

cmd_ci() {
	local kernel
	(cmd_same_code)
	cmd_apply
	cmd_setters
	once compile-each cmd_compile_each
	kernel=$(cmd_build)
	cmd_kunit "$kernel"
}

cmd_all() {
	cmd_ci
	once build-each cmd_build_each
	once options cmd_options
	once sparse cmd_sparse
	once arm64 cmd_arm64
	once sizes cmd_sizes
}

line=
command=
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	--line)
		line=${2:-}
		[[ " ${lines[*]} " == *" $line "* ]] || misused "no line '$line'; there are: ${lines[*]}"
		shift
		;;
	-*) misused "no option '$1'" ;;
	*)
		command=$1
		shift
		break
		;;
	esac
	shift
done

[ -n "$line" ] || [ -z "${SERIES:-}${TARBALL:-}" ] || misused "SERIES and TARBALL are of one line: which?"
case $command in
kunit) [ $# -eq 1 ] || misused "kunit needs the path of one kernel" ;;
*) [ $# -eq 0 ] || misused "'$1' after the command" ;;
esac
case $command in
apply | setters | checkpatch) on_each_line "cmd_$command" ;;
same-code) cmd_same_code ;;
build) on_one_line cmd_build ;;
build-base) on_one_line cmd_build_base ;;
build-arm64) on_one_line cmd_build_arm64 ;;
ci | all) on_one_line "cmd_$command" ;;
arm64-image) on_one_line cmd_arm64_image ;;
compile-each | build-each) on_one_line once "$command" "cmd_${command//-/_}" ;;
sparse | options | arm64 | sizes) on_one_line once "$command" "cmd_$command" ;;
kunit) cmd_kunit "$1" ;;
'') misused "what is to be done?" ;;
*) misused "no command '$command'" ;;
esac
