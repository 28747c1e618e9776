#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Generates Go and Python from proto/.
#   generate.sh            writes proto/airbound/v1/*.pb.go and controller/airbound/v1/*_pb2*
#   generate.sh --check    writes nothing; fails, showing the difference, if what is there is not current

. "$(dirname "$0")/lib.sh"
use_tools

out=$(mktemp -d)
trap 'report_failure; rm -rf "$out"' EXIT
mkdir "$out/go" "$out/python"
# One protoc (grpcio-tools') for both languages, so that the version named in the files is the locked one.
mapfile -t protos < <(cd proto && find airbound -name '*.proto' | sort)
python -m grpc_tools.protoc -I proto \
	--go_out="$out/go" --go_opt=paths=source_relative \
	--go-grpc_out="$out/go" --go-grpc_opt=paths=source_relative \
	--python_out="$out/python" --pyi_out="$out/python" --grpc_python_out="$out/python" \
	"${protos[@]}"

# generated DIR...: the generated files below DIR, relative to it.
generated() {
	(cd "$1" &&
		find airbound/v1 \( -name '*.pb.go' -o -name '*_pb2.py' -o -name '*_pb2.pyi' -o -name '*_pb2_grpc.py' \) | sort)
}

stale=0
for pair in go:proto python:controller; do
	from=$out/${pair%%:*} to=${pair##*:}
	if [[ ${1:-} == --check ]]; then
		for file in $( (generated "$from" && generated "$to") | sort -u); do
			diff -uN "$to/$file" "$from/$file" || stale=1
		done
		continue
	fi
	for file in $(comm -13 <(generated "$from") <(generated "$to")); do
		rm "$to/$file"
	done
	cp -r "$from/." "$to/"
done
[[ $stale -eq 0 ]] || die "generated code is not current; run 'make generate' and commit the result"
