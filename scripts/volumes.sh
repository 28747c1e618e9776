#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Saves and restores what docker-compose.yml keeps in volumes.

. "$(dirname "$0")/lib.sh"
. scripts/engine.sh

# Prometheus' measurements are left out: they are large, and lost without harm.
volumes=(ca operator store redis redis-data grafana grafana-data)

usage() {
	cat <<-'HELP'
		usage: scripts/volumes.sh backup FILE
		       scripts/volumes.sh restore FILE

		  backup   writes the volumes of this project into a tar archive, mode 0600, while everything runs. It has the
		           certificate authority's key and all passwords: keep it where nobody else reads it.
		  restore  makes the volumes of such an archive; refuses while containers of the project run, or if a volume
		           of that name is there. Then: make up

		The archive is not encrypted. The project is $COMPOSE_PROJECT_NAME, or the name of this folder.

		exit status: 0 done, 1 it cannot be done, 2 no engine or wrong usage
	HELP
}

[[ ${1:-} =~ ^(-h|--help)$ ]] && usage && exit
[[ $# -eq 2 && $1 =~ ^(backup|restore)$ ]] || { usage >&2 && exit 2; }
find_engine
image=${AIRBOUND_IMAGE:-airbound-controller}

# in_volumes MODE COMMAND...: the command in a container that has the volumes in /volumes and no network.
in_volumes() {
	local mode=$1 mounts=() volume
	shift
	for volume in "${volumes[@]}"; do
		mounts+=(-v "${project}_$volume:/volumes/$volume:$mode,nocopy")
	done
	docker run --rm -i --network none --read-only --cap-drop ALL --cap-add CHOWN --cap-add DAC_OVERRIDE \
		--cap-add FOWNER --security-opt no-new-privileges -u 0 --entrypoint "$1" "${mounts[@]}" "$image" "${@:2}"
}

backup() { # FILE
	local volume
	for volume in ca redis-data; do
		docker volume inspect "${project}_$volume" >/dev/null 2>&1 || die "no volume ${project}_$volume: nothing to save"
	done
	umask 077
	# Redis' append-only files may grow while they are read: what is cut off at the end is left out when it is read.
	in_volumes ro tar -C /volumes --numeric-owner --warning=no-file-changed -cf - "${volumes[@]}" >"$1.partial" ||
		[[ $? -eq 1 ]] || die "tar failed; $1.partial is not whole"
	mv "$1.partial" "$1"
	printf '%s: %s\n' "$1" "$(du -h "$1" | cut -f1)"
}

restore() { # FILE
	local volume
	[[ -r $1 ]] || die "$1: cannot be read"
	# The number: the project alone is a label of images that Compose 2 built, and so of whatever runs from them.
	[[ -z $(docker ps -q --filter "label=com.docker.compose.project=$project" \
		--filter label=com.docker.compose.container-number) ]] ||
		die "containers of $project run: make down"
	for volume in "${volumes[@]}"; do
		if docker volume inspect "${project}_$volume" >/dev/null 2>&1; then
			die "the volume ${project}_$volume is there: docker volume rm ${project}_$volume, if it is not needed any more"
		fi
	done
	for volume in "${volumes[@]}"; do
		docker volume create --label "com.docker.compose.project=$project" --label "com.docker.compose.volume=$volume" \
			"${project}_$volume" >/dev/null
	done
	in_volumes rw tar -C /volumes --numeric-owner -xpf - <"$1"
}

"$1" "$2"
