#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Generates from the configuration's dataclasses the table of keys and the example file.
#   generate-configuration.sh            writes docs/configuration.md (between its marks) and the example file
#   generate-configuration.sh --check    writes nothing; fails, showing the difference, if what is there is not current

. "$(dirname "$0")/lib.sh"
use_tools

document=docs/configuration.md
example=controller/airbound.example.toml
if [[ ${1:-} != --check ]]; then
	python -m airbound.configuration.reference "$document" "$example"
	exit
fi
out=$(mktemp -d)
trap 'report_failure; rm -rf "$out"' EXIT
cp "$document" "$out/configuration.md"
python -m airbound.configuration.reference "$out/configuration.md" "$out/example.toml"
stale=0
diff -uN "$document" "$out/configuration.md" || stale=1
diff -uN "$example" "$out/example.toml" || stale=1
[[ $stale -eq 0 ]] || die "the configuration's reference is not current; run 'make generate' and commit the result"
