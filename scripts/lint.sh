#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything that reads code without running it. Each check is a step; the first that fails ends the run.

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
	mypy controller/airbound lab/airbound_lab dashboards/airbound_dashboards ap-firmware/luci/testing/luci_pages
}

go_all() {
	golangci-lint config verify
	golangci-lint run ./...
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

step "files: paths, ends" scripts/check-files.sh
step "files: licences" reuse lint --quiet
step "proto: lint" proto_lint
step "proto: breaking changes" scripts/check-proto-breaking.sh
step "proto: generated code is current" scripts/generate.sh --check
step "BPF: compiled programs are current" scripts/generate-bpf.sh --check
step "configuration: reference and example are current" scripts/generate-configuration.sh --check
step "dashboards: JSON is current" scripts/generate-dashboards.sh --check
step "error model: table is current" scripts/generate-error-table.sh --check
step "shell: shellcheck" shellcheck_all
step "Python: ruff" ruff_all
step "Python: mypy" mypy_all
step "Python: import rules" lint-imports
step "Go: golangci-lint" go_all
step "JavaScript: eslint" javascript
step "C: checkpatch" scripts/check-c.sh
