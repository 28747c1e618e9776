# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the installer of Magisk or KernelSU after it has unpacked the zip to $MODPATH. The installer gives $ARCH,
# ui_print, abort, set_perm and set_perm_recursive. This must not exit.

DATA=/data/adb/airbound

# shellcheck disable=SC2153  # set by the installer
case $ARCH in
arm64 | arm) programs=$ARCH ;;
x64) programs=x86_64 ;;
*) abort "! There is no agent for the architecture $ARCH" ;;
esac
mv "$MODPATH/bin/$programs/airbound-phone" "$MODPATH/bin/airbound-phone"
rm -rf "$MODPATH/bin/arm64" "$MODPATH/bin/arm" "$MODPATH/bin/x86_64"
set_perm_recursive "$MODPATH" 0 0 0755 0644
for each in bin/airbound-phone airbound action.sh service.sh uninstall.sh; do
	set_perm "$MODPATH/$each" 0 0 0755
done
# A shell takes a program of another processor for a script, and prints what is wrong with each of its lines.
version=$("$MODPATH/bin/airbound-phone" --version 2>/dev/null)
case $version in
"airbound-phone "*) ;;
*) abort "! The agent does not start on this phone" ;;
esac
ui_print "- $version for $ARCH"

# Configuration, key and certificate stay when the module is installed again.
mkdir -p "$DATA"
set_perm "$DATA" 0 0 0700
if [ -e "$DATA/airbound.conf" ]; then
	ui_print "- The configuration stays: $DATA/airbound.conf"
else
	cp "$MODPATH/airbound.conf" "$DATA/airbound.conf"
	ui_print "- Write controller and token into $DATA/airbound.conf"
fi
set_perm "$DATA/airbound.conf" 0 0 0600
# Usage errors have the code 2: here, a key or a value that this version does not take.
wrong=$("$MODPATH/bin/airbound-phone" status 2>&1 >/dev/null)
[ $? != 2 ] || ui_print "! $wrong"

[ -e /proc/net/tcp_cwnd_bounds ] || ui_print "! This kernel does not have Airbound's patches: see docs/phone.md"
ui_print "- The agent starts at the next boot. Then: su -c /data/adb/modules/airbound/airbound doctor"
