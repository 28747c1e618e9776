# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the scripts that make packages for Debian share. Sourced, never run; needs scripts/lib.sh.

VERSION=$(sed -n 's/^version = "\(.*\)"$/\1/p' controller/pyproject.toml)
SOURCE_DATE_EPOCH=$(source_date_epoch)
export VERSION SOURCE_DATE_EPOCH
export MAINTAINER="The Airbound authors <maintainers@airbound.example>" HOMEPAGE=https://github.com/airbound/airbound
revision=1

# debian_documents DIR PACKAGE MANUAL OVERRIDES COPYRIGHT: what each package has, and the time of all its files.
debian_documents() {
	local share=$1/usr/share section=${3##*.} page=${3##*/}
	install -D -m 0644 "$5" "$share/doc/$2/copyright"
	install -D -m 0644 "$4" "$share/lintian/overrides/$2"
	install -d "$share/man/man$section"
	gzip -9n <"$3" >"$share/man/man$section/$page.gz"
	printf '%s (%s-%s) unstable; urgency=medium\n\n  * %s\n\n -- %s  %s\n' "$2" "$VERSION" "$revision" \
		"CHANGELOG.md of the repository has the changes." "$MAINTAINER" "$(date -uRd "@$SOURCE_DATE_EPOCH")" |
		gzip -9n >"$share/doc/$2/changelog.Debian.gz"
	find "$1" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
}

# deb ARCH CONFIG NAME TREE DESCRIPTION: the package, in $output; $work has room for a log.
deb() {
	local name=$3_$VERSION-${revision}_$1.deb
	ARCH=$1 RELEASE=$revision TREE=$4 DESCRIPTION=$5 nfpm package --config "$2" --packager deb \
		--target "$work/$name" &>"$work/log" || { cat "$work/log"; return 1; }
	put "$work/$name" "$output/$name"
}
