#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs a check of a kernel line, unless it passed before with the same inputs. A guest runs in virtual time with one
# seed, so its inputs decide its result; docs/decisions/0026-one-pool-for-all-checks.md has the reasons.
#
#   kept.sh LINE COMMAND [ARGUMENT...]      kept.sh 6.12 kernel/tests/boot-test.sh --line 6.12 test_stress
#
# Inputs are the command, the settings of the checks, all files in kernel/ but its documents, the kernel's source, the
# built kernels, the programs of guests with their libraries, the versions of all Debian packages (compilers, patch,
# Perl), the host's kernel and processor.
#
# KEEP=no (or AGAIN=1) runs the check in any case. A result is kept if the command ended with 0 and a line PASS, and no
# input changed meanwhile. CACHE, SERIES and TARBALL as in check-series.sh. If the check did not run, its key is written
# to the file CHECK_KEPT, if there is one.

# shellcheck source=SCRIPTDIR/series/prelude.sh
. "$(dirname "$0")/series/prelude.sh"

# The programs that guest/init.sh and the tests call in guests.
programs=(bash cat dirname ethtool ip mount mountpoint python3 sed setpriv sh sleep sync sysctl tc tee unshare)
# Results of a command: the present one, and those of branches between which somebody changes.
most_kept=4

hashes() { # reads paths with a zero byte each
	LC_ALL=C sort -zu | xargs -0 sha256sum
}

guest_programs() {
	local path files=()
	path=$(sed -n 's/^export PATH=//p' "$here/guest/init.sh")
	mapfile -t files < <(PATH=$path && type -P "${programs[@]}")
	[ ${#files[@]} -eq ${#programs[@]} ] || fail "in guests there are not all of ${programs[*]}, but ${files[*]}"
	{
		printf '%s\n' "${files[@]}"
		# Scripts have no libraries.
		ldd "${files[@]}" 2>/dev/null | sed -nE 's,^[^/]*(/[^ :]+) \(0x.*,\1,p' || true
	} | tr '\n' '\0' | hashes
	find /usr/lib/python3.* /usr/local/lib/python3* /usr/lib/python3/dist-packages/*.pth /etc/python3* \
		/etc/{passwd,group,nsswitch.conf} -type f ! -path '*/config-*' -print0 2>/dev/null | hashes
}

# All inputs but the built kernels.
sources() { # COMMAND...
	local own=(-type f ! -name '*.md' ! -path '*/__pycache__/*')
	printf '%s\n' "$line" "$@"
	printenv | grep -E '^(BOOT_TEST|STRESS|GUEST)_' | LC_ALL=C sort || true
	(
		cd "$series"
		sha256sum -- *
		cd "$here/.."
		find . "${own[@]}" -print0 | hashes
		find . "${own[@]}" -perm -u+x | LC_ALL=C sort
	)
	guest_programs
	dpkg-query --show
	uname --kernel-name --kernel-release --machine
	grep -E '^(model name|flags)' /proc/cpuinfo | LC_ALL=C sort -u || true
}

# Prints nothing if a kernel is not built: the check builds it.
key_of() { # HASH: that of the sources
	local kernels=() name
	for name in base series; do
		kernels+=("$(kernel_path "$name")")
		[ -x "${kernels[-1]}" ] || return 0
	done
	# Their paths have the hash of the kernel's source.
	{ printf '%s\n' "$1" "${kernels[@]#"$work"}" && cat "${kernels[@]}"; } | sha256sum | cut -c1-16
}

case ${1:-} in
-h | --help)
	print_help
	exit 0
	;;
esac
[ $# -ge 2 ] || {
	print_help >&2
	exit 2
}
use_line "$1"
shift
kept=$work/kept
mkdir -p "$kept"
name=$(echo "$*" | sha256sum | cut -c1-16)
before=$(sources "$@" | sha256sum)
key=$(key_of "$before")
record=$kept/$name-$key

if [ -n "$key" ] && [ -e "$record" ] && [ "${KEEP:-}" != no ] && [ -z "${AGAIN:-}" ]; then
	touch "$record"
	# Only the line that a run shows says when: the others are as the check printed them.
	sed "\$s/\$/; passed at $key, kept/" "$record"
	[ -z "${CHECK_KEPT:-}" ] || echo "$key" >"$CHECK_KEPT"
	exit 0
fi
[ -z "$key" ] || rm -f "$record"

printed=$(mktemp "$kept/.printed.XXXXXX")
trap 'rm -f "$printed"' EXIT
"$@" | tee "$printed"
if ! grep -q '^PASS: ' "$printed"; then
	fail "$* ended with 0 without a line PASS"
fi
if [ "$(sources "$@" | sha256sum)" != "$before" ]; then
	echo "not kept: an input changed while the check ran" >&2
	exit 0
fi
key=$(key_of "$before")
if [ -z "$key" ]; then
	echo "not kept: the kernels are not built" >&2
	exit 0
fi
grep '^PASS: ' "$printed" >"$kept/.record.$$"
mv "$kept/.record.$$" "$kept/$name-$key"
echo "kept at $key"
find "$kept" -name "$name-*" -printf '%T@ %p\n' | sort -rn | tail -n +$((most_kept + 1)) | cut -d' ' -f2- | xargs -r rm
