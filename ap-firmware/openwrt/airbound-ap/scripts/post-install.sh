#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091 # OpenWrt's
#
# What OpenWrt's own packages do after installation and upgrade: user and group, then the init script is enabled and
# started. The agent runs once /etc/config/airbound says so.

[ "$IPKG_NO_SCRIPT" = 1 ] && exit 0
[ -s "$IPKG_INSTROOT/lib/functions.sh" ] || exit 0
. "$IPKG_INSTROOT/lib/functions.sh"
export root="$IPKG_INSTROOT" pkgname=airbound-ap
# With opkg, default_postinst does this by itself.
if [ -e "$root/lib/apk/packages/$pkgname.rusers" ]; then
	add_group_and_user
fi
default_postinst "$0" "$@"
