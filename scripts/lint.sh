#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything that reads code without running it.
#   lint.sh [CHECK...]    all checks are the default; the first that fails ends the run
# The slow linters' results are in the cache by content, for all clones. KEEP=no has shellcheck read all again.

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

# mypy looks at the content of a file whose date or path has changed.
mypy_all() {
	local kept=$CACHE_DIR/mypy
	mkdir -p "$kept"
	exec 9>"$kept/lock"
	flock 9
	mypy --cache-dir "$kept" controller/airbound controller/testing/airbound_testing lab/airbound_lab \
		dashboards/airbound_dashboards ap-firmware/luci/testing/luci_pages
}

# present_files [PATTERN...]: those that are in git or may become so, and are there.
present_files() {
	comm -23 <(git ls-files --cached --others --exclude-standard -- "$@" | sort) <(git ls-files --deleted -- "$@" | sort)
}

python_names() {
	local files
	mapfile -t files < <(present_files '*.py')
	PYTHONPATH=tools python -m names "${files[@]}"
}

# golangci-lint's cache knows files by their paths as well, so it reads a copy of the tree at one path for all clones.
go_lint() {
	local copy=$CACHE_DIR/golangci-lint/tree
	mkdir -p "$copy"
	exec 9>"$copy/../lock"
	flock 9
	rsync --recursive --links --perms --checksum --delete --exclude=/.git --filter=':- .gitignore' ./ "$copy/"
	(
		cd "$copy"
		golangci-lint config verify
		golangci-lint run ./...
	)
}

go_modules() {
	go mod tidy -diff
	go mod verify
}

javascript() {
	tools/luci/node_modules/.bin/eslint --config tools/luci/eslint.config.mjs --max-warnings 0 ap-firmware/luci
}

# Format, what javac and Error Prone warn of, and the core's imports: it has neither Android nor a desktop.
java_lint() {
	local files
	mapfile -t files < <(present_files 'phone-agent/benchmark/*.java')
	java_format --dry-run --set-exit-if-changed "${files[@]}" || die "'make format' formats these"
	! grep -nE '^import (static )?(android|java\.awt|java\.net\.http|java\.sql|javax)\b' \
		-r phone-agent/benchmark/core/src/main || die "phone-agent/benchmark/core: an import of one system alone"
	scripts/android-resources.sh build/checks/lint/java/classes/android-resources
	maven --quiet -Dbuild.root="$ROOT/build/checks/lint/java/classes" test-compile
}

# Reads all scripts, or says that it found nothing in the same ones before: it takes longer than all other linters.
shellcheck_all() {
	local files key kept=$CACHE_DIR/shellcheck
	mapfile -t files < <(present_files | tr '\n' '\0' | xargs -0 sed -nsE '1{/^#!.*\b(ba|da|)sh\b/F}')
	# -x and -a: also what these source, which are files *.sh without such a first line.
	key=$({
		shellcheck --version
		{ present_files '*.sh' && printf '%s\n' "${files[@]}"; } | sort -u | xargs -d '\n' sha256sum
		sha256sum scripts/lint.sh
	} | sha256sum | cut -c1-16)
	if [[ -e $kept/$key && ${KEEP:-} != no ]]; then
		touch "$kept/$key"
		echo "PASS: ${#files[@]} scripts; passed at $key, kept"
		[[ -z ${CHECK_KEPT:-} ]] || echo "$key" >"$CHECK_KEPT"
		return
	fi
	rm -f "$kept/$key"
	shellcheck -a -x -P SCRIPTDIR scripts/lib.sh "${files[@]}"
	mkdir -p "$kept"
	touch "$kept/$key"
	find "$kept" -type f -mtime +30 -delete
}

checks=(files licences proto-lint proto-breaking proto-current bpf-current configuration-current dashboards-current
	error-table-current shellcheck ruff mypy import-rules python-names golangci-lint go-modules eslint java c)

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
	java) java_lint ;;
	c) scripts/check-c.sh ;;
	*) die "lint: unknown check '$1' (${checks[*]})" ;;
	esac
}

[[ $# -gt 0 ]] || set -- "${checks[@]}"
for name in "$@"; do
	step "$name" check "$name"
done
