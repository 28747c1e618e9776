#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the programs into build/: airbound-ap, airbound-phone (static, stripped) and the lab's traffic generator.
# A second run on unchanged sources is a hash and nothing more.

. "$(dirname "$0")/lib.sh"
use_go

build_go() {
	local stamp=build/.go-sources want
	want=$( (go env GOVERSION && find ap-firmware phone-agent uplink proto go.mod go.sum \
		\( -name '*.go' -o -name 'go.*' \) ! -name '*_test.go' -print0 | sort -z | xargs -0 sha256sum) | sha256sum)
	if [[ -x build/airbound-ap && -x build/airbound-phone && -f $stamp && $(<"$stamp") == "$want" ]]; then
		echo "build/airbound-ap and build/airbound-phone are current"
		return
	fi
	mkdir -p build
	CGO_ENABLED=0 go build -tags grpcnotrace -trimpath -ldflags '-s -w' -o build/ ./ap-firmware/cmd/airbound-ap ./phone-agent/cmd/airbound-phone
	echo "$want" >"$stamp"
	ls -sh build/airbound-ap build/airbound-phone
}

step "agents" build_go
step "traffic generator" make -s -C lab/traffic
