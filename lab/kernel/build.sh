#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the lab's kernel, User Mode Linux 6.1 with Airbound's series and the medium, and prints the program's path.
#
#   Debian's linux-source-6.1
#     + kernel/tests/um/            User Mode Linux that runs on any host, the same each time
#     + kernel/patches/6.1/         bounds and monitor (for phones)
#     + lab/kernel/src/, patches/   medium, rate controls (for the lab)
#     + lab/kernel/lab.config, kernel/configs/ (KUnit is built in, and runs if the kernel's command line enables it)
#
# The result is cached by the hash of all of these. The build tree is kept, so that a change compiles what it touches.
set -euo pipefail

usage() {
	cat <<-'HELP'
		usage: lab/kernel/build.sh [--print-hash | --print-source]

		Builds the lab's kernel unless it is built already; the last line printed is its path.

		  --print-hash     only print the hash of everything the kernel is made of
		  --print-source   prepare the patched source tree only, and print its path

		environment:
		  AIRBOUND_CACHE           where to build (default: $XDG_CACHE_HOME/airbound or ~/.cache/airbound)
		  AIRBOUND_KERNEL_TARBALL  kernel source (default: /usr/src/linux-source-6.1.tar.xz, of Debian's package)
	HELP
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
tarball=${AIRBOUND_KERNEL_TARBALL:-/usr/src/linux-source-6.1.tar.xz}
cache=${AIRBOUND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/airbound}/uml

log() { printf '%s\n' "$*" >&2; }
die() {
	log "lab/kernel/build.sh: $*"
	exit 2
}

check_tools() {
	local missing=() tool
	for tool in gcc make flex bison bc xz patch rsync; do
		command -v "$tool" >/dev/null || missing+=("$tool")
	done
	[[ -f /usr/include/openssl/bio.h ]] || missing+=(libssl-dev)
	((${#missing[@]} == 0)) || die "missing: ${missing[*]} (run 'make setup', or: apt-get install ${missing[*]})"
	[[ -f $tarball ]] || die "no kernel source at $tarball (run 'make setup', or: apt-get install linux-source-6.1)"
}

# Contents and names of every input, but not their dates or the path of the checkout.
inputs_hash() {
	{
		sha256sum <"$tarball"
		gcc -dumpfullversion
		cd "$repo"
		find kernel/patches/6.1 kernel/tests/um kernel/configs/{airbound,kunit}.config \
			lab/kernel/src lab/kernel/patches lab/kernel/lab.config lab/kernel/build.sh \
			-type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	} | sha256sum | cut -c1-16
}

patches_of() { # the patches of a folder of the repository, in the order of its series file
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' -e "s|^|$1/|" "$repo/$1/series"
}

# Keeps the dates of files that did not change, so that make rebuilds only what did.
prepare_source() {
	local fresh=$cache/fresh patch
	rm -rf "$fresh"
	mkdir -p "$fresh"
	log "unpacking $(basename "$tarball")"
	tar -C "$fresh" --strip-components=1 -xf "$tarball"
	while read -r patch; do
		log "applying $patch"
		patch -d "$fresh" -p1 --silent --forward --fuzz=0 --no-backup-if-mismatch <"$repo/$patch" ||
			die "$patch does not apply"
	done < <(
		patches_of kernel/tests/um
		patches_of kernel/patches/6.1
		patches_of lab/kernel/patches
	)
	cp -r "$here/src/." "$fresh/"
	if [[ -d $cache/source ]]; then
		rsync --recursive --links --perms --checksum --delete "$fresh/" "$cache/source/"
		rm -rf "$fresh"
	else
		mv "$fresh" "$cache/source"
	fi
}

configure() {
	mkdir -p "$cache/objects"
	cat "$here/lab.config" "$repo"/kernel/configs/{airbound,kunit}.config >"$cache/objects/wanted.config"
	KCONFIG_ALLCONFIG=$cache/objects/wanted.config \
		make -C "$cache/source" O="$cache/objects" ARCH=um allnoconfig >"$cache/config.log" 2>&1 ||
		{ tail -20 "$cache/config.log" >&2 && die "configuring failed, see $cache/config.log"; }
	local option
	while read -r option; do
		grep -qxF "$option" "$cache/objects/.config" || die "the kernel's configuration refused $option"
	done < <(grep -h '^CONFIG_.*=[^n]' "$cache/objects/wanted.config")
}

compile() {
	log "compiling (about 6 minutes on two cores the first time), log in $cache/build.log"
	make -C "$cache/source" O="$cache/objects" ARCH=um -j"$(nproc)" linux >"$cache/build.log" 2>&1 &
	local make_pid=$! objects
	while kill -0 "$make_pid" 2>/dev/null; do
		sleep 5
		objects=$(grep -cE '^  (CC|AR|LD)' "$cache/build.log" || true)
		if [[ -t 2 ]]; then
			printf '\r  %s objects' "$objects" >&2
		elif ((SECONDS % 60 < 5)); then
			log "  $objects objects"
		fi
	done
	[[ ! -t 2 ]] || printf '\r' >&2
	# With -j the error is seldom among the last lines.
	wait "$make_pid" || {
		grep -E -A3 '(error|Error):|\*\*\*|undefined reference' "$cache/build.log" >&2 || tail -20 "$cache/build.log" >&2
		die "compiling failed, see $cache/build.log"
	}
}

main() {
	case ${1:-} in
	-h | --help) usage && return ;;
	--print-hash) inputs_hash && return ;;
	--print-source | '') ;;
	*) usage >&2 && exit 2 ;;
	esac
	check_tools
	mkdir -p "$cache"
	local hash
	hash=$(inputs_hash)
	if [[ -z ${1:-} && -x $cache/$hash/linux ]]; then
		printf '%s\n' "$cache/$hash/linux"
		return
	fi
	exec 9>"$cache/lock"
	flock 9
	if [[ ${1:-} == --print-source ]]; then
		prepare_source
		printf '%s\n' "$cache/source"
		return
	fi
	if [[ ! -x $cache/$hash/linux ]]; then
		prepare_source
		configure
		compile
		mkdir -p "$cache/$hash"
		strip --strip-debug -o "$cache/$hash/linux.new" "$cache/objects/linux"
		mv "$cache/$hash/linux.new" "$cache/$hash/linux"
	fi
	printf '%s\n' "$cache/$hash/linux"
}

main "$@"
