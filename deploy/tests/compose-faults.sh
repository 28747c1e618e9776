# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Steps of scripts/compose-test.sh: metrics, replicas, what is killed, updated, saved. Sourced.

# prometheus_has QUERY VALUE: whether the query's only result, or the number of its results, is that.
prometheus_has() {
	[[ $(prometheus_value "$1") == "$2" ]]
}

prometheus_value() { # QUERY
	docker run --rm --network "container:$(containers prometheus)" --entrypoint python "$AIRBOUND_IMAGE" -c '
import json, sys, urllib.parse, urllib.request
query = urllib.parse.urlencode({"query": sys.argv[1]})
with urllib.request.urlopen(f"http://127.0.0.1:9090/api/v1/query?{query}", timeout=10) as answer:
    results = json.load(answer)["data"]["result"]
print(*(result["value"][1] for result in results))' "$1"
}

measured() {
	wait_for "$READY_WITHIN_S" "the controller's metrics" prometheus_has 'sum(up{job="airbound"})' 1
	expect "processes before ports" 2 "$(prometheus_value 'sum(airbound_front_processes_total)')"
	wait_for "$READY_WITHIN_S" "the cell's metrics" prometheus_has 'sum(airbound_cell_active_senders)' 2
	wait_for "$READY_WITHIN_S" "the load balancer's metrics" prometheus_has \
		'sum(haproxy_server_status{proxy="agents",state="UP"})' 1
	expect "bounds in force" 2 "$(prometheus_value 'sum(airbound_terminal_bounds_in_force)')"
}

replicas() {
	airbound replicas | grep -cE '^[0-9a-f]{12}-'
}

has_replicas() {
	[[ $(replicas) == "$1" ]]
}

scaled() {
	local opened
	opened=$(streams_opened)
	compose up -d --no-deps --no-recreate --scale controller=2 controller
	wait_for "$READY_WITHIN_S" "two replicas" has_replicas 2
	airbound replicas
	wait_for "$READY_WITHIN_S" "metrics of both" prometheus_has 'sum(up{job="airbound"})' 2
	wait_for "$READY_WITHIN_S" "the load balancer has both" prometheus_has \
		'sum(haproxy_server_status{proxy="agents",state="UP"})' 2
	all_is_well "$opened"
}

# The controller that has a stream of the cell's access point, and so owns the cell.
owner() {
	local name container
	name=$(airbound replicas --cells | awk '/02:00:00:00:00:01/ { print $2 }')
	for container in $(containers controller); do
		if [[ $name == "$(docker inspect -f '{{.Config.Hostname}}' "$container")"-* ]]; then
			echo "$container"
		fi
	done
}

controller_killed() {
	local killed opened
	killed=$(owner)
	[[ -n $killed ]] || die "no replica owns the cell: $(airbound replicas --cells)"
	opened=$(streams_opened)
	docker kill "$killed" >/dev/null
	all_is_well "$((opened + 1))"
	wait_for "$READY_WITHIN_S" "one replica" has_replicas 1
	docker start "$killed" >/dev/null
	wait_for "$READY_WITHIN_S" "it is back" has_replicas 2
	all_is_well "$((opened + 1))"
}

redis_killed() {
	local redis opened
	redis=$(containers redis)
	opened=$(streams_opened)
	airbound exempt 02:00:00:00:00:77
	docker kill "$redis" >/dev/null
	sleep 3
	docker start "$redis" >/dev/null
	wait_for "$READY_WITHIN_S" "Redis is back" all_ready redis
	wait_for "$READY_WITHIN_S" "both replicas" has_replicas 2
	all_is_well "$opened"
	kept_in_store
}

# What operators did survives: certificates, choices.
kept_in_store() {
	local said
	said=$(airbound enrolled)
	[[ $said == *access-point/roof*terminal/phone-1*terminal/phone-2* ]] || die "enrolments are lost: $said"
	said=$(airbound explain 02:00:00:00:00:77 2>&1) || true
	expect "the exemption is kept" 1 "$(docker exec "$(containers controller | head -n 1)" python -c '
import asyncio
from pathlib import Path
from airbound.store.options import StoreOptions
from airbound.store.redis.store import RedisStore
async def choices():
    store = RedisStore(StoreOptions(url="redis://redis:6379", user="airbound",
        password_file="/run/airbound/store/password"))
    await store.start("test", lambda _: None, lambda: None)
    found = await store.records("choices")
    await store.close()
    print(sum("02:00:00:00:00:77" in name for name in found))
asyncio.run(choices())')"
}

fingerprint() {
	docker run --rm -v "${COMPOSE_PROJECT_NAME}_ca:/ca:ro" --entrypoint sha256sum "$AIRBOUND_IMAGE" /ca/authority.pem
}

down_and_up() {
	local before
	before=$(fingerprint)
	scripts/up.sh --down
	local left
	# The agents' container has the project's label as well: Compose 2 writes it into images.
	left=$(docker ps -a --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" \
		--filter label=com.docker.compose.container-number --format '{{.Names}}')
	[[ -z $left ]] || die "containers are left: $left"
	scripts/up.sh --no-build "${SERVICES[@]}" >/dev/null
	expect "the same authority" "$before" "$(fingerprint)"
	[[ $(compose logs init 2>&1) == *"everything is there"* ]] || die "the first start was not the only one"
	all_is_well 3
	kept_in_store
}

update() {
	local new=$AIRBOUND_IMAGE previous=${PREVIOUS:-$AIRBOUND_IMAGE-previous} opened
	[[ -n ${PREVIOUS:-} ]] || docker build -q -t "$previous" - >/dev/null <<-DOCKERFILE
		FROM $AIRBOUND_IMAGE
		LABEL org.opencontainers.image.version=previous
	DOCKERFILE
	AIRBOUND_IMAGE=$previous scripts/up.sh --no-build "${SERVICES[@]}" >/dev/null
	expect "before" "$previous" "$(docker inspect -f '{{.Config.Image}}' "$(containers controller)")"
	all_is_well 3
	opened=$(streams_opened)
	AIRBOUND_IMAGE=$new scripts/up.sh --no-build "${SERVICES[@]}" >/dev/null
	expect "after" "$new" "$(docker inspect -f '{{.Config.Image}}' "$(containers controller)")"
	all_is_well "$((opened + 3))"
	kept_in_store
}

backup_and_restore() {
	local before
	before=$(fingerprint)
	scripts/volumes.sh backup "$scratch/backup.tar"
	expect "mode of the archive" 600 "$(stat -c %a "$scratch/backup.tar")"
	if scripts/volumes.sh restore "$scratch/backup.tar" 2>"$scratch/refused"; then
		die "restored over what runs"
	fi
	[[ $(<"$scratch/refused") == *"run: make down"* ]] || die "refused for another reason: $(<"$scratch/refused")"
	scripts/up.sh --down
	remove_volumes
	scripts/volumes.sh restore "$scratch/backup.tar"
	scripts/up.sh --no-build "${SERVICES[@]}" >/dev/null
	expect "the same authority" "$before" "$(fingerprint)"
	all_is_well 3
	kept_in_store
}

stop() {
	local container
	container=$(containers controller)
	compose stop controller
	expect "controller's exit status, 137 if it was killed" 0 "$(docker inspect -f '{{.State.ExitCode}}' "$container")"
	sleep 2
	local line
	line=$(cell_line)
	printf '    %s\n' "$line"
	# Agents try again, and the load balancer takes their connections to end them: `streams` says nothing here.
	[[ $line =~ \ bounds=10.0.4.1/32:[0-9]+\.\.[0-9]+\ .*\ released=0$ ]] || die "the phones were released: $line"
}

lab_run() { # NAME: a short run, its results in out/compose-test/NAME.json
	compose run --rm -T lab airbound-lab run --terminals 2 --seconds 5 --warmup-seconds 1 --modes cubic,bdp --seed 1 \
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
	compose run --rm -T lab awk -v field="$1:" '$1 == field { print $2 }' /proc/self/status 2>/dev/null </dev/null
}

lab() {
	local owner
	owner=$(stat -c %u docker-compose.yml)
	expect "user" "$owner" "$(lab_status_of Uid)"
	expect "capabilities it may ever have" 0000000000000000 "$(lab_status_of CapBnd)"
	expect "seccomp filter" 2 "$(lab_status_of Seccomp)"
	compose run --rm -T lab mkdir -p out/compose-test
	lab_run first
	lab_run second
	local first second
	first=$(figures out/compose-test/first.json)
	second=$(figures out/compose-test/second.json)
	[[ $first == "$second" ]] || die "equal runs differ"
	expect "runs" 2 "$(grep -o '"mode"' <<<"$first" | wc -l)"
	expect "owner of the results" "$owner" "$(stat -c %u out/compose-test/first.json)"
}
