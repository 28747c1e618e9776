#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything that reads code without running it.
#   lint.sh [CHECK...]    all checks are the default; the first that fails ends the run

. "$(dirname "$0")/lib.sh"
use_tools

proto_lint() {
	buf lint
	buf format --diff --exit-code
}

ruff_all() {
	ruff check
	ruff format --check
}

mypy_all() {
	mypy controller/airbound controller/testing/airbound_testing lab/airbound_lab dashboards/airbound_dashboards \
		ap-firmware/luci/testing/luci_pages
}

python_names() {
	local files
	mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.py' | while read -r file; do
		[[ -f $file ]] && echo "$file"
	done)
	PYTHONPATH=tools python -m names "${files[@]}"
}

go_lint() {
	golangci-lint config verify
	golangci-lint run ./...
}

go_modules() {
	go mod tidy -diff
	go mod verify
}

javascript() {
	tools/luci/node_modules/.bin/eslint --config tools/luci/eslint.config.mjs --max-warnings 0 ap-firmware/luci
}

shellcheck_all() {
	local files
	mapfile -t files < <(git ls-files --cached --others --exclude-standard | while read -r file; do
		[[ -f $file ]] && head -n 1 "$file" | grep -qaE '^#!.*\b(ba|da|)sh\b' && echo "$file"
	done)
	# -a: also what these source.
	shellcheck -a -x -P SCRIPTDIR scripts/lib.sh "${files[@]}"
}

checks=(files licences proto-lint proto-breaking proto-current bpf-current configuration-current dashboards-current
	error-table-current shellcheck ruff mypy import-rules python-names golangci-lint go-modules eslint c)

check() { # NAME
	case $1 in
	files) scripts/check-files.sh ;;
	licences) reuse lint --quiet ;;
	proto-lint) proto_lint ;;
	proto-breaking) scripts/check-proto-breaking.sh ;;
	proto-current) scripts/generate.sh --check ;;
	bpf-current) scripts/generate-bpf.sh --check ;;
	configuration-current) scripts/generate-configuration.sh --check ;;
	dashboards-current) scripts/generate-dashboards.sh --check ;;
	error-table-current) scripts/generate-error-table.sh --check ;;
	shellcheck) shellcheck_all ;;
	ruff) ruff_all ;;
	mypy) mypy_all ;;
	import-rules) lint-imports ;;
	python-names) python_names ;;
	golangci-lint) go_lint ;;
	go-modules) go_modules ;;
	eslint) javascript ;;
	c) scripts/check-c.sh ;;
	*) die "lint: unknown check '$1' (${checks[*]})" ;;
	esac
}

[[ $# -gt 0 ]] || set -- "${checks[@]}"
for name in "$@"; do
	step "$name" check "$name"
done
