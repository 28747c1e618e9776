#!/system/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Run when the module is removed, at the next boot or at once: stops the agent, restores the kernel's defaults, and
# removes configuration, key and certificate.

MODDIR=$(cd "$(dirname "$0")" && pwd) || exit
# shellcheck source=SCRIPTDIR/common.sh
. "$MODDIR/common.sh"

stop_service
[ ! -x "$AGENT" ] || "$AGENT" cleanup
rm -rf "${DATA:?}"
