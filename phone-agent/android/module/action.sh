#!/system/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The button of the manager's app: shows the status and what is missing.

MODDIR=$(cd "$(dirname "$0")" && pwd) || exit
# shellcheck source=SCRIPTDIR/common.sh
. "$MODDIR/common.sh"

"$AGENT" status
echo
"$AGENT" doctor
exit 0
