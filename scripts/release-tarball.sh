#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the agents' source tarball with all modules that they need (vendor/): who builds it needs Go, and no network.
#   release-tarball.sh FILE    FILE.tar.gz; its name without .tar.gz becomes the directory in it
# The same content gives the same bytes. What is not committed is in it too, so that packages can be tested.

. "$(dirname "$0")/lib.sh"
use_go

[[ $# -eq 1 && $1 == *.tar.gz ]] || die "usage: release-tarball.sh FILE.tar.gz"
file=$(realpath -m "$1")
name=$(basename "$file" .tar.gz)
work=$(mktemp -d)
clean_up() {
	report_failure
	rm -rf "$work"
}
trap clean_up EXIT

mkdir -p "$work/$name" "$(dirname "$file")"
mapfile -d '' sources < <(
	git ls-files -z --cached --others --exclude-standard -- "${agent_sources[@]}" LICENSE LICENSES
)
existing=()
for source in "${sources[@]}"; do
	case $source in
	# Tests and their data stay in the repository, and what no agent is made of.
	*_test.go | */testdata/* | */tests/* | phone-agent/benchmark/*) continue ;;
	esac
	[[ -f $source ]] && existing+=("$source")
done
tar --create --no-recursion -- "${existing[@]}" | tar --extract --directory "$work/$name"
(cd "$work/$name" && go mod vendor)
agent_version >"$work/$name/VERSION"
chmod -R u=rwX,go=rX "$work/$name"
tar --directory "$work" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime="@$(source_date_epoch)" \
	--create "$name" | gzip -9n >"$file"
