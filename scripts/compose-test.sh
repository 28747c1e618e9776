#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests docker-compose.yml on a real engine: builds the controller's image, brings it up, and looks at it from outside.
# Not part of `make test`: that runs where there is no engine.

. "$(dirname "$0")/lib.sh"

usage() {
	cat <<-'HELP'
		usage: scripts/compose-test.sh [--demo]

		Builds and runs what docker-compose.yml describes, under a project of its own; ports are free ones. Without --demo a
		minute or two, half of it building.

		  --demo   also a short run of the lab, twice; builds the lab's image and its kernel (a quarter of an hour the first
		           time; the kernel stays in the volume airbound-compose-test_lab-cache)

		environment:
		  COMPOSE   the command (default: `docker compose` if there is one, else `docker-compose`)

		exit status: 0 passed, 1 failed, 2 no engine or wrong usage

		examples:
		  scripts/compose-test.sh
		  COMPOSE=docker-compose scripts/compose-test.sh --demo
	HELP
}

with_demo=
case ${1:-} in
'') ;;
--demo) with_demo=1 ;;
-h | --help) usage && exit ;;
*) usage >&2 && exit 2 ;;
esac

PROJECT=airbound-compose-test
HEALTHY_WITHIN_S=60
REFUSED_WITHIN_S=60
STOPPED_WITHIN_S=8

no_engine() {
	printf 'airbound: %s\n' "$*" >&2
	exit 2
}
docker info >/dev/null 2>&1 || no_engine "no Docker engine answers; 'docker info' shows why"
if [[ -n ${COMPOSE:-} ]]; then
	read -r -a compose_command <<<"$COMPOSE"
elif docker compose version >/dev/null 2>&1; then
	compose_command=(docker compose)
else
	compose_command=(docker-compose)
fi
command -v "${compose_command[0]}" >/dev/null ||
	no_engine "no ${compose_command[*]}; on Debian 12: apt-get install docker-compose"
compose() {
	"${compose_command[@]}" -p "$PROJECT" "$@"
}

# A controller that should refuse to start; one that starts would run for ever.
refusing_controller() {
	timeout "$REFUSED_WITHIN_S" "${compose_command[@]}" -p "$PROJECT" run --rm -T controller 2>&1 </dev/null
}

scratch=$(mktemp -d)
chmod 755 "$scratch"
# Settings of this shell or of .env do not count here.
export AIRBOUND_CONFIG=$scratch/controller.toml AIRBOUND_PUBLISH=127.0.0.1:0
cell=
container=
clean_up() {
	report_failure
	if [[ -n $STEP && -n $container ]]; then
		docker logs "$container" >&2 || true
	fi
	[[ -z $cell ]] || docker rm -f "$cell" >/dev/null 2>&1 || true
	# Containers of `run` are none of those that `down` knows.
	docker ps -aq --filter "label=com.docker.compose.project=$PROJECT" | xargs -r docker rm -f >/dev/null 2>&1 || true
	compose down --remove-orphans >/dev/null 2>&1 || true
	rm -rf "$scratch" out/compose-test
}
trap clean_up EXIT

# expect WHAT WANTED GOT
expect() {
	[[ $3 == "$2" ]] || die "$1: expected '$2', got '$3'"
	printf '    %s: %s\n' "$1" "$3"
}

# wait_for SECONDS WHAT COMMAND...: until the command succeeds.
wait_for() {
	local limit_s=$((SECONDS + $1)) waited_for=$2
	shift 2
	until "$@"; do
		((SECONDS < limit_s)) || die "$waited_for: not within the time it has"
		sleep 1
	done
}

inside() {
	docker exec "$container" "$@"
}

status_of() { # FIELD of the controller's process, as the kernel reports it
	# shellcheck disable=SC2016  # awk's dollars
	inside awk -v field="$1:" '$1 == field { print $2 }' /proc/1/status
}

valid() {
	compose config -q
	local said
	: >"$scratch/none.env"
	said=$(unset AIRBOUND_PUBLISH && compose --env-file "$scratch/none.env" config)
	[[ $said == *127.0.0.1* && $said != *0.0.0.0:50051:* ]] || die "published by default on more than loopback: $said"
}

wrong_configuration() {
	printf 'polcy = "bdp"\n' >"$AIRBOUND_CONFIG"
	local code=0 said
	said=$(refusing_controller) || code=$?
	expect "exit status" 2 "$code"
	[[ $said == *"controller.toml: unknown key polcy; did you mean policy?"* ]] || die "the key is not named: $said"
}

missing_configuration() {
	local said
	rm -f "$AIRBOUND_CONFIG"
	said=$(refusing_controller) && die "runs without its configuration"
	[[ $said == *"does not exist: $AIRBOUND_CONFIG"* || $said == *"controller.toml: cannot be read"* ]] ||
		die "the file is not named: $said"
	rm -rf "$AIRBOUND_CONFIG"
}

is_healthy() {
	[[ $(docker inspect -f '{{.State.Health.Status}}' "$container") == healthy ]]
}

up() {
	# The time-outs are long so that a slow machine changes nothing.
	cat >"$AIRBOUND_CONFIG" <<-'TOML'
		policy = "paper"
		[safety]
		cell_stale_ms = 600_000
		terminal_stale_ms = 600_000
	TOML
	compose up -d controller
	container=$(compose ps -q controller)
	wait_for "$HEALTHY_WITHIN_S" "the controller's health" is_healthy
	endpoint=$(compose port controller 50051)
	expect "published on" 127.0.0.1 "${endpoint%:*}"
}

locked_down() {
	expect "user" 900 "$(status_of Uid)"
	expect "capabilities it may ever have" 0000000000000000 "$(status_of CapBnd)"
	expect "no new privileges" 1 "$(status_of NoNewPrivs)"
	expect "seccomp filter" 2 "$(status_of Seccomp)"
	local place writable=
	# /dev/shm shows that the probe can succeed.
	for place in /dev/shm / /tmp /var/tmp /opt/airbound /etc/airbound; do
		inside sh -c "touch $place/probe 2>/dev/null" && writable+=" $place"
	done
	expect "writable places" " /dev/shm" "$writable"
	# As root of the container: what keeps it from writing is the file system, not its user.
	local said
	said=$(docker exec -u 0 "$container" touch /probe 2>&1) && die "root may write to /"
	[[ $said == *"Read-only file system"* ]] || die "/ is not read-only: $said"
}

cell_is_bound() {
	[[ $(docker logs "$cell" 2>&1) == *bound* ]] && return
	[[ $(docker inspect -f '{{.State.Running}}' "$cell") == true ]] || die "the cell ended: $(docker logs "$cell" 2>&1)"
	return 1
}

# Agents outside of the container reach it where it is published; operators' commands only work inside.
live_cell() {
	cell=$(docker run -d --network host -v "$ROOT/controller/tests/compose_cell.py:/cell.py:ro" --entrypoint python \
		airbound-controller /cell.py "$endpoint")
	wait_for "$HEALTHY_WITHIN_S" "bounds for the phone" cell_is_bound
	local mode cells terminals
	mode=$(inside airbound mode)
	cells=$(inside airbound cells)
	terminals=$(inside airbound terminals)
	printf '%s\n%s\n%s\n' "$mode" "$cells" "$terminals"
	expect "mode and policy" "mode control, policy paper" "$mode"
	[[ $cells == *02:00:00:00:00:01*compose* ]] || die "airbound cells does not show the cell"
	[[ $terminals == *"10.0.4.1 250..555"* ]] || die "airbound terminals does not show the bounds"
}

stop() {
	local began=$SECONDS
	compose stop controller
	((SECONDS - began <= STOPPED_WITHIN_S)) || die "stopping took $((SECONDS - began)) s: killed, not stopped"
	expect "controller's exit status" 0 "$(docker inspect -f '{{.State.ExitCode}}' "$container")"
	expect "the phone keeps its bounds until their lease ends" 0 "$(docker wait "$cell")"
	docker logs "$cell" | tail -n 1
}

lab_run() { # NAME: a short run, its results in out/compose-test/NAME.json
	compose run --rm -T demo airbound-lab run --terminals 2 --seconds 5 --warmup-seconds 1 --modes cubic,bdp --seed 1 \
		--json "out/compose-test/$1.json"
}

# The figures of two runs, without what they cost.
figures() {
	python3 -c '
import json, sys
results = json.load(open(sys.argv[1]))
for run in results["runs"]:
    del run["wall_seconds"], run["peak_memory_kib"]
print(json.dumps(results, sort_keys=True))' "$1"
}

lab_status_of() { # FIELD of a process in the lab's container
	# shellcheck disable=SC2016  # awk's dollars
	compose run --rm -T demo awk -v field="$1:" '$1 == field { print $2 }' /proc/self/status 2>/dev/null </dev/null
}

lab() {
	local owner
	owner=$(stat -c %u docker-compose.yml)
	expect "user" "$owner" "$(lab_status_of Uid)"
	expect "capabilities it may ever have" 0000000000000000 "$(lab_status_of CapBnd)"
	expect "seccomp filter" 2 "$(lab_status_of Seccomp)"
	compose run --rm -T demo mkdir -p out/compose-test
	lab_run first
	lab_run second
	local first second
	first=$(figures out/compose-test/first.json)
	second=$(figures out/compose-test/second.json)
	[[ $first == "$second" ]] || die "equal runs differ"
	expect "runs" 2 "$(grep -o '"mode"' <<<"$first" | wc -l)"
	expect "owner of the results" "$owner" "$(stat -c %u out/compose-test/first.json)"
}

step "docker-compose.yml is valid for ${compose_command[*]} $(compose version --short)" valid
step "image of the controller" compose build controller
step "a wrong configuration is refused" wrong_configuration
step "a missing configuration is refused" missing_configuration
step "up, until it reports that it is healthy" up
step "what the controller may not do" locked_down
step "agents from outside, commands from inside" live_cell
step "stop" stop
if [[ -n $with_demo ]]; then
	step "image of the lab" compose build demo
	step "two phones, twice (the kernel is built the first time)" lab
fi
printf '\ndocker-compose.yml works as described\n'
