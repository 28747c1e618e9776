#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Phones that had bounds are free when their leases end, within seconds. What was compiled is of this version.
set -e

if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	deb-systemd-invoke stop airbound-controller.service >/dev/null || true
fi
find /usr/lib/airbound -type d -name __pycache__ -prune -exec rm -rf {} +
