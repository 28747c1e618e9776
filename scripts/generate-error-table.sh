#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Generates from the lab's error model its C table, and the table in its documentation.
#   generate-error-table.sh            writes dcf_error_table.h and lab/kernel/ERRORS.md (between its marks)
#   generate-error-table.sh --check    writes nothing; fails, showing the difference, if what is there is not current

. "$(dirname "$0")/lib.sh"
use_tools

header=lab/kernel/src/drivers/net/wireless/dcf_error_table.h
document=lab/kernel/ERRORS.md
if [[ ${1:-} != --check ]]; then
	python -m airbound_lab.medium_theory.error_table "$header" "$document"
	exit
fi
out=$(mktemp -d)
trap 'report_failure; rm -rf "$out"' EXIT
cp "$document" "$out/ERRORS.md"
python -m airbound_lab.medium_theory.error_table "$out/dcf_error_table.h" "$out/ERRORS.md"
stale=0
diff -uN "$header" "$out/dcf_error_table.h" || stale=1
diff -uN "$document" "$out/ERRORS.md" || stale=1
[[ $stale -eq 0 ]] || die "the error model's table is not current; run 'make generate' and commit the result"
