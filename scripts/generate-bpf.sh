#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the programs of the phone's agent, phone-agent/{apply/ebpf,arrival,flows/tcbpf}/bpf/, and of the access
# point, ap-firmware/{windows,stationflows}/tcbpf/bpf/, and generates the Go code that loads them. The compiler is
# Debian 12's clang 14: another one makes other bytes.
#   generate-bpf.sh            writes *_bpfel.{go,o} of all, and *_bpfeb.{go,o} of those at interfaces
#   generate-bpf.sh --check    writes nothing; fails if what is there is not current

. "$(dirname "$0")/lib.sh"
use_go

phone="phone-agent/apply/ebpf"
arrival="phone-agent/arrival"
flows="phone-agent/flows/tcbpf"
windows=ap-firmware/windows/tcbpf
station_flows=ap-firmware/stationflows/tcbpf
out=$(mktemp -d)
trap 'report_failure; rm -rf "$out"' EXIT
command -v clang-14 llvm-strip-14 >/dev/null || die "no clang-14 or llvm-strip-14; run 'make setup'"

compile() { # DIRECTORY PACKAGE TARGET NAME SOURCE FLAG...
	local to=$1 package=$2 target=$3 name=$4 source=$5
	shift 5
	mkdir -p "$out/$to"
	go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-14 -strip llvm-strip-14 -target "$target" \
		-go-package "$package" -output-dir "$out/$to" "$name" "$to/bpf/$source" -- \
		-O2 -mcpu=v2 -Wall -Wextra -Werror "$@"
}

compile $phone ebpf bpfel sockops sockops.c
compile $phone ebpf bpfel sockopsPlain sockops.c -DPLAIN
compile $phone ebpf bpfel iterator iterator.c
compile $arrival arrival bpfel unanswered unanswered.c
compile $arrival arrival bpfel receiving receiving.c
compile $flows tcbpf bpfel,bpfeb leave leave.c
compile $windows tcbpf bpfel,bpfeb clamp clamp.c
compile $station_flows tcbpf bpfel,bpfeb mark mark.c

stale=0
for to in $phone $arrival $flows $windows $station_flows; do
	if [[ ${1:-} == --check ]]; then
		for file in $( (cd "$out/$to" && ls && cd "$ROOT/$to" && ls -- *_bpfe[bl].*) | sort -u); do
			cmp "$out/$to/$file" "$to/$file" || stale=1
		done
	else
		rm -f "$to"/*_bpfe[bl].*
		cp "$out/$to"/* "$to/"
	fi
done
[[ $stale -eq 0 ]] || die "the compiled programs are not current; run 'make generate' and commit the result"
