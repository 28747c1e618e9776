# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The common start of the commands of these tests: shell options, `here` (kernel/tests), fail() and the functions of
# boot.sh and of this folder. To be sourced first. The paths for shellcheck are relative to the root of the repository.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
line=

fail() {
	echo "FAIL: ${line:+$line: }$*" >&2
	exit 1
}

# Prints the comment at the beginning of the running command.
print_help() {
	awk 'NR > 3 { if (!sub(/^# ?/, "")) exit; print }' "$0"
}

# For commands with the arguments [LINE]: prints the help if asked for, else selects the line and takes its lock.
start_with_line() { # [LINE]
	case ${1:-} in
	-h | --help)
		print_help
		exit 0
		;;
	-*)
		print_help >&2
		exit 2
		;;
	esac
	use_line "${1:-6.1}"
	lock_line
}

# shellcheck source=kernel/tests/boot.sh
. "$here/boot.sh"
# shellcheck source=kernel/tests/series/tree.sh
. "$here/series/tree.sh"
# shellcheck source=kernel/tests/series/make.sh
. "$here/series/make.sh"
# shellcheck source=kernel/tests/series/style.sh
. "$here/series/style.sh"
# shellcheck source=kernel/tests/series/uml.sh
. "$here/series/uml.sh"
# shellcheck source=kernel/tests/series/arm64.sh
. "$here/series/arm64.sh"
# shellcheck source=kernel/tests/series/sizes.sh
. "$here/series/sizes.sh"
