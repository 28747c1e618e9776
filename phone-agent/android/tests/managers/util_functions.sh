# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034
#
# A stand-in for what Magisk gives to installers, by its documentation (docs/guides.md): the functions and variables
# that customize.sh may use, and install_module. Written for these tests.

MAGISK_VER_CODE=${MAGISK_VER_CODE:-27000}
BOOTMODE=true
API=34
IS64BIT=true
ARCH=$(cat /arch)
TMPDIR=/dev/tmp

ui_print() { echo "$1"; }

abort() {
	ui_print "$1"
	[ -z "$MODPATH" ] || rm -rf "$MODPATH"
	rm -rf "$TMPDIR"
	exit 1
}

set_perm() { # FILE OWNER GROUP MODE [CONTEXT]
	chown "$2:$3" "$1" && chmod "$4" "$1"
}

set_perm_recursive() { # DIRECTORY OWNER GROUP DIRECTORY_MODE FILE_MODE [CONTEXT]
	find "$1" -type d | while read -r each; do
		set_perm "$each" "$2" "$3" "$4"
	done
	find "$1" -type f | while read -r each; do
		set_perm "$each" "$2" "$3" "$5"
	done
}

# install_module: unpacks the zip beside the module that may be there. The next boot replaces that.
install_module() {
	mkdir -p "$TMPDIR"
	unzip -o -q "$ZIPFILE" module.prop -d "$TMPDIR" || abort "! This is no module"
	MODID=$(sed -n 's/^id=//p' "$TMPDIR/module.prop")
	case $MODID in
	'' | *[!a-zA-Z0-9._-]*) abort "! The id '$MODID' is not allowed" ;;
	esac
	MODPATH=/data/adb/modules_update/$MODID
	rm -rf "$MODPATH"
	mkdir -p "$MODPATH"
	unzip -o -q "$ZIPFILE" -x 'META-INF/*' -d "$MODPATH" || abort "! The zip is damaged"
	set_perm_recursive "$MODPATH" 0 0 0755 0644
	# shellcheck source=/dev/null
	[ ! -f "$MODPATH/customize.sh" ] || . "$MODPATH/customize.sh"
	rm -f "$MODPATH/customize.sh"
	mkdir -p "/data/adb/modules/$MODID"
	cp "$MODPATH/module.prop" "/data/adb/modules/$MODID/module.prop"
	touch "/data/adb/modules/$MODID/update"
	rm -rf "$TMPDIR"
	ui_print "- Done"
}
