# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# How a kernel is booted here. Sourced, never run.

# What a kernel says when something is wrong with it.
# shellcheck disable=SC2034 # for those who source this
alarms='BUG:|WARNING:|Call Trace|Kernel panic|refcount_t:|unreferenced object|suspected memory leak|rcu: INFO'

# Boots LINUX in virtual time with guest/init.sh as its init, which runs TESTS ("none", "all", "flow,CC,RTT_MS" or names
# and commas); its console is standard output. Nothing of the host leaks in but its files: addresses are fixed, the clock
# begins at the same moment, and um/ draws all randomness from the seed. So the same seed is the same run.
boot_guest() { # LINUX SECONDS MEMORY SEED TESTS [PARAMETER...]
	timeout "$2" setarch -R "$(realpath "$1")" "mem=$3" root=none rootfstype=hostfs rootflags=/ ro \
		"init=$(dirname "${BASH_SOURCE[0]}")/guest/init.sh" "airbound.tests=$5" "${@:6}" \
		con=null con0=fd:0,fd:1 ssl=null time-travel=inf-cpu time-travel-start=1000000000000000000 \
		norandmaps "airbound_seed=$4" </dev/null 2>&1
}
