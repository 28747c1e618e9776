#!/system/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Magisk and KernelSU run this once at each boot, late, beside the rest of it. It starts the agent, and starts it again
# whenever it ends, for as long as the module is neither disabled nor removed. `airbound start` runs it as well.

MODDIR=$(cd "$(dirname "$0")" && pwd) || exit
# shellcheck source=SCRIPTDIR/common.sh
. "$MODDIR/common.sh"

umask 077
# Waits between two starts, in seconds: doubled each time, and short again after a run that lasted.
WAIT_MIN=${AIRBOUND_WAIT_MIN:-5}
WAIT_MAX=${AIRBOUND_WAIT_MAX:-300}
LASTED=60
# How long the first start waits for Wi-Fi. Without it the agent would only say so.
WIFI_WAIT=${AIRBOUND_WIFI_WAIT:-120}
# The log has at most two files of this many lines.
LOG_LINES=${AIRBOUND_LOG_LINES:-2000}

uptime_s() {
	read -r up _ </proc/uptime
	echo "${up%%.*}"
}

# has_wifi: whether there is a Wi-Fi interface, or the configuration does without one.
has_wifi() {
	for each in /sys/class/net/wlan0 /sys/class/net/*/phy80211 /sys/class/net/*/wireless; do
		[ ! -e "$each" ] || return 0
	done
	grep -Eqs '^[[:space:]]*(mac|interface)[[:space:]]*=' "$CONFIG"
}

await_wifi() {
	waited=0
	until has_wifi || is_removed || [ "$waited" -ge "$WIFI_WAIT" ]; do
		sleep 1
		waited=$((waited + 1))
	done
}

# keep_log: writes what comes to the log. A full one becomes log.1.
keep_log() {
	lines=$(($(wc -l <"$LOG" 2>/dev/null || echo 0)))
	while IFS= read -r line; do
		if [ "$lines" -ge "$LOG_LINES" ]; then
			mv -f "$LOG" "$LOG.1"
			lines=0
		fi
		printf '%s\n' "$line" >>"$LOG"
		lines=$((lines + 1))
	done
}

# run_agent: until it ends. What it and this function write goes to the log. An agent that was killed has left its rules
# in force; so may one that could not start.
run_agent() {
	# shellcheck disable=SC2016  # the inner shell's own number, which the agent takes over
	sh -c 'echo $$ >"$1"; exec "$2" run' airbound "$AGENT_PID" "$AGENT"
	code=$?
	rm -f "$AGENT_PID"
	echo "airbound: the agent ended with code $code"
	[ "$code" = 0 ] || "$AGENT" cleanup
}

# in_background COMMAND...: waits for it, but a signal to this shell need not.
in_background() {
	"$@" &
	child=$!
	wait "$child"
}

logged_run() {
	run_agent 2>&1 | keep_log
}

end() {
	stop "$AGENT_PID"
	# Of the two that may run, sleep is the one that does not end by itself.
	kill "$child" 2>/dev/null
	rm -f "$LOOP_PID"
	exit 0
}

loop() {
	echo $$ >"$LOOP_PID"
	trap end TERM
	await_wifi
	wait_s=$WAIT_MIN
	until is_removed; do
		began=$(uptime_s)
		in_background logged_run
		[ $(($(uptime_s) - began)) -lt "$LASTED" ] || wait_s=$WAIT_MIN
		in_background sleep "$wait_s"
		wait_s=$((wait_s * 2))
		[ "$wait_s" -le "$WAIT_MAX" ] || wait_s=$WAIT_MAX
	done
	end
}

is_removed && exit 0
mkdir -p "$RUN"
chmod 700 "$DATA" "$RUN"
if [ "$1" = loop ]; then
	loop
fi
if is_alive "$LOOP_PID"; then
	echo "airbound: it runs already"
	exit 0
fi
# What an earlier boot left: locks and states of processes that are gone.
is_alive "$AGENT_PID" || rm -rf "${RUN:?}"/*
# Its own session, so that what ends this script, or the terminal of `airbound start`, does not end the agent.
start=
! command -v setsid >/dev/null || start=setsid
$start sh "$MODDIR/service.sh" loop </dev/null >/dev/null 2>&1 &
# Written here as well: a start or a stop right after this one must find it before it has run.
echo $! >"$LOOP_PID"
