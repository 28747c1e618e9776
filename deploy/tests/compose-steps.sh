# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Steps of scripts/compose-test.sh: from images to a cell that is controlled. Sourced.

# expect WHAT WANTED GOT
expect() {
	[[ $3 == "$2" ]] || die "$1: expected '$2', got '$3'"
	printf '    %s: %s\n' "$1" "$3"
}

# The containers of a service, one per line.
containers() {
	compose ps -q "$1"
}

airbound() { # an operator's command
	compose run --rm -T airbound "$@" 2>"$scratch/airbound.err" </dev/null || {
		cat "$scratch/airbound.err" >&2
		return 1
	}
}

find_ports() {
	local ports
	mapfile -t ports < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*(server.getsockname()[1] for server in sockets), sep="\n")')
	export AIRBOUND_AGENTS_PORT=${ports[0]} AIRBOUND_ENROLLMENT_PORT=${ports[1]} AIRBOUND_OPERATORS_PORT=${ports[2]}
	export GRAFANA_PORT=${ports[3]}
}

valid() {
	compose config -q
}

# image_of SERVICE
image_of() {
	compose config | "$VENV/bin/python" -c '
import sys, yaml
print(yaml.safe_load(sys.stdin)["services"][sys.argv[1]]["image"])' "$1"
}

# Stand-ins have the names of the images that they stand in for.
other_images() {
	local service image
	for service in redis prometheus; do
		image=$(image_of "$service")
		if docker image inspect "$image" >/dev/null 2>&1; then
			printf '    %s: is there\n' "$image"
		elif ! docker pull -q "$image" 2>"$scratch/pull"; then
			printf '    %s: cannot be pulled (%s)\n' "$image" "$(tail -n 1 "$scratch/pull")"
			docker build -q --label airbound.stand-in=yes --build-arg "BASE=${AIRBOUND_BASE:-debian:bookworm-slim}" \
				-t "$image" -f "deploy/tests/stand-ins/$service.Dockerfile" deploy/tests/stand-ins >/dev/null
		fi
		if [[ $(docker image inspect -f '{{index .Config.Labels "airbound.stand-in"}}' "$image") == yes ]]; then
			printf '    %s: STOOD IN FOR by Debian'\''s package, not the image itself\n' "$image"
		fi
	done
}

our_images() {
	compose build controller load-balancer
	local image
	for image in "$AIRBOUND_IMAGE" "$AIRBOUND_LOAD_BALANCER_IMAGE"; do
		expect "$image: licence" Apache-2.0 \
			"$(docker image inspect -f '{{index .Config.Labels "org.opencontainers.image.licenses"}}' "$image")"
		printf '    %s: %d MB, of them above its base %d MB\n' "$image" \
			$(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) \
			$((($(docker image inspect -f '{{.Size}}' "$image") - \
				$(docker image inspect -f '{{.Size}}' "${AIRBOUND_BASE:-debian:bookworm-slim}")) / 1000000))
	done
}

# A controller that should refuse to start; one that starts would run for ever.
refusing_controller() {
	timeout "$REFUSED_WITHIN_S" "${compose_command[@]}" run --rm -T --no-deps controller 2>&1 </dev/null
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
	# One that the engine does not start is left by `run --rm`.
	docker ps -aq --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" \
		--filter label=com.docker.compose.oneoff=True | xargs -r docker rm -f >/dev/null
}

up() {
	# The time-outs are long so that a slow machine changes nothing.
	cat >"$AIRBOUND_CONFIG" <<-'TOML'
		policy = "paper"
		[safety]
		cell_stale_ms = 600_000
		terminal_stale_ms = 600_000
	TOML
	scripts/up.sh --no-build "${SERVICES[@]}" >"$scratch/said"
	cat "$scratch/said"
	local said
	said=$(<"$scratch/said")
	[[ $said == *"agents "*"127.0.0.1:$AIRBOUND_AGENTS_PORT"* ]] || die "up does not say where agents connect to"
	[[ $said == *"run --rm airbound enroll access-point NAME"* ]] || die "up does not say how to enrol"
	[[ $(compose logs init 2>&1) == *"authority of compose.example, SHA-256 "* ]] || die "no authority was made"
}

locked_down() {
	local service container limits
	for service in "${SERVICES[@]}"; do
		container=$(containers "$service")
		limits=$(docker exec "$container" cat /proc/1/status |
			awk '/^(Uid|CapBnd|NoNewPrivs|Seccomp):/ { printf "%s%s ", $1, $2 }')
		expect "$service" "Uid:$(uid_of "$service") CapBnd:0000000000000000 NoNewPrivs:1 Seccomp:2 " "$limits"
		expect "$service: limits and log" "unless-stopped 512 memory json-file 10m" "$(docker inspect -f \
			'{{.HostConfig.RestartPolicy.Name}} {{.HostConfig.PidsLimit}} {{if .HostConfig.Memory}}memory{{end}} {{
			.HostConfig.LogConfig.Type}} {{index .HostConfig.LogConfig.Config "max-size"}}' "$container")"
		# As root of the container: what keeps it from writing is the file system, not its user.
		if docker exec -u 0 "$container" touch /probe 2>"$scratch/probe"; then
			die "$service: root may write to /"
		fi
		[[ $(<"$scratch/probe") == *"Read-only file system"* ]] || die "$service: / is not read-only: $(<"$scratch/probe")"
	done
	container=$(containers controller)
	local place writable=
	# /dev/shm shows that the probe can succeed.
	for place in /dev/shm / /tmp /var/tmp /opt/airbound /etc/airbound /var/lib/airbound/ca /run/airbound/store; do
		docker exec "$container" sh -c "touch $place/probe 2>/dev/null" && writable+=" $place"
	done
	expect "controller: writable places" " /dev/shm" "$writable"
}

uid_of() {
	case $1 in
	controller) echo 900 ;;
	load-balancer) echo 901 ;;
	redis) echo 999 ;;
	prometheus) echo 65534 ;;
	esac
}

# connects SERVICE HOST PORT: whether a program in the service's network has a connection to there.
connects() {
	docker run --rm --network "container:$(containers "$1" | head -n 1)" --entrypoint python "$AIRBOUND_IMAGE" -c "
import socket, sys
try:
    socket.create_connection(('$2', $3), 3).close()
except OSError:
    sys.exit(1)"
}

kept_apart() {
	connects controller redis 6379 || die "a controller does not reach Redis"
	connects prometheus controllers.monitoring 9464 || die "Prometheus does not reach a controller"
	local pair
	for pair in "load-balancer redis 6379" "prometheus redis 6379" "redis controllers.front 50051" \
		"prometheus controllers.front 50051"; do
		# shellcheck disable=SC2086  # three words
		if connects $pair; then
			die "$pair: is reached"
		fi
	done
	# The load balancer's address outside, which stands for all of outside.
	local outside
	outside=$(docker inspect -f "{{(index .NetworkSettings.Networks \"${COMPOSE_PROJECT_NAME}_edge\").IPAddress}}" \
		"$(containers load-balancer)")
	connects load-balancer "$outside" 50051 || die "nobody answers at $outside"
	for pair in controller redis prometheus; do
		! connects "$pair" "$outside" 50051 || die "$pair reaches what is outside"
	done
	expect "ports of the host" "load-balancer" "$(for service in "${SERVICES[@]}"; do
		[[ -z $(docker port "$(containers "$service")") ]] || echo "$service"
	done)"
	expect "modes of secrets" "600 900, 600 900, 600 999, 600 472, 600 900" "$(docker run --rm -u 0 --entrypoint stat \
		-v "${COMPOSE_PROJECT_NAME}_ca:/v/ca:ro" -v "${COMPOSE_PROJECT_NAME}_store:/v/store:ro" \
		-v "${COMPOSE_PROJECT_NAME}_redis:/v/redis:ro" -v "${COMPOSE_PROJECT_NAME}_grafana:/v/grafana:ro" \
		-v "${COMPOSE_PROJECT_NAME}_operator:/v/operator:ro" "$AIRBOUND_IMAGE" -c '%a %u' /v/ca/authority-key.pem \
		/v/store/password /v/redis/users.acl /v/grafana/admin-password /v/operator/key.pem | paste -sd, | sed 's/,/, /g')"
	local password
	password=$(docker exec "$(containers controller)" cat /run/airbound/store/password)
	[[ ${#password} -ge 40 ]] || die "no password for Redis"
	if containers controller redis | xargs docker inspect | grep -qF "$password"; then
		die "docker inspect shows the password of Redis"
	fi
	expect "Redis without a password" "NOAUTH Authentication required." \
		"$(docker exec "$(containers redis)" redis-cli get airbound:x)"
	if docker exec "$(containers controller)" ls /var/lib/airbound/operator 2>/dev/null; then
		die "a controller has the operator's certificate"
	fi
}

# The last line of the agents outside.
cell_line() {
	docker logs --tail 1 "$cell" 2>/dev/null
}

# cell_has STREAMS OPENED_MIN: that many streams, and each phone was sent bounds or their renewal just now.
cell_has() {
	local line
	line=$(cell_line)
	[[ $(docker inspect -f '{{.State.Running}}' "$cell") == true ]] || die "the agents ended: $(docker logs "$cell" 2>&1)"
	[[ $line =~ ^streams=$1\ opened=([0-9]+)\ bounds=10.0.4.1/32:([0-9]+\.\.[0-9]+)\ renewed_s=([0-9]+)\ released=0$ ]] &&
		((BASH_REMATCH[1] >= $2 && BASH_REMATCH[3] <= 4))
}

# all_is_well OPENED_MIN
all_is_well() {
	wait_for "$READY_WITHIN_S" "all streams and bounds" cell_has 3 "$1"
	printf '    %s\n' "$(cell_line)"
}

streams_opened() {
	cell_line | sed -n 's/.*opened=\([0-9]*\) .*/\1/p'
}

enrol() { # ROLE NAME: prints the token
	airbound enroll "$1" "$2" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["token"])'
}

live_cell() {
	local tokens=() name
	tokens+=("roof=$(enrol access-point roof)")
	for name in phone-1 phone-2; do
		tokens+=("$name=$(enrol terminal "$name")")
	done
	docker volume create "$COMPOSE_PROJECT_NAME-cell" >/dev/null
	start_agents "${tokens[@]}"
	all_is_well 3
	local enrolled
	enrolled=$(airbound enrolled)
	printf '%s\n' "$enrolled"
	[[ $enrolled == *access-point/roof*operator/admin*terminal/phone-1*terminal/phone-2* ]] ||
		die "airbound enrolled does not show them"
	[[ $(airbound cells) == *02:00:00:00:00:01*compose* ]] || die "airbound cells does not show the cell"
	expect "mode and policy" "mode control, policy paper" "$(airbound mode)"
	# A token is used once, also by way of the load balancer.
	local token
	token=$(enrol operator bob)
	login "$token"
	! login "$token" 2>"$scratch/again" || die "a token was used twice"
	[[ $(<"$scratch/again") == *"used"* ]] || die "refused for another reason: $(<"$scratch/again")"
}

login() { # TOKEN: with a key of its own each time
	docker run --rm --network host --entrypoint airbound "$AIRBOUND_IMAGE" login --tls-dir /dev/shm/tls \
		--enroll "127.0.0.1:$AIRBOUND_ENROLLMENT_PORT" --token "$1"
}

start_agents() { # NAME=TOKEN...
	[[ -z $cell ]] || docker rm -f "$cell" >/dev/null
	cell=$(docker run -d --network host -u 0 -v "$COMPOSE_PROJECT_NAME-cell:/cell" \
		-v "$ROOT/deploy/tests/compose_cell.py:/compose_cell.py:ro" \
		-v "$ROOT/controller/testing:/testing:ro" -e PYTHONPATH=/testing --entrypoint python "$AIRBOUND_IMAGE" \
		/compose_cell.py "127.0.0.1:$AIRBOUND_AGENTS_PORT" "127.0.0.1:$AIRBOUND_ENROLLMENT_PORT" /cell "$@")
}
