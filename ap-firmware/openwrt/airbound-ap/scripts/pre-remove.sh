#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091 # OpenWrt's
#
# What OpenWrt's own packages do before removal: the init script is disabled and stopped.

[ -s "$IPKG_INSTROOT/lib/functions.sh" ] || exit 0
. "$IPKG_INSTROOT/lib/functions.sh"
export root="$IPKG_INSTROOT" pkgname=airbound-ap
default_prerm "$0" "$@"
