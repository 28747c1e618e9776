#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the root file system of an arm64 guest from Debian's arm64 packages, as an archive that the kernel unpacks into
# memory. The packages are those that this machine's apt finds for arm64, with separate lists and a separate cache;
# nothing is installed. Prints the path of the archive, which is cached until this file changes.
#
#   userland.sh DIR [PACKAGE...]        DIR: the folder of the archive; PACKAGE: others than those of the tests
set -euo pipefail
shopt -s inherit_errexit

# The programs that guest/init.sh and the tests call; apt adds their dependencies.
packages=(bash coreutils ethtool grep iproute2 mount procps python3 sed util-linux)

fail() {
	echo "userland.sh: $*" >&2
	exit 1
}

[ $# -ge 1 ] || fail "needs the folder of the archive"
[ $# -eq 1 ] || packages=("${@:2}")
archive=$1/userland-arm64-$({ cat "${BASH_SOURCE[0]}" && echo "${packages[@]}"; } | sha256sum | cut -c1-16).cpio
if [ -e "$archive" ]; then
	echo "$archive"
	exit 0
fi
for program in apt-get dpkg-deb cpio; do
	command -v "$program" >/dev/null || fail "$program is not installed"
done

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp"/{lists/partial,cache/archives/partial,root}
touch "$tmp/status"
cat >"$tmp/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures {"arm64";};
APT::Install-Recommends "false";
APT::Sandbox::User "";
Dir::State "$tmp";
Dir::State::status "$tmp/status";
Dir::Cache "$tmp/cache";
CONF
export APT_CONFIG=$tmp/apt.conf
echo "fetching arm64 packages: ${packages[*]} and their dependencies" >&2
apt-get -qq update >&2
apt-get -qq install -y --download-only "${packages[@]}" >"$tmp/apt.log" 2>&1 ||
	fail "cannot fetch the packages: $(tail -3 "$tmp/apt.log")"
for package in "$tmp"/cache/archives/*.deb; do
	dpkg-deb -x "$package" "$tmp/root"
done

cd "$tmp/root"
rm -rf usr/share/{bash-completion,doc,i18n,info,locale,man,perl,zoneinfo} usr/lib/aarch64-linux-gnu/{gconv,perl}
mkdir -p bin dev proc run sys tmp
ln -s bash bin/sh
new=$(mktemp "$archive.XXXXXX") # the test of another line may build the same archive
find . -print0 | LC_ALL=C sort -z | cpio --quiet -0 -o -H newc -R 0:0 >"$new"
mv "$new" "$archive"
echo "$archive"
