#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# After installation, upgrade and removal: LuCI makes its menu anew, and rpcd reads the rights, as with packages that
# luci.mk makes.

[ -z "$IPKG_INSTROOT" ] || exit 0
rm -f /tmp/luci-indexcache.*
rm -rf /tmp/luci-modulecache
[ ! -x /etc/init.d/rpcd ] || /etc/init.d/rpcd reload
exit 0
