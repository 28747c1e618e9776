#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Plays the owner of a phone: makes the module, installs it on a simulated phone by a manager's installer, boots, joins
# by the module's button and a file in the Download folder, and sees the phone in `airbound terminals` of a real
# controller. Then the agent is killed and comes back, the module is installed again, the phone boots without its token,
# and the module is removed, after which nothing of it is left.
#   new-owner.sh [SHELL [MANAGER]]       SHELL: mksh or ash (the default); MANAGER: magisk (the default) or kernelsu
#
# Needs root, for namespaces; everything happens in a network namespace of its own. The kernel is not patched: its files
# of /proc/net are regular ones (proc-root in the configuration), the last transaction is what they contain.

. "$(dirname "$0")/../../../scripts/lib.sh"
use_tools
shell=${1:-ash} manager=${2:-magisk}
[[ $(id -u) == 0 ]] || die "new-owner.sh: must be root, for namespaces"
if [[ ${IN_NETWORK:-} != "$$" ]]; then
	# exec keeps the number of the process.
	IN_NETWORK=$$ exec unshare --net "$0" "$shell" "$manager"
fi

here="phone-agent/android/tests"
work=$(mktemp -d)
phone=$work/phone
module=/data/adb/modules/airbound
data=/data/adb/airbound
controller=
clean_up() {
	report_failure
	"$here/phone.sh" off "$phone"
	[[ -z $controller ]] || kill "$controller" 2>/dev/null || true
	rm -rf "$work"
}
trap clean_up EXIT

on_phone() { "$here/phone.sh" run "$phone" "$1"; }

eventually() { # WHAT COMMAND...: tries until the command succeeds
	local tries
	for tries in $(seq 300); do
		if "${@:2}" >/dev/null 2>&1; then
			return
		fi
		sleep 0.1
	done
	echo "--- the agent's log:" >&2
	cat "$phone$data/log" >&2 || true
	echo "--- the controller's log:" >&2
	cat "$work/controller.log" >&2
	die "after $tries tries: $1"
}

start_network() {
	ip link set lo up
	ip link add wlan0 address 02:00:00:00:01:0a type veth peer name air
	ip addr add 192.0.2.1/32 dev lo
}

start_controller() {
	export AIRBOUND_CA_DIR=$work/ca AIRBOUND_TLS_DIR=$work/tls
	airbound ca init >/dev/null
	airbound ca operator owner >/dev/null
	printf '[tls]\nenrollment = "192.0.2.1:50053"\n' >"$work/airbound.toml"
	airbound controller --config "$work/airbound.toml" --listen 192.0.2.1:50051 --operators 127.0.0.1:50052 \
		--metrics '' 2>"$work/controller.log" &
	controller=$!
	eventually "the controller serves" airbound health
}

make_phone() {
	"$here/phone.sh" make "$phone" "$shell" x64
	mkdir -p "$phone/data/local/kernel/net" "$phone/data/media/0/Download"
	: >"$phone/data/local/kernel/net/tcp_cwnd_bounds"
	echo "$monitor_header" >"$phone/data/local/kernel/net/tcp_monitor"
	on=$(find "$phone" | sort)
}
monitor_header="time_us state local remote uid ca_state cwnd_segs ssthresh_segs bound_min_segs bound_max_segs srtt_us"
monitor_header+=" last_rtt_us min_rtt_us mss_bytes unsent_bytes unacked_bytes rcvq_bytes acked_bytes local_congestion"
monitor_header+=" dup_ack sack fast_retransmit timeout undo"

install_module() {
	"$here/phone.sh" boot "$phone"
	"$here/phone.sh" install "$phone" "$1" "$manager"
	[[ $(stat -c %a "$phone$data/airbound.conf" "$phone$data") == $'600\n700' ]] || die "others may read $data"
	on_phone "grep -q '^#controller = ' $data/airbound.conf" || die "no example of a configuration"
}

configure() {
	# All but the first are for what is simulated.
	printf '%s\n' "# my phone" "proc-root = /data/local/kernel" "no-tracing = true" "heartbeat = 1s" \
		>"$phone$data/airbound.conf"
}

# join: by the button of the manager's app, with a string that is cut off first.
join() {
	local download=$phone/data/media/0/Download
	airbound enroll terminal phone-7 --host 192.0.2.1 --out "$work/phone-7.join"
	on_phone "sh $module/action.sh" | grep '^Download/airbound-join.txt on' || die "action.sh does not say how to join"
	head -c 90 "$work/phone-7.join" >"$download/airbound-join.txt"
	on_phone "sh $module/action.sh" 2>&1 | grep 'must have the string' || die "action.sh does not say what is wrong"
	[[ -e $download/airbound-join.txt ]] || die "action.sh has removed a file that it could not use"
	cp "$work/phone-7.join" "$download/airbound-join.txt"
	on_phone "sh $module/action.sh" | grep 'controller 192.0.2.1:50051' || die "action.sh has not joined"
	[[ ! -e $download/airbound-join.txt ]] || die "action.sh has left the token where all apps can read it"
}

reboot() {
	"$here/phone.sh" off "$phone"
	"$here/phone.sh" boot "$phone"
}

listed() { airbound terminals | grep 'phone-7.*02:00:00:00:01:0a'; }

connected() { on_phone "$module/airbound status" | grep '192.0.2.1:50051, connected' >/dev/null; }

enrol() {
	reboot
	join
	eventually "the phone is connected" connected
	eventually "the controller lists the phone" listed
	on_phone "$module/airbound doctor" || die "doctor says that something has failed"
	on_phone "sh $module/action.sh" >"$work/action"
	grep 'enrolled     spiffe://.*/terminal/phone-7' "$work/action" || die "action.sh"
	! grep 'airbound-join.txt' "$work/action" || die "action.sh prints how to join on a phone that is enrolled"
}

agent_pid() { on_phone "cat $data/run/agent.pid"; }

is_another_agent() { [[ $(agent_pid) != "$1" ]] && connected; }

# The owner removes the token, the agent is killed, and service.sh starts it again with the certificate.
kill_the_agent() {
	local before
	on_phone "sed -i /^token/d $data/airbound.conf"
	before=$(agent_pid)
	on_phone "kill -KILL $before"
	eventually "another agent" is_another_agent "$before"
	on_phone "grep -q 'airbound: the agent ended with code 137' $data/log" || die "the log does not say so"
	before=$(agent_pid)
	on_phone "$module/airbound restart"
	eventually "an agent after a restart" is_another_agent "$before"
}

# The next version is the same one: configuration, key and certificate stay.
install_again() {
	local before
	before=$(cd "$phone$data" && sha256sum airbound.conf credentials/*.pem)
	"$here/phone.sh" install "$phone" "$1" "$manager" | grep 'The configuration stays' || die "no word of it"
	reboot
	eventually "the phone is connected after the upgrade" connected
	[[ $(cd "$phone$data" && sha256sum airbound.conf credentials/*.pem) == "$before" ]] || die "the upgrade lost files"
	[[ ! -e $phone/data/adb/modules_update/airbound ]] || die "the upgrade was not taken over"
}

remove_module() {
	# What the button of the manager's app does; the rest happens at the next boot.
	on_phone "touch $module/remove"
	reboot
	! on_phone "ps" | grep airbound || die "processes are left"
	"$here/phone.sh" off "$phone"
	local left
	left=$(diff <(echo "$on") <(find "$phone" | sort)) || die "files are left, or missing:"$'\n'"$left"
}

step "network" start_network
step "controller" start_controller
step "module" scripts/module.sh --output "$work/packages"
zip=$(echo "$work"/packages/*.zip)
step "phone with $shell" make_phone
step "installation by $manager" install_module "$zip"
step "configuration" configure
step "boot, enrolment, doctor" enrol
step "an agent that is killed" kill_the_agent
step "upgrade" install_again "$zip"
step "removal" remove_module
echo "PASS: a new owner with $manager and $shell"
