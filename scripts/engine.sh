# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the scripts that use docker-compose.yml share: which Compose there is, how long to wait. Sourced after lib.sh.

# Both kinds of Compose take the folder's name in small letters; what else they leave out, they leave out alike.
project=${COMPOSE_PROJECT_NAME:-$(basename "$ROOT" | tr '[:upper:]' '[:lower:]' | tr -dc 'a-z0-9_-')}

# find_engine: fails with a clear word, exit status 2, where no engine answers; sets compose_command.
find_engine() {
	local why
	command -v docker >/dev/null ||
		no_engine "there is no 'docker'; on Debian 12: apt-get install docker.io docker-compose"
	why=$(docker info 2>&1 >/dev/null) || no_engine "no Docker engine answers: ${why:-see 'docker info'}"
	if [[ -n ${COMPOSE:-} ]]; then
		read -r -a compose_command <<<"$COMPOSE"
	elif docker compose version >/dev/null 2>&1; then
		compose_command=(docker compose)
	else
		compose_command=(docker-compose)
	fi
	local install='on Debian 12: apt-get install docker-compose'
	if [[ ${compose_command[0]} == docker-compose-2 ]]; then
		use_built_compose
		install='scripts/setup.sh compose builds it'
	fi
	command -v "${compose_command[0]}" >/dev/null || no_engine "there is no ${compose_command[*]}; $install"
}

# use_built_compose: puts the Compose 2 that `scripts/setup.sh compose` built into PATH, if it did.
use_built_compose() {
	use_go
	PATH=$(module_dir compose):$PATH
}

no_engine() {
	printf 'airbound: %s\n' "$*" >&2
	exit 2
}

compose() {
	"${compose_command[@]}" "$@"
}

# parts container|network|volume: those of the project, one a line, sorted; networks and volumes by their names.
parts() {
	# The number: the project alone is a label of images that Compose 2 built, and so of containers that run from them.
	local filters=(--filter "label=com.docker.compose.project=$project")
	case $1 in
	container) docker ps -aq --no-trunc "${filters[@]}" --filter label=com.docker.compose.container-number ;;
	*) docker "$1" ls --format '{{.Name}}' "${filters[@]}" ;;
	esac | LC_ALL=C sort
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

# health_of CONTAINER: healthy, starting, unhealthy, exited...; running if it has no health check.
health_of() {
	docker inspect -f '{{if and .State.Running .State.Health}}{{.State.Health.Status}}{{else}}{{.State.Status}}{{end}}' \
		"$1"
}

# not_ready SERVICE...: prints a line for each container that is not healthy yet, and for each service without one.
not_ready() {
	local service container containers
	for service in "$@"; do
		containers=$(compose ps -q "$service" 2>/dev/null)
		[[ -n $containers ]] || echo "$service: no container"
		for container in $containers; do
			[[ $(health_of "$container") =~ ^(healthy|running)$ ]] || echo "$service: $(health_of "$container")"
		done
	done
}

all_ready() {
	[[ -z $(not_ready "$@") ]]
}
