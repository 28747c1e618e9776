#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the devices' packages in build/packages/, without OpenWrt's SDK:
#   airbound-VERSION.tar.gz                        the agents' sources with their modules, for OpenWrt's build system
#   ARCH/airbound-ap_VERSION_ARCH.ipk              for OpenWrt up to 24.10 (opkg)
#   ARCH/airbound-ap-VERSION.apk                   for OpenWrt 25.12 and later (apk)
#   all/luci-app-airbound_VERSION_all.ipk          the agent in OpenWrt's web interface, of every architecture
#   all/luci-app-airbound-VERSION.apk              the same
#   airbound-phone_VERSION_ARCH.deb                for Debian and Ubuntu
#   airbound-handover_VERSION_ARCH.deb             the same, for phones and for servers, which need no agent
#   packages.sh [--output DIR] [--programs DIR] [ARCH...]
# An ARCH is one of architectures.txt, deb-amd64 or deb-arm64; all are the default. What is in all/ is made with any
# architecture of OpenWrt. Programs that were built are kept in --programs, by default in the cache.
# Programs are built from that tarball, with an empty module cache and no network. The same sources give the same bytes,
# wherever and whenever. A second run on unchanged sources takes a few seconds.

. "$(dirname "$0")/lib.sh"
. scripts/debian.sh
use_tools

output=build/packages
programs=$CACHE_DIR/packages
openwrt=ap-firmware/openwrt
arches=()
while [[ $# -gt 0 ]]; do
	case $1 in
	--output)
		output=$(path_of "${2:?DIR is missing}")
		shift
		;;
	--programs)
		programs=$(path_of "${2:?DIR is missing}")
		shift
		;;
	-*) die "packages: unknown flag '$1'" ;;
	*) arches+=("$1") ;;
	esac
	shift
done
declare -A go_environment
while read -r arch goarch setting _; do
	[[ $arch == \#* || -z $arch ]] || go_environment[$arch]="GOARCH=$goarch $setting"
done <"$openwrt/architectures.txt"
go_environment[deb-amd64]="GOARCH=amd64 GOAMD64=v1"
go_environment[deb-arm64]="GOARCH=arm64 GOARM64=v8.0"
[[ ${#arches[@]} -gt 0 ]] || mapfile -t arches < <(printf '%s\n' "${!go_environment[@]}" | sort)
for arch in "${arches[@]}"; do
	[[ -n ${go_environment[$arch]:-} ]] || die "packages: unknown architecture '$arch': $openwrt/architectures.txt"
done

export USERID=network=101:network=101
mkdir -p "$output"
output=$(realpath "$output")
work=$(mktemp -d)
unfinished=
clean_up() {
	report_failure
	chmod -R u+w "$work"
	rm -rf "$work" ${unfinished:+"$unfinished"}
}
trap clean_up EXIT
tarball=$output/airbound-$VERSION.tar.gz

# build_programs: the programs of every architecture, in the cache, whose key is what they are made of.
build_programs() {
	local key arch
	key=$({ sha256sum <"$tarball" && go env GOVERSION && sha256sum "$openwrt/architectures.txt" scripts/packages.sh; } |
		sha256sum | cut -c1-16)
	cache=$programs/$key
	for arch in "${arches[@]}"; do
		[[ -d $cache/$arch ]] || build_programs_of "$arch"
	done
}

build_programs_of() { # ARCH
	local start=$SECONDS tree=$work/source/airbound-$VERSION commands settings values
	commands=(./ap-firmware/cmd/airbound-ap)
	[[ $1 != deb-* ]] || commands=(./phone-agent/cmd/airbound-{phone,handover})
	[[ -d $tree ]] || { mkdir -p "$work/source" && tar -xzf "$tarball" -C "$work/source"; }
	mkdir -p "$cache"
	values=
	[[ $1 != deb-* ]] || values="-X main.defaultConfigFile=/etc/airbound/phone.conf"
	read -ra settings <<<"${go_environment[$1]}"
	(cd "$tree" && env "${settings[@]}" CGO_ENABLED=0 GOOS=linux GOPROXY=off GOMODCACHE="$work/no-modules" \
		GOFLAGS="-mod=vendor -buildvcs=false" GOWORK=off \
		go build -tags grpcnotrace -trimpath -ldflags "-s -w -X main.version=$(<VERSION) $values" -o "$work/$1/" \
		"${commands[@]}")
	# The cache may be on another file system: a copy that ends early must not count as the programs.
	unfinished=$(mktemp -d -p "$programs")
	cp -R "$work/$1" "$unfinished/"
	mv -T "$unfinished/$1" "$cache/$1" 2>/dev/null || [[ -d $cache/$1 ]] # another one was faster
	rm -rf "$unfinished" "${work:?}/$1"
	unfinished=
	echo "$1: ${commands[*]##*/} in $((SECONDS - start)) s"
}

# openwrt_tree DIR PROGRAM: the files of the package, as they are on the access point.
openwrt_tree() {
	local files=$openwrt/airbound-ap/files
	install -D -m 0755 "$2" "$1/usr/sbin/airbound-ap"
	install -D -m 0755 "$files/airbound-ap.init" "$1/etc/init.d/airbound-ap"
	install -D -m 0600 "$files/airbound.config" "$1/etc/config/airbound"
	install -D -m 0644 "$files/airbound-ap.capabilities.json" "$1/etc/capabilities/airbound-ap.json"
	install -D -m 0644 "$files/airbound-ap-windows.capabilities.json" "$1/etc/capabilities/airbound-ap-windows.json"
	install -D -m 0644 "$files/airbound-ap.keep" "$1/lib/upgrade/keep.d/airbound-ap"
}

# apk_list DIR PACKAGE: what OpenWrt's build system puts into every .apk package, the list of its files.
apk_list() {
	local list=lib/apk/packages/$2.list
	(cd "$1" && { echo "./$list" && find . -type f; } | sed 's/^\.//' | sort) >"$work/list"
	install -D -m 0644 "$work/list" "$1/$list"
}

# apk_lists DIR: what it puts into the agent's besides. The lists of configuration files do not list themselves.
apk_lists() {
	local lists=$1/lib/apk/packages
	install -d "$lists"
	echo "$USERID" >"$lists/airbound-ap.rusers"
	apk_list "$1" airbound-ap
	echo /etc/config/airbound >"$lists/airbound-ap.conffiles"
	echo "/etc/config/airbound $(sha256sum <"$1/etc/config/airbound" | cut -d ' ' -f 1)" \
		>"$lists/airbound-ap.conffiles_static"
	chmod 0644 "$lists"/*
}

# ipk CONFIG ARCH TREE DESCRIPTION FILE
ipk() {
	ARCH=$2 RELEASE=r$revision TREE=$3 DESCRIPTION=$4 nfpm package --config "$1" --packager ipk --target "$5" \
		&>"$work/log" || { cat "$work/log"; return 1; }
}

# apk NAME ARCH TREE DESCRIPTION DIR [FLAG...]
apk() {
	"$work/airbound-mkapk" --files "$3" --output "$5/$1-$VERSION-r$revision.apk" --info "name:$1" \
		--info "version:$VERSION-r$revision" --info "arch:$2" --info license:Apache-2.0 --info "description:$4" \
		--info "url:$HOMEPAGE" --info "maintainer:$MAINTAINER" "${@:6}"
}

openwrt_packages() { # ARCH
	local tree=$work/tree-$1 to=$output/$1 scripts=$openwrt/airbound-ap/scripts
	rm -rf "$to"
	mkdir -p "$to"
	openwrt_tree "$tree" "$cache/$1/airbound-ap"
	ipk "$openwrt/airbound-ap/nfpm.yaml" "$1" "$tree" "$ap_description" \
		"$to/airbound-ap_$VERSION-r${revision}_$1.ipk"
	apk_lists "$tree"
	apk airbound-ap "$1" "$tree" "$ap_description" "$to" --info origin:net/airbound-ap \
		--script "post-install:$scripts/post-install.sh" --script "post-upgrade:$scripts/post-install.sh" \
		--script "pre-deinstall:$scripts/pre-remove.sh" --script "post-deinstall:$scripts/post-remove.sh"
	rm -rf "$tree"
}
ap_description="Agent of an Airbound controller: reports stations and airtime, sets EDCA parameters under a lease"

luci_packages() {
	local tree=$work/tree-luci to=$output/all luci=ap-firmware/luci
	rm -rf "$to"
	mkdir -p "$to"
	"$luci/install.sh" "$tree"
	ipk "$luci/nfpm.yaml" all "$tree" "$luci_description" "$to/luci-app-airbound_$VERSION-r${revision}_all.ipk"
	apk_list "$tree" luci-app-airbound
	apk luci-app-airbound noarch "$tree" "$luci_description" "$to" --info origin:luci-app-airbound \
		--info "depends:luci-base airbound-ap rpcd-mod-iwinfo" --script "post-install:$luci/scripts/reload.sh" \
		--script "post-upgrade:$luci/scripts/reload.sh" --script "post-deinstall:$luci/scripts/reload.sh"
	rm -rf "$tree"
}
luci_description="Status and settings of the Airbound access point agent in OpenWrt's web interface"

# phone_tree DIR PROGRAM: the files of the phone's package, as they are on the machine.
phone_tree() {
	local files=phone-agent/debian/files
	install -D -m 0755 "$2" "$1/usr/sbin/airbound-phone"
	install -D -m 0644 "$files/airbound-phone.service" "$1/usr/lib/systemd/system/airbound-phone.service"
	install -D -m 0600 "$files/phone.conf" "$1/etc/airbound/phone.conf"
	debian_documents "$1" airbound-phone "$files/airbound-phone.8" "$files/lintian-overrides" "$files/copyright"
}

# handover_tree DIR PROGRAM: the same of the other package.
handover_tree() {
	local files=phone-agent/debian/handover
	install -D -m 0755 "$2" "$1/usr/bin/airbound-handover"
	debian_documents "$1" airbound-handover "$files/airbound-handover.1" "$files/lintian-overrides" \
		phone-agent/debian/files/copyright
}

debian_packages() { # ARCH
	local tree=$work/deb-$1
	phone_tree "$tree/phone" "$cache/deb-$1/airbound-phone"
	deb "$1" phone-agent/debian/nfpm.yaml airbound-phone "$tree/phone" "$phone_description"
	handover_tree "$tree/handover" "$cache/deb-$1/airbound-handover"
	deb "$1" phone-agent/debian/handover/nfpm.yaml airbound-handover "$tree/handover" "$handover_description"
	rm -rf "$tree"
}
phone_description="agent of an Airbound controller
Reports the TCP connections of this machine to the controller of a Wi-Fi cell,
and applies the bounds of congestion windows that the controller leases to it.
Without a controller the kernel's defaults are in force. Setting a minimum
needs Airbound's patched kernel."
handover_description="TCP without the long silence after a handover
Carries a pipe, or the TCP connections of other programs, between a phone and a
server. It has a second connection ready, and switches to it when the phone has
arrived at another access point or base station. It runs at both ends; neither
needs the agent of an Airbound controller."

packages() {
	local arch for_openwrt=
	go build -trimpath -o "$work/" "./$openwrt/cmd/airbound-mkapk"
	for arch in "${arches[@]}"; do
		case $arch in
		deb-*) debian_packages "${arch#deb-}" ;;
		*)
			openwrt_packages "$arch"
			for_openwrt=1
			;;
		esac
	done
	[[ -z $for_openwrt ]] || luci_packages
}

umask 022
step "source tarball with its modules" scripts/release-tarball.sh "$tarball"
step "programs: ${arches[*]}" build_programs
step "packages" packages
(cd "$output" && find . -type f -printf '%P %s\n' | sort | column -t)
