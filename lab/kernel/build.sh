#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the lab's kernel, User Mode Linux with Airbound's series and the medium, and prints the program's path.
#
#   Debian's linux-source-LINE
#     + lab/kernel/src/              medium, rate controls (for the lab)
#     + kernel/tests/um/             User Mode Linux that runs on any host, the same each time
#     + kernel/patches/LINE/         bounds and monitor (for phones)
#     + lab/kernel/patches/          what connects the medium with hwsim and mac80211; of 6.12 lab/kernel/6.12/patches/
#     + lab/kernel/lab.config, kernel/configs/ (KUnit is built in, and runs if the kernel's command line enables it);
#       of 6.12 with lab/kernel/6.12/lab.config
#
# The result is cached by the hash of all of these. The build tree is kept, so that a change compiles what it touches.
set -euo pipefail

usage() {
	cat <<-'HELP'
		usage: lab/kernel/build.sh [--line 6.1|6.12] [--print-hash | --print-source]

		Builds the lab's kernel unless it is built already; the last line printed is its path.

		  --line LINE      the kernel line (default: 6.1)
		  --print-hash     only print the hash of everything the kernel is made of
		  --print-source   prepare the patched source tree only, and print its path

		environment:
		  AIRBOUND_CACHE                where to build (default: $XDG_CACHE_HOME/airbound or ~/.cache/airbound)
		  AIRBOUND_KERNEL_TARBALL       kernel source (default: /usr/src/linux-source-6.1.tar.xz, of Debian's package)
		  AIRBOUND_KERNEL_TARBALL_6_12  the same for 6.12 (default: /usr/src/linux-source-6.12.tar.xz)
	HELP
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)

log() { printf '%s\n' "$*" >&2; }
die() {
	log "lab/kernel/build.sh: $*"
	exit 2
}

# What differs between the lines. Lines have folders of their own in the cache: two may be built at the same time.
use_line() { # LINE
	line=$1
	local cache_root=${AIRBOUND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/airbound}
	case $line in
	6.1)
		tarball=${AIRBOUND_KERNEL_TARBALL:-/usr/src/linux-source-6.1.tar.xz}
		cache=$cache_root/uml
		patches=lab/kernel/patches
		line_config=
		hwsim_folder=drivers/net/wireless
		expected_objects=1314
		;;
	6.12)
		tarball=${AIRBOUND_KERNEL_TARBALL_6_12:-/usr/src/linux-source-6.12.tar.xz}
		cache=$cache_root/uml-6.12
		patches=lab/kernel/6.12/patches
		line_config=lab/kernel/6.12/lab.config
		hwsim_folder=drivers/net/wireless/virtual
		expected_objects=1500
		;;
	*) die "no kernel line $line (6.1, 6.12)" ;;
	esac
}

check_source() {
	[[ -f $tarball ]] || die "no kernel source at $tarball (run 'make setup', or: apt-get install linux-source-$line)"
}

check_tools() {
	local missing=() tool
	for tool in gcc make flex bison bc xz patch rsync; do
		command -v "$tool" >/dev/null || missing+=("$tool")
	done
	[[ -f /usr/include/openssl/bio.h ]] || missing+=(libssl-dev)
	((${#missing[@]} == 0)) || die "missing: ${missing[*]} (run 'make setup', or: apt-get install ${missing[*]})"
}

# The source's 140 MB take half a second to hash, and every run of the lab asks for the kernel: the hash is kept for as
# long as the file is the same by path, size, date and inode.
tarball_hash() {
	local file kept=$cache/tarball-hash have hash
	file=$(stat --format='%n %s %Y %i' "$tarball")
	if [[ -f $kept ]] && have=$(<"$kept") && [[ $have == *" $file" ]]; then
		printf '%s\n' "${have%% *}"
		return
	fi
	hash=$(sha256sum <"$tarball")
	hash=${hash%% *}
	printf '%s\n' "$hash"
	# Whole or not at all: others ask meanwhile.
	if mkdir -p "$cache" 2>/dev/null && printf '%s %s\n' "$hash" "$file" 2>/dev/null >"$kept.$$"; then
		mv "$kept.$$" "$kept"
	fi
}

# Contents and names of every input, but not their dates or the path of the checkout.
inputs_hash() {
	{
		tarball_hash
		gcc -dumpfullversion
		cd "$repo"
		find "kernel/patches/$line" kernel/tests/um kernel/configs/{airbound,kunit}.config \
			lab/kernel/src "$patches" lab/kernel/lab.config ${line_config:+"$line_config"} lab/kernel/build.sh \
			-type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	} | sha256sum | cut -c1-16
}

patches_of() { # the patches of a folder of the repository, in the order of its series file
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' -e "s|^|$1/|" "$repo/$1/series"
}

# Keeps the dates of files that did not change, so that make rebuilds only what did. The medium goes where the line has
# hwsim, before the patches: some change it for the line.
prepare_source() {
	local fresh=$cache/fresh patch
	rm -rf "$fresh"
	mkdir -p "$fresh"
	log "unpacking $(basename "$tarball")"
	tar -C "$fresh" --strip-components=1 -xf "$tarball"
	rsync --recursive --exclude=/drivers "$here/src/" "$fresh/"
	rsync --recursive "$here/src/drivers/block/" "$fresh/drivers/block/"
	rsync --recursive "$here/src/drivers/net/wireless/" "$fresh/$hwsim_folder/"
	while read -r patch; do
		log "applying $patch"
		patch -d "$fresh" -p1 --silent --forward --fuzz=0 --no-backup-if-mismatch <"$repo/$patch" ||
			die "$patch does not apply"
	done < <(
		patches_of kernel/tests/um
		patches_of "kernel/patches/$line"
		patches_of "$patches"
	)
	if [[ -d $cache/source ]]; then
		rsync --recursive --links --perms --checksum --delete "$fresh/" "$cache/source/"
		rm -rf "$fresh"
	else
		mv "$fresh" "$cache/source"
	fi
}

# The options of all lines, but for those that the line's own file takes out, then those of that file.
wanted_options() {
	cat "$here/lab.config" "$repo"/kernel/configs/{airbound,kunit}.config |
		if [[ -n $line_config ]]; then
			grep -vxFf <(sed -n "s/^# not in ${line//./\\.}: //p" "$repo/$line_config")
			cat "$repo/$line_config"
		else
			cat
		fi
}

configure() {
	local wanted=$cache/objects/wanted.config option
	mkdir -p "$cache/objects"
	wanted_options >"$wanted"
	KCONFIG_ALLCONFIG=$wanted \
		make -C "$cache/source" O="$cache/objects" ARCH=um allnoconfig >"$cache/config.log" 2>&1 ||
		{ tail -20 "$cache/config.log" >&2 && die "configuring failed, see $cache/config.log"; }
	while read -r option; do
		grep -qxF "$option" "$cache/objects/.config" || die "the kernel's configuration refused $option"
	done < <(grep -h '^CONFIG_.*=[^n]' "$wanted")
}

# progress SECONDS: how far a compilation from nothing is, and an estimate of the time that it still takes.
progress() {
	local objects
	objects=$(grep -cE '^  (CC|AR|LD)' "$cache/build.log") || true
	printf '%d of about %d objects' "$objects" "$expected_objects"
	if ((objects > 50 && objects < expected_objects)); then
		printf ', some %d s left' $((($1 * (expected_objects - objects)) / objects))
	fi
}

compile() {
	# Called by a make that shares its slots, this one takes from them; else it uses all processors.
	local jobs=(-j"$(nproc)") make_pid began=$SECONDS
	[[ ${MAKEFLAGS:-} != *jobserver* ]] || jobs=()
	log "compiling Linux $line: about six minutes on two idle cores from nothing; log in $cache/build.log"
	make -C "$cache/source" O="$cache/objects" ARCH=um "${jobs[@]}" linux >"$cache/build.log" 2>&1 &
	make_pid=$!
	while kill -0 "$make_pid" 2>/dev/null; do
		sleep 1
		if [[ -t 2 ]]; then
			printf '\r\033[K  Linux %s: %s' "$line" "$(progress $((SECONDS - began)))" >&2
		elif (((SECONDS - began) % 15 == 14)); then
			log "  Linux $line: $(progress $((SECONDS - began)))"
		fi
	done
	[[ ! -t 2 ]] || printf '\r\033[K' >&2
	# With -j the error is seldom among the last lines.
	wait "$make_pid" || {
		grep -E -A3 '(error|Error):|\*\*\*|undefined reference' "$cache/build.log" >&2 || tail -20 "$cache/build.log" >&2
		die "compiling failed, see $cache/build.log"
	}
}

main() {
	local chosen=6.1 print='' hash
	while (($# > 0)); do
		case $1 in
		-h | --help) usage && return ;;
		--line)
			(($# > 1)) || die "--line: which? (6.1, 6.12)"
			chosen=$2
			shift
			;;
		--print-hash | --print-source) print=$1 ;;
		*) usage >&2 && exit 2 ;;
		esac
		shift
	done
	use_line "$chosen"
	check_source
	if [[ $print == --print-hash ]]; then
		inputs_hash
		return
	fi
	check_tools
	mkdir -p "$cache"
	hash=$(inputs_hash)
	if [[ -z $print && -x $cache/$hash/linux ]]; then
		printf '%s\n' "$cache/$hash/linux"
		return
	fi
	exec 9>"$cache/lock"
	flock 9
	if [[ $print == --print-source ]]; then
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
