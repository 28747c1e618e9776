#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# In a Dockerfile: installs Debian packages and leaves nothing behind that a running container has no use for.
#   debian-packages PACKAGE...
# $DEBIAN_MIRROR: instead of http://deb.debian.org/debian; security updates come from $DEBIAN_MIRROR-security.

set -eu
export DEBIAN_FRONTEND=noninteractive

if [ -n "${DEBIAN_MIRROR:-}" ]; then
	for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
		[ -f "$list" ] || continue
		sed -i "s#https\{0,1\}://[a-z.]*debian.org/debian#$DEBIAN_MIRROR#g" "$list"
	done
fi
apt-get update -q
apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--path-exclude=/usr/share/doc/* \
	-o Dpkg::Options::=--path-exclude=/usr/share/man/* "$@"
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/lib/dpkg/*-old \
	/var/log/apt /var/log/dpkg.log /var/log/alternatives.log
