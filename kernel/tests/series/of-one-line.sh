# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The beginning of a command COMMAND [LINE], line 6.1 if none is given: its help, which is the comment it begins with, the
# functions of this folder, and the line with its lock. To be sourced with the command's arguments.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case ${1:-} in
-*)
	awk 'NR > 3 { if (!sub(/^# ?/, "")) exit; print }' "$0"
	[ "$1" = --help ] || [ "$1" = -h ] || exit 2
	exit 0
	;;
esac

fail() {
	echo "FAIL: ${line:+$line: }$*" >&2
	exit 1
}

# shellcheck source=SCRIPTDIR/boot.sh
. "$here/boot.sh"
# shellcheck source=SCRIPTDIR/series/tree.sh
. "$here/series/tree.sh"
# shellcheck source=SCRIPTDIR/series/make.sh
. "$here/series/make.sh"
# shellcheck source=SCRIPTDIR/series/uml.sh
. "$here/series/uml.sh"
# shellcheck source=SCRIPTDIR/series/arm64.sh
. "$here/series/arm64.sh"

use_line "${1:-6.1}"
lock_line
