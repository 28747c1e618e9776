#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the module for Magisk and KernelSU: build/packages/airbound-phone-VERSION.zip, with the agent for arm64, arm and
# x86-64. The same sources give the same bytes, wherever and whenever.
#   module.sh [--output DIR]        prints the path of the zip

. "$(dirname "$0")/lib.sh"
use_go

output=build/packages
if [[ ${1:-} == --output ]]; then
	output=$(path_of "${2:?DIR is missing}")
	shift 2
fi
[[ $# -eq 0 ]] || die "module: unexpected argument '$1'"
module=phone-agent/android/module
release=$(sed -n 's/^version = "\(.*\)"$/\1/p' controller/pyproject.toml)
version=$(agent_version)
SOURCE_DATE_EPOCH=$(source_date_epoch)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
tree=$work/tree
trap 'report_failure; rm -rf "$work"' EXIT

# version_code RELEASE: a number that grows with it, as the managers' apps want it: 1.2.3 is 10203.
version_code() {
	local major minor patch
	IFS=. read -r major minor patch <<<"${1%%[!0-9.]*}"
	echo $((major * 10000 + minor * 100 + ${patch:-0}))
}

# The places of the agent's files are Android's. Of the Go settings, those of the environment must not count.
build_program() { # DIRECTORY GOARCH [SETTING...]
	local data=/data/adb/airbound
	env -u GOFLAGS GOOS=linux GOARCH="$2" CGO_ENABLED=0 "${@:3}" go build -buildvcs=false -tags grpcnotrace -trimpath \
		-ldflags "-s -w -X main.version=$version -X main.defaultStateDir=$data/run \
			-X main.defaultCredentialsDir=$data/credentials -X main.defaultConfigFile=$data/airbound.conf" \
		-o "$tree/bin/$1/" ./phone-agent/cmd/airbound-phone
}

cp -R "$module" "$tree"
build_program arm64 arm64 GOARM64=v8.0
build_program arm arm GOARM=7
build_program x86_64 amd64 GOAMD64=v1
sed -i "s/@VERSION@/$version/; s/@VERSION_CODE@/$(version_code "$release")/" "$tree/module.prop"
cp LICENSE "$tree/LICENSE"
mkdir -p "$output"
zip=$(realpath "$output")/airbound-phone-$release.zip
python3 scripts/module_zip.py "$tree" "$work/module.zip"
put "$work/module.zip" "$zip"
echo "$zip"
