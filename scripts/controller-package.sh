#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the controller's package for Debian and Ubuntu, build/packages/airbound-controller_VERSION_ARCH.deb:
#   controller-package.sh [--output DIR] [amd64|arm64...]
# Both are the default. The modules of controller/requirements.txt are in it as their publishers built them, by their
# hashes, for each Python of PYTHONS: one package is for all of these distributions. What is the same for all Pythons is
# there once. Modules that were fetched are kept in the cache. The same sources give the same bytes.

. "$(dirname "$0")/lib.sh"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct -- controller 2>/dev/null || true)}
. scripts/debian.sh
use_tools

# Debian 12, Ubuntu 24.04, Debian 13.
PYTHONS=(3.11 3.12 3.13)
# The oldest C library that the modules need: that of the machines above is newer.
declare -A platforms=([amd64]=x86_64-manylinux_2_28 [arm64]=aarch64-manylinux_2_28)
here=controller/debian
output=build/packages
arches=()
while [[ $# -gt 0 ]]; do
	case $1 in
	--output)
		output=$(path_of "${2:?DIR is missing}")
		shift
		;;
	amd64 | arm64) arches+=("$1") ;;
	*) die "controller-package: '$1' is none of --output, amd64, arm64" ;;
	esac
	shift
done
[[ ${#arches[@]} -gt 0 ]] || arches=(amd64 arm64)
mkdir -p "$output"
output=$(realpath "$output")
work=$(mktemp -d)
made=
trap 'report_failure; rm -rf "$work" ${made:+"$made"}' EXIT

# fetch_modules ARCH: the modules for each Python, in the cache, whose key is what they follow from. Extension modules
# are of one Python, or of all; type stubs and the modules' own programs are of no use here.
fetch_modules() {
	local python cache=$CACHE_DIR/controller-modules
	modules=$cache/$(hash_of controller/requirements.txt scripts/controller-package.sh)-$1
	[[ ! -d $modules ]] || return 0
	mkdir -p "$cache"
	made=$(mktemp -d -p "$cache")
	for python in "${PYTHONS[@]}"; do
		fetch "$python" "$1" "$made/$python"
		rm -rf "${made:?}/$python/bin" "$made/$python/.lock"
		find "$made/$python" -name '*.pyi' -delete
	done
	share "$made"
	find "$made" -type f -exec chmod 0644 {} +
	find "$made" -type d -exec chmod 0755 {} +
	mv -T "$made" "$modules" 2>/dev/null || rm -rf "$made" # another one was faster
	made=
}

# uv does not read pip's configuration: where that names an index, it may fail, and pip goes on.
fetch() { # PYTHON ARCH DIR
	local fixed=(--quiet --require-hashes --only-binary :all: --no-deps --target "$3" -r controller/requirements.txt)
	"$VENV/bin/uv" pip install --link-mode copy --python-version "$1" --python-platform "${platforms[$2]}" "${fixed[@]}" ||
		"$VENV/bin/pip" install --no-compile --python-version "$1" --implementation cp \
			--platform "manylinux_2_28_${platforms[$2]%%-*}" --platform "manylinux2014_${platforms[$2]%%-*}" \
			--platform "manylinux_2_17_${platforms[$2]%%-*}" "${fixed[@]}"
}

# share DIR: moves what is the same for all Pythons to DIR/common.
share() {
	local name python
	mkdir "$1/common"
	for name in "$1/${PYTHONS[0]}"/*; do
		name=$(basename "$name")
		for python in "${PYTHONS[@]:1}"; do
			diff -rq "$1/${PYTHONS[0]}/$name" "$1/$python/$name" &>/dev/null || continue 2
		done
		mv "$1/${PYTHONS[0]}/$name" "$1/common/"
		for python in "${PYTHONS[@]:1}"; do
			rm -rf "${1:?}/$python/$name"
		done
	done
}

# The layout of a virtual environment, which every Python finds its own modules in: bin/python3 is the machine's.
tree() { # ARCH DIR
	local root=$2/usr/lib/airbound python to
	install -d "$root/bin" "$root/common" "$2/usr/bin"
	printf 'home = /usr/bin\ninclude-system-site-packages = false\n' >"$root/pyvenv.cfg"
	chmod 0644 "$root/pyvenv.cfg"
	ln -s ../../../bin/python3 "$root/bin/python3"
	install -m 0755 "$here/files/airbound" "$root/bin/airbound"
	ln -s ../lib/airbound/bin/airbound "$2/usr/bin/airbound"
	cp -a "$modules/common/." "$root/common"
	"$VENV/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-compile --target "$root/common" \
		--no-index --find-links "$work/wheel" airbound
	rm -rf "$root/common/bin"
	for python in "${PYTHONS[@]}"; do
		to=$root/lib/python$python/site-packages
		install -d "$to"
		cp -a "$modules/$python/." "$to"
		echo ../../../common >"$to/airbound.pth"
		chmod 0644 "$to/airbound.pth"
	done
	install -D -m 0644 "$here/files/airbound-controller.service" \
		"$2/usr/lib/systemd/system/airbound-controller.service"
	install -D -m 0644 "$here/files/controller.toml" "$2/etc/airbound/controller.toml"
	debian_documents "$2" airbound-controller "$here/files/airbound.1" "$here/files/lintian-overrides" \
		"$here/files/copyright"
}

package() { # ARCH
	fetch_modules "$1"
	rm -rf "$work/tree"
	tree "$1" "$work/tree"
	deb "$1" "$here/nfpm.yaml" airbound-controller "$work/tree" "$description"
	echo "$output/airbound-controller_$VERSION-${revision}_$1.deb"
}
description="controller that keeps Wi-Fi cells fast
Learns from access points who is sending and how full the air is, and from
phones their round-trip times, and gives each phone a range for its TCP
congestion windows, under a lease. It also has the operators' commands."

umask 022
step "the controller's wheel" scripts/wheel.sh --output "$work/wheel"
for arch in "${arches[@]}"; do
	step "package for $arch" package "$arch"
done
