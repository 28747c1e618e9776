#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the lab's kernel for Linux 6.12 and prints the program's path. As ../build.sh, whose functions it uses, but
#
#   Debian's linux-source-6.12
#     + kernel/tests/um/            as for 6.1
#     + kernel/patches/6.12/        bounds and monitor (for phones)
#     + lab/kernel/src/             as for 6.1; hwsim is in drivers/net/wireless/virtual/ here
#     + lab/kernel/6.12/patches/    the medium in 6.12's hwsim, as a driver below mac80211's transmit queues
#     + lab/kernel/lab.config, kernel/configs/, with 6.12/lab.config for what 6.12 calls otherwise
set -euo pipefail

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# ../build.sh is one of the inputs of 6.1's kernel, so it stays as it is: all of it but its last line, the call of main.
# shellcheck source=lab/kernel/build.sh
source <(sed '$d' "$folder/../build.sh")

repo=$(cd "$folder/../../.." && pwd)
tarball=${AIRBOUND_KERNEL_TARBALL_6_12:-/usr/src/linux-source-6.12.tar.xz}
cache=${AIRBOUND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/airbound}/uml-6.12

usage() {
	cat <<-'HELP'
		usage: lab/kernel/6.12/build.sh [--print-hash | --print-source]

		Builds the lab's kernel for Linux 6.12 unless it is built already; the last line printed is its path.

		  --print-hash     only print the hash of everything the kernel is made of
		  --print-source   prepare the patched source tree only, and print its path

		environment:
		  AIRBOUND_CACHE                where to build (default: $XDG_CACHE_HOME/airbound or ~/.cache/airbound)
		  AIRBOUND_KERNEL_TARBALL_6_12  kernel source (default: /usr/src/linux-source-6.12.tar.xz, of Debian's package)
	HELP
}

log() { printf '%s\n' "$*" >&2; }
die() {
	log "lab/kernel/6.12/build.sh: $*"
	exit 2
}

inputs_hash() {
	[[ -f $tarball ]] || die "no kernel source at $tarball (run 'make setup', or: apt-get install linux-source-6.12)"
	{
		sha256sum <"$tarball"
		gcc -dumpfullversion
		cd "$repo"
		find kernel/patches/6.12 kernel/tests/um kernel/configs/{airbound,kunit}.config \
			lab/kernel/src lab/kernel/lab.config lab/kernel/build.sh lab/kernel/6.12 \
			-type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	} | sha256sum | cut -c1-16
}

# As that of 6.1. The medium's sources are copied to where hwsim is, before the patches that change them.
prepare_source() {
	local fresh=$cache/fresh patch
	rm -rf "$fresh"
	mkdir -p "$fresh"
	log "unpacking $(basename "$tarball")"
	tar -C "$fresh" --strip-components=1 -xf "$tarball"
	cp "$repo"/lab/kernel/src/drivers/net/wireless/* "$fresh/drivers/net/wireless/virtual/"
	cp -r "$repo"/lab/kernel/src/{include,net} "$fresh/"
	while read -r patch; do
		log "applying $patch"
		patch -d "$fresh" -p1 --silent --forward --fuzz=0 --no-backup-if-mismatch <"$repo/$patch" ||
			die "$patch does not apply"
	done < <(
		patches_of kernel/tests/um
		patches_of kernel/patches/6.12
		patches_of lab/kernel/6.12/patches
	)
	if [[ -d $cache/source ]]; then
		rsync --recursive --links --perms --checksum --delete "$fresh/" "$cache/source/"
		rm -rf "$fresh"
	else
		mv "$fresh" "$cache/source"
	fi
}

# 6.1's options, but for those that 6.12/lab.config names.
configure() {
	local wanted=$cache/objects/wanted.config option
	mkdir -p "$cache/objects"
	{
		grep -hvxFf <(sed -n 's/^# not in 6\.12: //p' "$folder/lab.config") \
			"$repo/lab/kernel/lab.config" "$repo"/kernel/configs/{airbound,kunit}.config
		cat "$folder/lab.config"
	} >"$wanted"
	KCONFIG_ALLCONFIG=$wanted \
		make -C "$cache/source" O="$cache/objects" ARCH=um allnoconfig >"$cache/config.log" 2>&1 ||
		{ tail -20 "$cache/config.log" >&2 && die "configuring failed, see $cache/config.log"; }
	while read -r option; do
		grep -qxF "$option" "$cache/objects/.config" || die "the kernel's configuration refused $option"
	done < <(grep -h '^CONFIG_.*=[^n]' "$wanted")
}

main "$@"
