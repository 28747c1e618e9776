#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Enables and starts nothing: there is no controller yet. An agent that runs is started again with the new program.
set -e

case $1 in
configure | abort-upgrade | abort-deconfigure | abort-remove)
	deb-systemd-helper unmask airbound-phone.service >/dev/null || true
	deb-systemd-helper update-state airbound-phone.service >/dev/null || true
	if [ -d /run/systemd/system ]; then
		systemctl --system daemon-reload >/dev/null || true
		if [ -n "$2" ]; then
			deb-systemd-invoke try-restart airbound-phone.service >/dev/null || true
		fi
	fi
	;;
esac
