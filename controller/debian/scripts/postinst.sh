#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes the user and the certificate authority, compiles the modules, and starts the controller.
set -e

case $1 in
configure | abort-upgrade | abort-deconfigure | abort-remove)
	adduser --system --group --quiet --home /var/lib/airbound --no-create-home --gecos "Airbound controller" airbound
	if [ ! -d /var/lib/airbound ]; then
		install -d -o airbound -g airbound -m 0700 /var/lib/airbound
	fi
	# The user cannot write there. As many files as before, if the disk is full: Python compiles what is missing.
	/usr/lib/airbound/bin/python3 -I -m compileall -q /usr/lib/airbound/common /usr/lib/airbound/lib >/dev/null || true
	if [ ! -e /var/lib/airbound/ca ]; then
		runuser -u airbound -- /usr/bin/airbound ca init --directory /var/lib/airbound/ca >/dev/null
	fi
	deb-systemd-helper unmask airbound-controller.service >/dev/null || true
	if deb-systemd-helper --quiet was-enabled airbound-controller.service; then
		deb-systemd-helper enable airbound-controller.service >/dev/null || true
	else
		deb-systemd-helper update-state airbound-controller.service >/dev/null || true
	fi
	if [ -d /run/systemd/system ]; then
		systemctl --system daemon-reload >/dev/null || true
		action=start
		if [ -n "$2" ]; then
			action=restart
		fi
		deb-systemd-invoke "$action" airbound-controller.service >/dev/null || true
	fi
	;;
esac
