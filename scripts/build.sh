#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the programs into build/: airbound-ap, airbound-phone (static, stripped), airbound-handover, the lab's traffic
# generator, load generator, link, uploads by QUIC, and rivals of the study of handovers.
#   build.sh [PART...]    parts: agents load link quic handover traffic; all are the default
# A second run on unchanged sources is a hash and nothing more.

. "$(dirname "$0")/lib.sh"
use_go

build_go() {
	local stamp=build/.go-sources version want
	version=$(agent_version)
	want=$( (echo "$version" && go env GOVERSION && find "${agent_sources[@]}" \
		\( -name '*.go' -o -name 'go.*' -o -name '*.o' \) ! -name '*_test.go' -print0 | sort -z |
		xargs -0 sha256sum) | sha256sum)
	if [[ -x build/airbound-ap && -x build/airbound-phone && -f $stamp && $(<"$stamp") == "$want" ]]; then
		echo "build/airbound-ap and build/airbound-phone are current"
		return
	fi
	mkdir -p build
	CGO_ENABLED=0 go build -tags grpcnotrace -trimpath -ldflags "-s -w -X main.version=$version" -o build/ \
		./ap-firmware/cmd/airbound-ap ./phone-agent/cmd/airbound-phone
	echo "$want" >"$stamp"
	ls -sh build/airbound-ap build/airbound-phone
}

# The go command itself knows what changed.
build_unstripped() { # PACKAGE...
	mkdir -p build
	CGO_ENABLED=0 go build -tags grpcnotrace -trimpath -o build/ "$@"
}

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(agents load link quic handover traffic)
for part in "${parts[@]}"; do
	case $part in
	agents) step "agents" build_go ;;
	load) step "load generator" build_unstripped ./lab/load/cmd/airbound-load ;;
	quic) step "QUIC" build_unstripped ./lab/quic/cmd/airbound-quic ;;
	link) step "link" build_unstripped ./lab/link/cmd/airbound-link ;;
	handover)
		step "handover" build_unstripped ./phone-agent/cmd/airbound-handover ./lab/handover/cmd/airbound-handover-lab
		;;
	traffic) step "traffic generator" make -s -C lab/traffic ;;
	*) die "build: unknown part '$part' (agents, load, link, quic, handover, traffic)" ;;
	esac
done
