#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-options.sh CONFIG [BEFORE]
#
# Checks the .config of a built kernel: what Airbound's agent needs, and what a phone must not lose. With BEFORE, the
# .config of the same tree without the series and its fragment, names every other difference too.

. "$(dirname "$0")/lib.sh"

case ${1:-} in
-h | --help)
	print_help
	exit 0
	;;
-*) misused "unknown option $1" ;;
esac
[ $# -eq 1 ] || [ $# -eq 2 ] || misused "expected CONFIG [BEFORE]"
for config in "$@"; do
	[ -r "$config" ] || fail "cannot read $config"
	grep -q '^CONFIG_NET=y' "$config" || fail "$config is no .config of a kernel with a network"
done
config=$1

# OPTION=VALUE and what for. "n" stands for an option that is not set.
needed() {
	sed -nE 's/^(CONFIG_[A-Z0-9_]+=.*)$/\1 the fragment/p; s/^# (CONFIG_[A-Z0-9_]+) is not set$/\1=n the fragment/p' \
		"$here/airbound_gki.config"
	cat <<-'OPTIONS'
		CONFIG_PROC_FS=y /proc/net/tcp_cwnd_bounds and tcp_monitor
		CONFIG_DEFAULT_TCP_CONG="cubic" the default of Android
		CONFIG_EVENT_TRACING=y the agent wakes when a connection begins to send
		CONFIG_INET_DIAG=y the monitor of the stock back end
		CONFIG_IPV6=y mobile networks
		CONFIG_NET_NS=y per-namespace rules
		CONFIG_MODULES=y vendor modules
		CONFIG_MODVERSIONS=y vendor modules that do not fit are refused, not loaded
		CONFIG_BPF_SYSCALL=y Android's traffic accounting
		CONFIG_CGROUP_BPF=y Android's traffic accounting
		CONFIG_SECURITY_SELINUX=y Android does not boot without
	OPTIONS
}

value_of() { # CONFIG OPTION
	sed -n "s/^$2=//p; s/^# $2 is not set\$/n/p" "$1" | tail -n 1
}

missing=0 checked=0
while read -r option reason; do
	want=${option#*=} option=${option%%=*}
	found=$(value_of "$config" "$option")
	checked=$((checked + 1))
	if [ "${found:-n}" != "$want" ]; then
		echo "$option is ${found:-not there}, want $want: $reason"
		missing=$((missing + 1))
	fi
done < <(needed)

# Options that differ, as OPTION BEFORE AFTER.
differences() { # BEFORE AFTER
	awk '/^CONFIG_/{ option = $0; sub(/=.*/, "", option); value = substr($0, length(option) + 2) }
		/^# CONFIG_.* is not set$/{ option = $2; value = "n" }
		/^(# )?CONFIG_/{ values[FILENAME == ARGV[1] ? 1 : 2, option] = value; options[option] }
		END {
			for (option in options) {
				before = values[1, option] == "" ? "n" : values[1, option]
				after = values[2, option] == "" ? "n" : values[2, option]
				if (before != after)
					print option, before, after
			}
		}' "$1" "$2" | LC_ALL=C sort
}

if [ $# -eq 2 ]; then
	ours=$(needed | sed 's/=.*//')
	while read -r option before after; do
		! grep -qx "$option" <<<"$ours" || continue
		# What the fragment's choices add at their defaults.
		case $option in CONFIG_DEFAULT_*) continue ;; esac
		echo "$option was $before, is $after: not by the fragment"
		missing=$((missing + 1))
	done < <(differences "$2" "$config")
fi
[ "$missing" -eq 0 ] || fail "$missing options of $config are wrong"
echo "all $checked options of $config are right"
