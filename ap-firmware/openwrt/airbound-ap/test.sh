#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What OpenWrt's continuous integration runs after it has installed the package: test.sh PACKAGE VERSION.

case $1 in
airbound-ap)
	airbound-ap --version | grep -F "$2" || exit 1
	# Without an agent: its own exit status, not that of a program that cannot run.
	airbound-ap status --state-dir /tmp/no-agent
	[ $? -eq 3 ]
	;;
esac
