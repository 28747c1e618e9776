# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034
#
# What the module's scripts share. Sourced with MODDIR set to the module's directory. They run in BusyBox's ash (Magisk,
# KernelSU) and in mksh, Android's own shell.

DATA=/data/adb/airbound
CONFIG=$DATA/airbound.conf
RUN=$DATA/run # the agent's state directory; emptied at boot
LOG=$DATA/log
CREDENTIALS=$DATA/credentials
PROC=/proc
AGENT=$MODDIR/bin/airbound-phone
# The processes that service.sh starts, by their numbers.
LOOP_PID=$RUN/loop.pid
AGENT_PID=$RUN/agent.pid

# is_alive FILE: whether the process of this number, which becomes $pid, exists and is one of the module's. After a
# reboot the number may be that of another. The file may vanish at any moment.
is_alive() {
	# While a process is executing a program, its command line is empty for a moment.
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		{ read -r pid <"$1" && line=$(tr '\0' ' ' <"$PROC/$pid/cmdline"); } 2>/dev/null || return 1
		case $line in
		*"$MODDIR"/service.sh* | *airbound-phone*) return 0 ;;
		?*) return 1 ;;
		esac
		! has_ended "$pid" || return 1
		sleep 0.1
	done
	return 1
}

# has_ended PID: whether it has ended, though its parent has not waited for it yet. Its command line is empty then, too.
has_ended() {
	{ read -r line <"$PROC/$1/stat"; } 2>/dev/null || return 0
	case ${line##*) } in
	[ZX]*) return 0 ;;
	*) return 1 ;;
	esac
}

# is_removed: whether the module was disabled or removed in the manager's app, or its files are gone.
is_removed() {
	[ -e "$MODDIR/disable" ] || [ -e "$MODDIR/remove" ] || [ ! -x "$AGENT" ]
}

# stop FILE: stops the process of this number, and waits until it has ended. The agent restores the kernel's defaults
# before it ends.
stop() {
	tries=0
	while is_alive "$1"; do
		tries=$((tries + 1))
		# 10 s are enough for the agent.
		if [ "$tries" -gt 100 ]; then
			kill -KILL "$pid" 2>/dev/null
		elif [ "$tries" = 1 ]; then
			kill -TERM "$pid" 2>/dev/null
		fi
		sleep 0.1
	done
	rm -f "$1"
}

# stop_service: the loop first, or it would start the agent again.
stop_service() {
	stop "$LOOP_PID"
	stop "$AGENT_PID"
}
