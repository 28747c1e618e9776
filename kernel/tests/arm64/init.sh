#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# PID 1 of an arm64 guest: mounts /dev, which User Mode Linux has from the host, and runs guest/init.sh.
mount -t devtmpfs dev /dev
exec "$(dirname "$0")/../guest/init.sh" </dev/console >/dev/console 2>&1
