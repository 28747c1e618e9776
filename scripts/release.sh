#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes a release in build/release/, which any web server can serve:
#   *.deb, *.whl, *.zip, *.tar.gz   packages of the controller and the agents, the wheel, the phone's module, sources
#   openwrt/ARCH/                   a feed for opkg and apk, signed for both
#   openwrt/keys/                   the public keys, as /etc/opkg/keys and /etc/apk/keys want them
#   airbound.cdx.json               CycloneDX: each file, each program and the modules that it is built of
#   SHA256SUMS, SHA256SUMS.sig      of all of these; the signature is usign's
#   release.sh --key DIR [--output DIR] [--made DIR]
#   release.sh --make-key DIR       makes the keys, once: devices refuse what is signed by another key than the first
# --made DIR has the results of `make packages controller-package wheel module`; without it, they are made first. The
# release is made beside its place and moved there when it is complete. The same sources and keys give the same
# bytes. Container images and Android's application are not in it.

. "$(dirname "$0")/lib.sh"
use_go

output=$ROOT/build/release
made=
key=
make_key=
while [[ $# -gt 0 ]]; do
	[[ $# -ge 2 ]] || die "release: $1 needs a directory (make release RELEASE_KEY=DIR)"
	case $1 in
	--key) key=${2:+$(path_of "$2")} ;;
	--make-key) make_key=${2:+$(path_of "$2")} ;;
	--output) output=$(path_of "$2") ;;
	--made) made=$(path_of "$2") ;;
	*) die "release: unknown flag '$1'" ;;
	esac
	shift 2
done
work=$(mktemp -d)
stage=

# clean_up also puts the release of before back if the script ended between the two moves of publish.
clean_up() {
	report_failure
	rm -rf "$work"
	if [[ -n $stage && ! -e $output && -e $stage/before ]]; then
		mv -T "$stage/before" "$output"
	fi
	rm -rf ${stage:+"$stage"}
}
trap clean_up EXIT
umask 022
go build -trimpath -o "$work/" ./ap-firmware/openwrt/cmd/airbound-mkfeed
if [[ -n $make_key ]]; then
	"$work/airbound-mkfeed" --key "$make_key" --make-key
	echo "$make_key: keep it where nobody else can read it, and a copy"
	exit
fi
[[ -n $key ]] || die "release: RELEASE_KEY=DIR names the keys; make release-key RELEASE_KEY=DIR makes them"
[[ -d $key ]] || die "release: $key: no such directory; make release-key RELEASE_KEY=DIR makes it"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' controller/pyproject.toml)

make_all() {
	scripts/packages.sh --output "$made"
	scripts/controller-package.sh --output "$made"
	scripts/wheel.sh --output "$made"
	scripts/module.sh --output "$made"
}

# take FILE...: what a release must have, by patterns. Nothing may be missing, nor be there in two versions.
take() {
	local pattern found
	for pattern in "$@"; do
		mapfile -t found < <(compgen -G "$made/$pattern")
		[[ ${#found[@]} -eq 1 ]] || die "release: ${#found[@]} files are $made/$pattern, and should be one"
		cp "${found[0]}" "$release/"
	done
}

files() {
	local name arch patterns=("airbound-$version.tar.gz" "airbound-$version-py3-none-any.whl")
	patterns+=("airbound-phone-$version.zip")
	for name in controller phone handover; do
		for arch in amd64 arm64; do
			patterns+=("airbound-${name}_$version-*_$arch.deb")
		done
	done
	take "${patterns[@]}"
}

feed() {
	local arch packages=$work/packages
	mkdir "$packages"
	while read -r arch _; do
		[[ $arch != \#* && -n $arch ]] || continue
		[[ -d $made/$arch ]] || die "release: no packages for $arch in $made"
		cp -R "$made/$arch" "$packages/"
	done <ap-firmware/openwrt/architectures.txt
	cp -R "$made/all" "$packages/"
	"$work/airbound-mkfeed" --key "$key" --packages "$packages" --output "$release/openwrt"
}

# modules_of DIRECTORY: the modules that a program is built of, Go's own library being one.
modules_of() {
	go env GOVERSION | sed 's/^go/std v/'
	go list -deps -tags grpcnotrace -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}' "$1" |
		sort -u
}

parts() {
	local program programs=()
	for program in ap-firmware/cmd/airbound-ap phone-agent/cmd/airbound-phone phone-agent/cmd/airbound-handover; do
		modules_of "./$program" | sed '/^$/d' >"$work/${program##*/}.modules"
		programs+=("${program##*/}=$work/${program##*/}.modules")
	done
	PYTHONPATH=tools "$VENV/bin/python" -m release "$version" "$(source_date_epoch)" "$release" \
		controller/requirements.txt "${programs[@]}" >"$work/airbound.cdx.json"
	cp "$work/airbound.cdx.json" "$release/"
}

checksums() {
	(cd "$release" && find . -type f -printf '%P\0' | sort -z | xargs -0 sha256sum) >"$work/SHA256SUMS"
	cp "$work/SHA256SUMS" "$release/"
	"$work/airbound-mkfeed" --key "$key" --sign "$release/SHA256SUMS"
}

# publish: the release takes the place of the one before.
publish() {
	[[ ! -e $output ]] || mv -T "$output" "$stage/before"
	mv -T "$release" "$output"
}

if [[ -e $output && -n $(ls -A "$output") && ! -e $output/SHA256SUMS ]]; then
	die "release: $output has files, and is no release that could be replaced"
fi
if [[ -z $made ]]; then
	made=$work/made
	make_all
fi
made=$(realpath "$made")
# A name of its own beside the release: on the same file system, so that a move takes it whole.
mkdir -p "$(dirname "$output")"
stage=$(mktemp -d -p "$(dirname "$output")" .release.XXXXXX)
release=$stage/release
mkdir "$release"
step "files" files
step "feed" feed
step "parts" parts
step "checksums" checksums
step "publish" publish
echo "not in it: container images, which 'make up' builds by a Docker engine, and Android's benchmark (make apk)"
echo "$output"
