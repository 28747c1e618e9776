#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Purged, nothing is left: neither the authority's key nor the store, nor what says that the service was enabled. The
# user stays, as Debian's packages leave theirs: files elsewhere may be its own.
set -e

if [ "$1" = remove ] && command -v deb-systemd-helper >/dev/null; then
	deb-systemd-helper mask airbound-controller.service >/dev/null || true
fi
if [ "$1" = purge ]; then
	rm -rf /var/lib/airbound /run/airbound
	if [ -d /etc/airbound ]; then
		rmdir --ignore-fail-on-non-empty /etc/airbound
	fi
	if command -v deb-systemd-helper >/dev/null; then
		deb-systemd-helper purge airbound-controller.service >/dev/null || true
		deb-systemd-helper unmask airbound-controller.service >/dev/null || true
	fi
fi
if [ -d /run/systemd/system ]; then
	systemctl --system daemon-reload >/dev/null || true
fi
