# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions that boot a kernel. Only for sourcing.

# Messages of a kernel that has detected an error.
# shellcheck disable=SC2034 # used by the scripts that source this file
alarms='BUG:|WARNING:|Call Trace|Kernel panic|refcount_t:|unreferenced object|suspected memory leak|rcu: INFO'

# Boots KERNEL with guest/init.sh as its init, which runs TESTS ("none", "all", "flow,CC,RTT_MS" or names separated by
# commas). The console is standard output.
boot_guest() { # KERNEL SECONDS MEMORY SEED TESTS [PARAMETER...]
	if is_arm64 "$1"; then
		boot_arm64 "$@"
	else
		boot_uml "$@"
	fi
}

# In virtual time. The guest depends on the host's files only: addresses are fixed, the clock starts at a fixed time,
# and um/ derives all randomness from the seed. The same seed therefore gives the same run.
boot_uml() { # as boot_guest
	timeout "$2" setarch -R "$(realpath "$1")" "mem=$3" root=none rootfstype=hostfs rootflags=/ ro \
		"init=$(dirname "${BASH_SOURCE[0]}")/guest/init.sh" "airbound.tests=$5" "${@:6}" \
		con=null con0=fd:0,fd:1 ssl=null time-travel=inf-cpu time-travel-start=1000000000000000000 \
		norandmaps "airbound_seed=$4" </dev/null 2>&1
}

# The magic number of arch/arm64/include/asm/image.h.
is_arm64() { # KERNEL
	[ "$(dd if="$1" bs=1 skip=56 count=4 status=none | tr -d '\0')" = ARMd ]
}

# In an emulator, with the files of GUEST_USERLAND (arm64/userland.sh) and the tests. All files are in memory, so MEMORY
# is ignored and the guest has 1 GB. One processor (BOOT_TEST_CPUS) runs in virtual time: an instruction takes a
# nanosecond, waiting takes no time.
boot_arm64() { # as boot_guest
	local tests files machine
	tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
	files=$(mktemp)
	{
		cat "${GUEST_USERLAND:?must be the path that arm64/userland.sh prints}"
		arm64_tests "$tests"
	} >"$files"
	machine=(-accel "tcg,thread=single" -icount "shift=0,sleep=off")
	[ "${BOOT_TEST_CPUS:-1}" = 1 ] || machine=(-accel "tcg,thread=multi" -smp "$BOOT_TEST_CPUS")
	timeout "$2" qemu-system-aarch64 -M virt -cpu cortex-a76 -m 1G "${machine[@]}" -seed "$4" \
		-rtc base=2026-01-01,clock=vm -nodefaults -no-user-config -display none -no-reboot -serial stdio \
		-kernel "$1" -initrd "$files" \
		-append "console=ttyAMA0 panic=-1 rdinit=$tests/arm64/init.sh airbound.tests=$5 ${*:6}" </dev/null 2>&1 |
		tr -d '\r'
	rm "$files"
}

# The tests as an archive, with the same path as on the host.
arm64_tests() { # DIR
	local parent=$1
	{
		while [ "$parent" != / ]; do
			printf '%s\0' "${parent#/}"
			parent=$(dirname "$parent")
		done
		(cd / && find "${1#/}"/{guest,stress,arm64} -print0)
	} | LC_ALL=C sort -zu | (cd / && cpio --quiet -0 -o -H newc -R 0:0)
}
