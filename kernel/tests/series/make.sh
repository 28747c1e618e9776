# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The kernel's own make, for one architecture after the other.

arch=um # what kmake builds for; a command that builds for another has it as a local
jobs=${JOBS:-2}

kmake() { # TREE OBJECTS TARGET...
	local cross=
	case $arch in
	arm64) cross=aarch64-linux-gnu- ;;
	esac
	nice make -s -C "$1" O="$2" ARCH="$arch" CROSS_COMPILE="$cross" "${@:3}"
}

# Leaves in OBJECTS the configuration that DEFCONFIG and the fragments make.
configure() { # TREE OBJECTS DEFCONFIG FRAGMENT...
	local tree=$1 objects=$2 log=$2/config.log
	kmake "$tree" "$objects" "$3" >"$log" 2>&1 || fail "no configuration: $(tail -3 "$log")"
	shift 3
	(cd "$tree" && scripts/kconfig/merge_config.sh -m -O "$objects" "$objects/.config" "$@" >>"$log" 2>&1)
	kmake "$tree" "$objects" olddefconfig >>"$log" 2>&1
}

# An option that is misspelt, or that another one forbids, disappears without a word.
check_options() { # OBJECTS FRAGMENT...
	local option objects=$1 refused=()
	shift
	while read -r option; do
		case $option in
		*=n) ! grep -q "^${option%n}" "$objects/.config" ;;
		*) grep -qxF "$option" "$objects/.config" ;;
		esac || refused+=("$option")
	done < <(grep -h '^CONFIG_' "$@")
	[ ${#refused[@]} -eq 0 ] || fail "the configuration does not take ${refused[*]}"
}

# The kernel's own warnings are as fatal as errors.
compile() { # TREE OBJECTS TARGET...
	local log=$2/build.log
	kmake "$1" "$2" -j"$jobs" "${@:3}" >"$log" 2>&1 || {
		# With -j the line that tells why is seldom among the last ones.
		grep -E -A3 '(error|Error):|\*\*\*|undefined reference' "$log" >&2 || tail -30 "$log" >&2
		fail "does not build; see $log"
	}
	! grep -E '(net|include)/.*warning:' "$log" >&2 || fail "builds with warnings, above"
}
