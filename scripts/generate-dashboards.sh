#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Generates the dashboards' JSON for Grafana.
#   generate-dashboards.sh            writes dashboards/generated/
#   generate-dashboards.sh --check    writes nothing; fails, showing the difference, if what is there is not current

. "$(dirname "$0")/lib.sh"
use_tools

generated=dashboards/generated
if [[ ${1:-} != --check ]]; then
	python -m airbound_dashboards.generate "$generated"
	exit
fi
out=$(mktemp -d)
trap 'report_failure; rm -rf "$out"' EXIT
python -m airbound_dashboards.generate "$out"
diff -ruN "$generated" "$out" || die "the dashboards are not current; run 'make generate' and commit the result"
