# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash disable=SC2154
#
# Stand-in for OpenWrt's: what a package's scripts call. opkg's lists of files are in /usr/lib/opkg/info, apk's in
# /lib/apk/packages.

files_of() {
	cat "/usr/lib/opkg/info/$pkgname.list" "/lib/apk/packages/$pkgname.list" 2>/dev/null
}

add_group_and_user() {
	local users name
	users=$(sed -n 's/^Require-User: *//p' "/usr/lib/opkg/info/$pkgname.control" 2>/dev/null)
	[ -n "$users" ] || users=$(cat "/lib/apk/packages/$pkgname.rusers")
	name=${users%%=*}
	grep -q "^$name:" /etc/group || echo "$name:x:${users##*=}:" >>/etc/group
	grep -q "^$name:" /etc/passwd || echo "$name:x:${users##*=}:${users##*=}:$name:/var/run/$name:/bin/false" >>/etc/passwd
}

default_postinst() {
	[ ! -e "/usr/lib/opkg/info/$pkgname.list" ] || add_group_and_user
	local script
	for script in $(files_of | grep ^/etc/init.d/); do
		[ "$PKG_UPGRADE" = 1 ] || "$script" enable
		"$script" start
	done
}

default_prerm() {
	local script
	for script in $(files_of | grep ^/etc/init.d/); do
		[ "$PKG_UPGRADE" = 1 ] || "$script" disable
		"$script" stop
	done
}
