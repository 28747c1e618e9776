#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Checks the patch series of a kernel line. `check-series.sh --help` lists the commands; their code is in series/.

# shellcheck source=SCRIPTDIR/series/prelude.sh
. "$(dirname "$0")/series/prelude.sh"

usage() {
	cat <<-'HELP'
		usage: check-series.sh [--line LINE] COMMAND

		Checks patches/LINE, the series for Linux LINE (6.1 or 6.12).

		commands for the line given, or for all lines without --line:
		  apply          each patch applies without fuzz
		  checkpatch     each patch is clean with checkpatch --strict
		  setters        cwnd and ssthresh are written by their setters only
		  same-code      the files that all lines share are identical

		commands for the line given:
		  ci             run for every change: same-code, apply, setters, compile-each, build, kunit
		  all            run for a change of the series: ci, build-each, options, sparse, arm64, sizes
		  compile-each   after each patch the files that the series changes compile without warnings; also builds the
		                 kernels without and with the series
		  build          builds the whole series for User Mode Linux; prints the path of the kernel
		  build-base     the same for the unpatched source
		  build-each     after each patch the kernel builds, boots and passes KUnit
		  options        net/ compiles with each combination of the series' options
		  sparse         the series adds no sparse warning
		  arm64          net/ cross-compiles for arm64 with Android's options and calls the new functions
		  build-arm64    a small arm64 kernel with Android's options for the emulator; prints the path of the Image
		  arm64-image    the whole arm64 Image; prints its path (takes half an hour or more on two cores)
		  sizes          bytes that the series adds to each socket, x86-64 and arm64

		command for a built kernel:
		  kunit LINUX    boots it and runs KUnit in it

		A result is cached until the source, the series, the options, these scripts or the compiler change.

		examples:
		  check-series.sh checkpatch
		  check-series.sh --line 6.12 ci
		  boot-test.sh "$(check-series.sh --line 6.12 build)"
		  AGAIN=1 check-series.sh --line 6.1 arm64

		environment:
		  CACHE     build directory (default: airbound/kernel in $XDG_CACHE_HOME or ~/.cache; takes 4 GB)
		  JOBS      parallel jobs of make (default: 2)
		  AGAIN     1: ignore cached results
		  SERIES    with --line: a folder other than patches/LINE
		  TARBALL   with --line: a source other than /usr/src/linux-source-LINE.tar.xz
	HELP
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

command=
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		usage
		exit 0
		;;
	--line)
		line=${2:-}
		[[ " ${lines[*]} " == *" $line "* ]] || misused "unknown line '$line'; the lines are ${lines[*]}"
		shift
		;;
	-*) misused "unknown option '$1'" ;;
	*)
		command=$1
		shift
		break
		;;
	esac
	shift
done

[ -n "$line" ] || [ -z "${SERIES:-}${TARBALL:-}" ] || misused "SERIES and TARBALL need --line"
case $command in
kunit) [ $# -eq 1 ] || misused "kunit needs the path of one kernel" ;;
*) [ $# -eq 0 ] || misused "unexpected argument '$1'" ;;
esac
case $command in
apply | setters) on_each_line "cmd_$command" ;;
checkpatch) on_each_line cmd_checkpatch_once ;;
same-code) cmd_same_code ;;
build) on_one_line cmd_build ;;
build-base) on_one_line cmd_build_base ;;
build-arm64) on_one_line cmd_build_arm64 ;;
ci | all) on_one_line "cmd_$command" ;;
arm64-image) on_one_line cmd_arm64_image ;;
compile-each | build-each) on_one_line once "$command" "cmd_${command//-/_}" ;;
sparse | options | arm64 | sizes) on_one_line once "$command" "cmd_$command" ;;
kunit) cmd_kunit "$1" ;;
'') misused "no command given" ;;
*) misused "unknown command '$command'" ;;
esac
