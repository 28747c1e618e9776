#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Purged, nothing is left: neither key nor certificate, nor what says that the service was enabled.
set -e

if [ "$1" = remove ] && command -v deb-systemd-helper >/dev/null; then
	deb-systemd-helper mask airbound-phone.service >/dev/null || true
fi
if [ "$1" = purge ]; then
	rm -rf /var/lib/airbound-phone /run/airbound-phone
	if [ -d /etc/airbound ]; then
		rmdir --ignore-fail-on-non-empty /etc/airbound
	fi
	if command -v deb-systemd-helper >/dev/null; then
		deb-systemd-helper purge airbound-phone.service >/dev/null || true
		deb-systemd-helper unmask airbound-phone.service >/dev/null || true
	fi
fi
if [ -d /run/systemd/system ]; then
	systemctl --system daemon-reload >/dev/null || true
fi
