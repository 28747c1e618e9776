# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Steps of scripts/compose-test.sh: the live cell of the profile demo, beside the real stack. Sourced.

LIVE_PHONES=4
SHOWN_WITHIN_S=120
COMPARED_S=90
MODE_S=60
SETTLED_AFTER_S=10
SHOWN_AFTER_MAX_S=5

live_image() {
	COMPOSE_PROFILES=demo compose build live
	local name size
	for name in "${AIRBOUND_BASE:-debian:bookworm-slim}" "$AIRBOUND_LIVE_IMAGE"; do
		size=$(docker image inspect -f '{{.Size}}' "$name")
		printf '    %s: %d MB\n' "$name" $((size / 1000000))
	done
}

# As a user begins: defaults, nothing enrolled. The agents outside and their cell are gone.
demo_up() {
	[[ -z $cell ]] || docker rm -f "$cell" >/dev/null
	cell=
	scripts/up.sh --down
	remove_volumes
	: >"$AIRBOUND_CONFIG"
	local began=$SECONDS query
	scripts/up.sh --no-build --demo "${SERVICES[@]}" >"$scratch/said"
	tail -n 6 "$scratch/said"
	printf '    healthy after %d s\n' $((SECONDS - began))
	for query in 'count(airbound_terminal_info{terminal=~"live-phone.*"})' \
		'count(count by (terminal) (last_over_time(airbound_terminal_cwnd_max_segments[5m])))' \
		'count(airbound_station_info{terminal=~"live-phone.*"} * on (station)
			group_left () airbound_station_uplink_bytes_per_second)'; do
		wait_for $((SHOWN_WITHIN_S - SECONDS + began)) "$query" prometheus_has "$query" "$LIVE_PHONES"
	done
	printf '    Prometheus has all phones, their throughput and their bounds after %d s\n' $((SECONDS - began))
	[[ $(<"$scratch/said") == *"airbound mode observe"* ]] || die "up does not say what to do with the live cell"
}

live_container() {
	COMPOSE_PROFILES=demo compose ps -q live
}

demo_locked_down() {
	local container place writable=
	container=$(live_container)
	expect "user, capabilities" "Uid:902 CapBnd:0000000000000000 NoNewPrivs:1 Seccomp:2 " "$(
		docker exec "$container" awk '/^(Uid|CapBnd|NoNewPrivs|Seccomp):/ { printf "%s%s ", $1, $2 }' /proc/1/status
	)"
	for place in /tmp / /var/tmp /airbound /opt/airbound /run/airbound/tokens; do
		docker exec "$container" sh -c "touch $place/probe 2>/dev/null && rm $place/probe" && writable+=" $place"
	done
	expect "writable places" " /tmp" "$writable"
	expect "mounts" "/run/airbound/tokens /var/lib/airbound/live" "$(docker inspect -f \
		'{{range .Mounts}}{{println .Destination}}{{end}}' "$container" | sed '/^$/d' | sort | paste -sd' ')"
	# It reaches the load balancer, also its operators' port, for which it has no certificate; and nobody else.
	local target
	for target in load-balancer/50051 load-balancer/50053; do
		live_connects "$target" || die "the live cell does not reach $target"
	done
	for target in "$(address_of controller monitoring)/9464" "$(address_of redis back)/6379" \
		"$(address_of prometheus monitoring)/9090" "$(address_of load-balancer edge)/50051"; do
		! live_connects "$target" || die "the live cell reaches $target"
	done
}

live_connects() { # HOST/PORT
	docker exec "$(live_container)" timeout 2 bash -c "exec 3<>/dev/tcp/$1" 2>/dev/null
}

address_of() { # SERVICE NETWORK
	docker inspect -f "{{(index .NetworkSettings.Networks \"${COMPOSE_PROJECT_NAME}_$2\").IPAddress}}" \
		"$(containers "$1" | head -n 1)"
}

compose_live() { # [STATUS_FILE] SECONDS
	docker run --rm --network "container:$(containers prometheus)" -u 902 -v "${COMPOSE_PROJECT_NAME}_live:/live:ro" \
		-v "$ROOT/deploy/tests/compose_live.py:/compose_live.py:ro" --entrypoint python "$AIRBOUND_IMAGE" \
		/compose_live.py http://controllers.monitoring:9464/metrics "$@"
}

# What the guest wrote about itself, and what the controller shows.
demo_compared() {
	compose_live /live/status.json "$COMPARED_S"
	airbound cells
}

# shown_after MODE: switches, and prints how long after that Prometheus had its first sample of it, in seconds.
shown_after() {
	local query="airbound_cell_control_info{mode=\"$1\"}" began_s first_s
	airbound mode "$1" >/dev/null
	began_s=$(date +%s.%N)
	wait_for "$READY_WITHIN_S" "the mode in Prometheus" prometheus_has "count($query)" 1
	first_s=$(prometheus_value "min_over_time(timestamp($query)[$(($(date +%s) - ${began_s%.*} + 2))s:1s])")
	awk -v first="$first_s" -v began="$began_s" 'BEGIN { printf "%.1f", (first > began ? first - began : 0) }'
}

demo_modes() {
	local with without again shown
	with=$(compose_live "$MODE_S")
	shown=$(shown_after observe)
	printf '    observe in Prometheus after %s s\n' "$shown"
	[[ $shown =~ ^[0-9]+\.[0-9]$ && ${shown%.*} -le SHOWN_AFTER_MAX_S ]] || die "it is to be there within a scrape"
	sleep "$SETTLED_AFTER_S"
	without=$(compose_live "$MODE_S")
	printf '    control in Prometheus after %s s\n' "$(shown_after control)"
	sleep "$SETTLED_AFTER_S"
	again=$(compose_live "$MODE_S")
	printf '    RTT in modes control, observe, control: %s, %s, %s ms\n' "$with" "$without" "$again"
	((without > with && without > again)) || die "no difference between the modes"
}

# certificates NUMBER: whether each device was given so many certificates, and each agent is connected.
certificates() {
	local found
	found=$(airbound enrolled --json | python3 -c '
import json, sys
enrolled = json.load(sys.stdin)["enrolled"]
print(sorted(len(device["certificates"]) for device in enrolled if device["name"].startswith("live-")))')
	[[ $found == "[$1, $1, $1, $1, $1]" ]] && all_connected
}

all_connected() {
	[[ $(airbound terminals | grep -c live-phone) == "$LIVE_PHONES" ]] &&
		docker exec "$(live_container)" python -c '
import json
status = json.load(open("/var/lib/airbound/live/status.json"))
agents = [status["cell"]["access_point"], *(phone for phone in status["cell"]["phones"] if phone["agent"])]
raise SystemExit(not all(agent["connected"] for agent in agents))'
}

demo_again() {
	local container
	container=$(live_container)
	wait_for "$READY_WITHIN_S" "all enrolled" certificates 1
	docker kill "$container" >/dev/null
	docker start "$container" >/dev/null
	COMPOSE_PROFILES=demo wait_for "$READY_WITHIN_S" "it runs again" all_ready live
	wait_for "$READY_WITHIN_S" "all connected" certificates 1
	printf '    killed and started: connected with the certificates that there were\n'
	scripts/up.sh --down
	expect "containers after down" "" "$(docker ps -aq --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" \
		--filter label=com.docker.compose.container-number)"
	scripts/up.sh --no-build --demo "${SERVICES[@]}" >/dev/null
	wait_for "$READY_WITHIN_S" "all connected" certificates 1
	printf '    down and up: connected with the certificates that there were\n'
	scripts/up.sh --down
	docker volume rm "${COMPOSE_PROJECT_NAME}_live" >/dev/null
	scripts/up.sh --no-build --demo "${SERVICES[@]}" >/dev/null
	wait_for "$READY_WITHIN_S" "all enrolled again" certificates 2
	printf '    without its volume: enrolled again, by other tokens\n'
	container=$(live_container)
	docker stop -t 20 "$container" >/dev/null
	expect "exit status of the cell, 137 if it was killed" 0 "$(docker inspect -f '{{.State.ExitCode}}' "$container")"
}
