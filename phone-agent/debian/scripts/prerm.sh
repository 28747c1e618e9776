#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The agent restores the kernel's defaults when it ends.
set -e

if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	deb-systemd-invoke stop airbound-phone.service >/dev/null || true
fi
