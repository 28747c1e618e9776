# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Calls of the kernel's make for each architecture.

arch=um # the architecture of kmake; a command for another one sets it as a local variable
parallel=(-j"${JOBS:-2}")
# Called by a make that shares its slots, these take from them.
[[ ${MAKEFLAGS:-} != *jobserver* ]] || parallel=()

kmake() { # TREE OBJECTS TARGET...
	local cross=
	case $arch in
	arm64) cross=aarch64-linux-gnu- ;;
	esac
	nice make -s -C "$1" O="$2" ARCH="$arch" CROSS_COMPILE="$cross" "${@:3}"
}

# Writes the configuration of DEFCONFIG and the fragments to OBJECTS.
configure() { # TREE OBJECTS DEFCONFIG FRAGMENT...
	local tree=$1 objects=$2 log=$2/config.log
	kmake "$tree" "$objects" "$3" >"$log" 2>&1 || fail "cannot configure: $(tail -3 "$log")"
	shift 3
	(cd "$tree" && scripts/kconfig/merge_config.sh -m -O "$objects" "$objects/.config" "$@" >>"$log" 2>&1)
	kmake "$tree" "$objects" olddefconfig >>"$log" 2>&1
}

# Kconfig drops options that are misspelt or excluded by others without an error.
check_options() { # OBJECTS FRAGMENT...
	local option objects=$1 refused=()
	shift
	while read -r option; do
		case $option in
		*=n) ! grep -q "^${option%n}" "$objects/.config" ;;
		*) grep -qxF "$option" "$objects/.config" ;;
		esac || refused+=("$option")
	done < <(grep -h '^CONFIG_' "$@")
	[ ${#refused[@]} -eq 0 ] || fail "not in the configuration: ${refused[*]}"
}

# Warnings in the kernel's own network code are errors.
compile() { # TREE OBJECTS TARGET...
	local log=$2/build.log
	kmake "$1" "$2" "${parallel[@]}" "${@:3}" >"$log" 2>&1 || {
		# With -j the error is seldom among the last lines.
		grep -E -A3 '(error|Error):|\*\*\*|undefined reference' "$log" >&2 || tail -30 "$log" >&2
		fail "does not build; see $log"
	}
	! grep -E '(net|include)/.*warning:' "$log" >&2 || fail "builds with warnings, above"
}
