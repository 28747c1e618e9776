#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the programs of the phone's back end for stock kernels, phone-agent/apply/ebpf/bpf/, and generates the Go
# code that loads them. The compiler is Debian 12's clang 14: another one makes other bytes.
#   generate-bpf.sh            writes phone-agent/apply/ebpf/*_bpfel.{go,o}
#   generate-bpf.sh --check    writes nothing; fails if what is there is not current

. "$(dirname "$0")/lib.sh"
use_go

to=phone-agent/apply/ebpf
out=$(mktemp -d)
trap 'report_failure; rm -rf "$out"' EXIT
command -v clang-14 llvm-strip-14 >/dev/null || die "no clang-14 or llvm-strip-14; run 'make setup'"

compile() { # NAME SOURCE FLAG...
	local name=$1 source=$2
	shift 2
	go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-14 -strip llvm-strip-14 -target bpfel -go-package ebpf \
		-output-dir "$out" "$name" "$to/bpf/$source" -- -O2 -mcpu=v2 -Wall -Wextra -Werror "$@"
}

compile sockops sockops.c
compile sockopsPlain sockops.c -DPLAIN
compile iterator iterator.c

stale=0
if [[ ${1:-} == --check ]]; then
	for file in $( (cd "$out" && ls && cd "$ROOT/$to" && ls -- *_bpfel.*) | sort -u); do
		cmp "$out/$file" "$to/$file" || stale=1
	done
else
	rm -f "$to"/*_bpfel.*
	cp "$out"/* "$to/"
fi
[[ $stale -eq 0 ]] || die "the compiled programs are not current; run 'make generate' and commit the result"
