#!/system/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Stand-ins for the apps of Magisk and KernelSU when a person installs a zip.
#   install.sh magisk|kernelsu ZIP

case $1 in
magisk)
	# The zip's own program, which needs Magisk's functions.
	unzip -o -q "$2" 'META-INF/*' -d /data/local/tmp/zip || exit
	sh /data/local/tmp/zip/META-INF/com/google/android/update-binary dummy 1 "$2"
	code=$?
	rm -rf /data/local/tmp/zip
	exit "$code"
	;;
kernelsu)
	# shellcheck disable=SC2034  # for customize.sh
	KSU=true MAGISK_VER_CODE=25200 ZIPFILE=$2
	# shellcheck source=SCRIPTDIR/util_functions.sh
	. /data/adb/magisk/util_functions.sh
	install_module
	;;
*) exit 2 ;;
esac
