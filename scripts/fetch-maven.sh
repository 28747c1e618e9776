#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What Maven needs for phone-agent/benchmark.
#   fetch-maven.sh DIR           fetches it into a local repository
#   fetch-maven.sh --list DIR    prints the SHA-256 of each file there, as in phone-agent/benchmark/artifacts.sha256

. "$(dirname "$0")/lib.sh"

if [[ ${1:-} == --list ]]; then
	cd "${2:?DIR is missing}"
	find . \( -name '*.jar' -o -name '*.pom' \) -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum
	exit
fi
use_java
# The plugin that fetches runs no other, so all others are compared with their hashes before they run.
plugin=org.apache.maven.plugins:maven-dependency-plugin
version=$(sed -n '/<artifactId>maven-dependency-plugin/{n;s/.*<version>\(.*\)<.*/\1/p}' phone-agent/benchmark/pom.xml)
mvn --batch-mode --no-transfer-progress --quiet --file phone-agent/benchmark/pom.xml --activate-profiles fetch \
	"-Dmaven.repo.local=$(realpath "${1:?DIR is missing}")" "$plugin:$version:go-offline"
