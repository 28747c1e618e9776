# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What every script here shares: where things are, how a step is announced, which Go is used. Sourced, never run.

set -euo pipefail
export LC_ALL=C.UTF-8

CALLED_FROM=$PWD
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export HOME=${HOME:-/root}
CACHE_DIR=${AIRBOUND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/airbound}
VENV=$ROOT/.venv
STEP=
STEP_START_S=0
cd "$ROOT"

die() {
	printf 'airbound: %s\n' "$*" >&2
	exit 1
}

# step NAME COMMAND...: a headline, the command, its duration. Under `set -e` a failing command ends the script and
# report_failure names the step.
step() {
	STEP=$1
	shift
	STEP_START_S=$SECONDS
	printf '\n==> %s\n' "$STEP"
	"$@"
	printf '    %s: %d s\n' "$STEP" $((SECONDS - STEP_START_S))
	STEP=
}

report_failure() {
	local code=$?
	if [[ $code -ne 0 && -n $STEP ]]; then
		printf '\nairbound: FAILED in step "%s" after %d s (exit %d)\n' "$STEP" $((SECONDS - STEP_START_S)) "$code" >&2
	fi
}
trap report_failure EXIT

# path_of PATH: the absolute path that the caller of the script means by a relative one; it need not exist.
path_of() {
	(cd "$CALLED_FROM" && realpath -m -- "$1")
}

# put FILE TARGET: copies a file, which may be on another file system; the target is whole, or as it was before.
put() {
	if ! { cp -- "$1" "$2.new" && mv -fT -- "$2.new" "$2"; }; then
		rm -f -- "$2.new"
		return 1
	fi
}

# hash_of FILE...: one short name for the content of these files.
hash_of() {
	cat "$@" | sha256sum | cut -c1-16
}

# go_satisfies GO: whether this go command is at least as new as go.mod asks for.
go_satisfies() {
	local have want
	have=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
	want=$(awk '$1 == "go" { print $2 }' "$ROOT/go.mod")
	[[ $(printf '%s\n%s\n' "$want" "${have#go}" | sort -V | head -n 1) == "$want" ]]
}

# go_home: where the Go toolchain of tools/go-requirements.txt lives once installed.
go_home() {
	printf '%s/go/%s\n' "$CACHE_DIR" "$(hash_of "$ROOT/tools/go-requirements.txt")"
}

# use_go: puts a satisfying go first in PATH: the machine's own if new enough, else the pinned one.
use_go() {
	export GOTOOLCHAIN=local GOFLAGS=${GOFLAGS:--buildvcs=false}
	if command -v go >/dev/null && go_satisfies go; then
		return
	fi
	PATH=$(go_home)/go/bin:$PATH
	export PATH
	go_satisfies go || die "no Go as new as go.mod asks for; run 'make setup'"
}

# go_tools_dir: where the tools of tools/go.mod live for this Go version; needs use_go first.
go_tools_dir() {
	printf '%s/tools/%s-%s\n' "$CACHE_DIR" "$(hash_of "$ROOT/tools/go.mod" "$ROOT/tools/go.sum")" "$(go env GOVERSION)"
}

# module_dir NAME: where the tool of tools/NAME/go.mod lives for this Go version, the same one for every clone; needs
# use_go first.
module_dir() {
	printf '%s/%s/%s-%s\n' "$CACHE_DIR" "$1" "$(sha256sum <"$ROOT/tools/$1/go.mod" | cut -c1-16)" "$(go env GOVERSION)"
}

# use_tools: puts the virtualenv and the Go tools first in PATH.
use_tools() {
	use_go
	[[ -x $VENV/bin/python ]] || die "no virtualenv at .venv; run 'make setup'"
	local module
	for module in kustomize nfpm compose-config compose; do
		PATH=$(module_dir "$module"):$PATH
	done
	PATH=$VENV/bin:$(go_tools_dir)/bin:$PATH
	export PATH
	# Where it is set, as in some containers, each of the processes that a check starts compiles half a second of modules.
	unset PYTHONDONTWRITEBYTECODE
}

# maven_repository: where what Maven fetches for phone-agent/benchmark lives, the same for every clone.
maven_repository() {
	printf '%s/maven/%s\n' "$CACHE_DIR" "$(hash_of "$ROOT/phone-agent/benchmark/artifacts.sha256")"
}

# use_java: has Maven use Java 17, which Error Prone's version is chosen for, whatever this machine's default is.
use_java() {
	local home
	for home in /usr/lib/jvm/java-17-openjdk-*; do
		[[ -x $home/bin/javac ]] || continue
		export JAVA_HOME=$home
		return
	done
	die "no JDK 17; run 'make setup'"
}

# maven ARGUMENT...: Maven on phone-agent/benchmark, without network.
maven() {
	local repository
	repository=$(maven_repository)
	[[ -d $repository ]] || die "nothing of phone-agent/benchmark/artifacts.sha256 is in the cache; run 'make setup'"
	use_java
	mvn --batch-mode --no-transfer-progress --offline --file phone-agent/benchmark/pom.xml \
		"-Dmaven.repo.local=$repository" "$@"
}

# java_format ARGUMENT... FILE...: google-java-format, of the version that the pom.xml names.
java_format() {
	local version exports jar=google-java-format
	version=$(sed -n 's/.*<google-java-format.version>\(.*\)<.*/\1/p' phone-agent/benchmark/pom.xml)
	mapfile -t exports < <(grep add-exports phone-agent/benchmark/.mvn/jvm.config)
	use_java
	jar=$(maven_repository)/com/google/googlejavaformat/$jar/$version/$jar-$version-all-deps.jar
	"$JAVA_HOME/bin/java" "${exports[@]}" -jar "$jar" "$@"
}

# What the agents are made of.
agent_sources=(ap-firmware phone-agent internal proto go.mod go.sum)
# Of that, what their programs are made of.
agent_code=("${agent_sources[@]}" ':(exclude)*_test.go' ':(exclude)*.md' ':(exclude)*/tests/*' ':(exclude)*/testdata/*'
	':(exclude)phone-agent/benchmark/*')

# agent_version: the release, and the commit that last changed the agents, or "modified" instead. Reports carry it, so
# it is always as long: a commit must not change what the lab's cells measure. Nor must one of tests and documents make
# other programs, which would have all cells with agents booted again.
agent_version() {
	local release commit changed
	release=$(sed -n 's/^version = "\(.*\)"$/\1/p' controller/pyproject.toml)
	if ! commit=$(git log -1 --format=%H -- "${agent_code[@]}" 2>/dev/null) || [[ -z $commit ]]; then
		echo "$release-unknown0"
		return
	fi
	changed=$(git status --porcelain -- "${agent_code[@]}")
	if [[ -n $changed ]]; then
		echo "$release-modified"
	else
		echo "$release-g${commit:0:7}"
	fi
}

# source_date_epoch: when the agents were last changed, in seconds since 1970: the time of all files in packages.
source_date_epoch() {
	if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
		SOURCE_DATE_EPOCH=$(git log -1 --format=%ct -- "${agent_sources[@]}" 2>/dev/null) || true
	fi
	printf '%s\n' "${SOURCE_DATE_EPOCH:-0}"
}
