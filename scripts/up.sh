#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Brings up what docker-compose.yml describes, waits until it serves, and prints where it is and what to do next.

. "$(dirname "$0")/lib.sh"
. scripts/engine.sh

usage() {
	cat <<-'HELP'
		usage: scripts/up.sh [--no-build] [--demo] [SERVICE...]
		       scripts/up.sh --down

		Without SERVICE: controller, load-balancer, redis, prometheus, grafana. Settings are in .env (.env.example).

		  --demo      also a live cell: an access point of 802.11ac, four phones, and one without an agent; its
		              image has a kernel, which takes some ten minutes to build the first time
		  --no-build  with the images that are there, or those of a registry
		  --down      stops and removes the containers, a live cell's as well; volumes stay, with all certificates and
		              passwords

		environment:
		  COMPOSE   the command (default: `docker compose` if there is one, else `docker-compose`)

		exit status: 0 done, 1 something does not start, 2 no engine or wrong usage
	HELP
}

HEALTHY_WITHIN_S=${HEALTHY_WITHIN_S:-240}
build=--build
services=()
demo=
down=
while [[ $# -gt 0 ]]; do
	case $1 in
	--no-build) build=--no-build ;;
	--demo) demo=1 ;;
	--down) down=1 ;;
	-h | --help) usage && exit ;;
	-*) usage >&2 && exit 2 ;;
	*) services+=("$1") ;;
	esac
	shift
done
[[ ${#services[@]} -gt 0 ]] || services=(controller load-balancer redis prometheus grafana)
# What runs, and what ends when it has done its work.
ending=()
if [[ -n $demo ]]; then
	services+=(live)
	ending=(live-tokens)
fi

# Compose makes networks and volumes before it pulls images: without a registry they would be left behind.
declare -A before
note_parts() {
	local kind
	for kind in container network volume; do
		before[$kind]=$(parts "$kind")
	done
}

# remove WHAT COMMAND...: says what was removed; what a container of before uses stays, and Docker says so.
remove() {
	if "${@:2}" >/dev/null; then
		printf 'airbound: the start failed; removed %s, which it had made\n' "$1" >&2
	fi
}

# Removes networks and volumes that this start made; containers too, unless it may have replaced those that ran before.
remove_new_parts() {
	local kind part
	if [[ -z ${before[container]} ]]; then
		for part in $(parts container); do
			remove "container $part" docker rm -f "$part"
		done
	fi
	for kind in network volume; do
		for part in $(LC_ALL=C comm -13 <(printf '%s\n' "${before[$kind]}") <(parts "$kind")); do
			remove "$kind $part" docker "$kind" rm "$part"
		done
	done
}

wait_until_ready() {
	local limit_s=$((SECONDS + HEALTHY_WITHIN_S)) waiting service
	until all_ready "${services[@]}"; do
		if ((SECONDS >= limit_s)); then
			waiting=$(not_ready "${services[@]}")
			printf '%s\n' "$waiting" >&2
			while IFS=: read -r service _; do
				compose logs --tail=20 "$service" >&2 </dev/null || true
			done <<<"$waiting"
			[[ -z $demo ]] || compose logs --tail=20 "${ending[@]}" >&2 </dev/null || true
			die "does not serve after $HEALTHY_WITHIN_S s; above is who, and what it logged"
		fi
		sleep 1
	done
}

is_chosen() {
	[[ " ${services[*]} " == *" $1 "* ]]
}

say_where() {
	local name=${compose_command[*]}
	printf '\nAirbound runs.\n\n'
	if is_chosen load-balancer; then
		cat <<-TEXT
			  agents      $(compose port load-balancer 50051)
			  enrolment   $(compose port load-balancer 50053)
			  operators   $(compose port load-balancer 50052)
		TEXT
	fi
	if is_chosen grafana; then
		cat <<-TEXT
			  Grafana     http://$(compose port grafana 3000), user admin, password:
			              $name exec -T grafana cat /run/airbound/admin-password
		TEXT
	fi
	cat <<-TEXT

		Operators' commands:    $name run --rm airbound cells
		An access point:        $name run --rm airbound enroll access-point NAME
		A phone:                $name run --rm airbound enroll terminal NAME
		prints a token; on the device, where HOST is this machine:
		                        airbound-ap --controller HOST:50051 --token-file FILE ...
		                        airbound-phone run --controller HOST:50051 --token-file FILE ...

		docs/operate.md goes on from here: backup, updates, more replicas.
	TEXT
}

say_demo() {
	local name=${compose_command[*]}
	printf '\nA live cell runs beside it: four phones that come, go and upload, and one without an agent.\n\n'
	if is_chosen grafana; then
		printf '  to watch it         http://%s/d/airbound-cell\n' "$(compose port grafana 3000)"
	fi
	cat <<-TEXT
		  on the terminal     $name run --rm airbound top
		  without bounds      $name run --rm airbound mode observe
		  with bounds again   $name run --rm airbound mode control
		  what phones do      $name logs -f live
	TEXT
}

find_engine
# Compose stops what belongs to a profile only with that profile.
[[ -z $demo$down ]] || export COMPOSE_PROFILES=demo
if [[ -n $down ]]; then
	compose down --remove-orphans
	exit
fi
printf 'images, and first start\n'
note_parts
trap remove_new_parts EXIT
compose up -d "$build" "${services[@]}" "${ending[@]}"
trap report_failure EXIT
printf 'waiting until all serve\n'
wait_until_ready
say_where
[[ -z $demo ]] || say_demo
