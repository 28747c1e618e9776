#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests docker-compose.yml on a real engine: everything but Grafana is brought up, has a cell with agents that come from
# outside with mutual TLS, and loses parts; then a live cell runs beside it. Not part of `make test`: that runs where
# there is no engine.

. "$(dirname "$0")/lib.sh"
. scripts/engine.sh

usage() {
	cat <<-'HELP'
		usage: scripts/compose-test.sh [--only-demo] [--lab]

		Builds and runs what docker-compose.yml describes, under a project of its own; ports are free ones. It takes a
		quarter of an hour, and as long again the first time, for the live cell's kernel. Images of Redis and Prometheus
		are pulled; where they cannot be, images of the same name are made of Debian's packages, and the output says so.
		Grafana is not run.

		  --only-demo  nothing but the live cell (profile demo)
		  --lab        also a short run of the lab, twice; builds the lab's image and its kernel (a quarter of an hour the
		               first time; the kernel stays in the volume airbound-compose-test_lab-cache)

		environment:
		  COMPOSE   the command (default: `docker compose` if there is one, else `docker-compose`)
		  PREVIOUS  the controller's image that the update begins with (default: this one under another name)

		exit status: 0 passed, 1 failed, 2 no engine or wrong usage

		examples:
		  scripts/compose-test.sh
		  COMPOSE=docker-compose scripts/compose-test.sh --lab
	HELP
}

with_lab=
only_demo=
while [[ $# -gt 0 ]]; do
	case $1 in
	--only-demo) only_demo=1 ;;
	--lab) with_lab=1 ;;
	-h | --help) usage && exit ;;
	*) usage >&2 && exit 2 ;;
	esac
	shift
done
find_engine

export COMPOSE_PROJECT_NAME=airbound-compose-test
# Settings of .env do not count here.
export AIRBOUND_ADDRESS=127.0.0.1 AIRBOUND_OPERATORS_ADDRESS=127.0.0.1 AIRBOUND_IMAGE=airbound-compose-test-controller
export AIRBOUND_LOAD_BALANCER_IMAGE=airbound-compose-test-load-balancer TRUST_DOMAIN=compose.example
export AIRBOUND_LIVE_IMAGE=airbound-compose-test-live
SERVICES=(controller load-balancer redis prometheus)
READY_WITHIN_S=120
REFUSED_WITHIN_S=60

scratch=$(mktemp -d)
chmod 755 "$scratch"
export AIRBOUND_CONFIG=$scratch/controller.toml
cell=
clean_up() {
	report_failure
	[[ -z $STEP ]] || compose logs --tail=40 >&2 || true
	[[ -z $STEP || -z $cell ]] || docker logs --tail 20 "$cell" >&2 || true
	[[ -z $cell ]] || docker rm -f "$cell" >/dev/null 2>&1 || true
	# Containers of `run` are none of those that `down` knows.
	docker ps -aq --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" |
		xargs -r docker rm -f >/dev/null 2>&1 || true
	COMPOSE_PROFILES=demo compose down --remove-orphans >/dev/null 2>&1 || true
	remove_volumes
	docker volume rm "$COMPOSE_PROJECT_NAME-cell" >/dev/null 2>&1 || true
	rm -rf "$scratch" out/compose-test
}
trap clean_up EXIT

# All but the lab's kernel, which takes long to build.
remove_volumes() {
	docker volume ls -q --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" | grep -v '_lab-cache$' |
		xargs -r docker volume rm >/dev/null 2>&1 || true
}

. deploy/tests/compose-steps.sh
. deploy/tests/compose-faults.sh
. deploy/tests/compose-demo.sh

find_ports
step "compose file is valid for ${compose_command[*]} $(compose version --short)" valid
step "images of Redis and Prometheus" other_images
step "our images" our_images
if [[ -z $only_demo ]]; then
	step "a wrong configuration is refused" wrong_configuration
	step "a missing configuration is refused" missing_configuration
	step "up, until all serve" up
	step "what the containers may not do" locked_down
	step "who reaches whom, who reads what" kept_apart
	step "an access point and phones enrol and have bounds, through the load balancer" live_cell
	step "metrics in Prometheus" measured
	step "two replicas" scaled
	step "a controller is killed" controller_killed
	step "Redis is killed" redis_killed
	step "down, and up again" down_and_up
	step "an update" update
	step "backup, everything removed, restore" backup_and_restore
	step "stop" stop
fi
step "image of the live cell" live_image
step "demo: up, until Prometheus shows it" demo_up
step "what the live cell may not do" demo_locked_down
step "the controller shows what happens in the cell" demo_compared
step "without bounds, and with them again" demo_modes
step "killed, down and up, without its state" demo_again
if [[ -n $with_lab ]]; then
	COMPOSE_PROFILES=lab step "image of the lab" compose build lab
	step "two phones, twice (the kernel is built the first time)" lab
fi
printf '\ndocker-compose.yml works as described; Grafana was not run\n'
