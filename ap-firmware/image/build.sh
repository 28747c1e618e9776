#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes an image for an access point: OpenWrt's own, with airbound-ap, its configuration, and LuCI with the agent's
# pages in it, by OpenWrt's ImageBuilder.
#   build.sh PROFILE --target TARGET/SUBTARGET [flags]
#     --release VERSION       of OpenWrt; 25.12.0 unless given
#     --imagebuilder PLACE    a directory or .tar.zst/.tar.xz that is there already; else it is downloaded, and its
#                             SHA-256 compared with the list of its directory
#     --packages DIR          with this repository's packages; build/packages of `make packages` unless given
#     --arch ARCH             OpenWrt's architecture of the target; else what the ImageBuilder says
#     --controller ADDR:PORT  may be given several times; with it the agent starts at the first boot
#     --enroll ADDR:PORT      where the controller enrols devices, if not at port 50053 of --controller
#     --token-file FILE       what `airbound enroll` printed: who has the image can enrol as this access point, once
#     --hostname NAME
#     --no-luci               without the web interface
#     --add PACKAGE           another package; -PACKAGE leaves one out. May be given several times
#     --output DIR            build/image unless given
#     --dry-run               print what would be done, download and build nothing
# Profiles: `make info` in the ImageBuilder. One image is for one access point if it has a token or a hostname.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
downloads=${AIRBOUND_OPENWRT_DOWNLOADS:-https://downloads.openwrt.org}

die() {
	printf 'build.sh: %s\n' "$*" >&2
	exit 1
}

profile='' target='' release=25.12.0 imagebuilder='' packages=$root/build/packages arch='' token_file='' hostname=''
output=$PWD/build/image dry_run=
controllers=() enroll=() add=() ours=(airbound-ap luci luci-app-airbound)
while [[ $# -gt 0 ]]; do
	case $1 in
	--dry-run) dry_run=1 ;;
	--no-luci) ours=(airbound-ap) ;;
	--help | -h)
		sed -n '/^#   build.sh/,/^# Profiles/s/^# \{0,3\}//p' "${BASH_SOURCE[0]}"
		exit
		;;
	--*)
		[[ $# -gt 1 ]] || die "$1 has no value"
		case $1 in
		--target) target=$2 ;;
		--release) release=$2 ;;
		--imagebuilder) imagebuilder=$(realpath -m "$2") ;;
		--packages) packages=$(realpath -m "$2") ;;
		--arch) arch=$2 ;;
		--controller) controllers+=("$2") ;;
		--enroll) enroll+=("$2") ;;
		--token-file) token_file=$2 ;;
		--hostname) hostname=$2 ;;
		--add) add+=("$2") ;;
		--output) output=$(realpath -m "$2") ;;
		*) die "unknown flag $1; see --help" ;;
		esac
		shift
		;;
	*)
		[[ -z $profile ]] || die "two profiles: $profile and $1"
		profile=$1
		;;
	esac
	shift
done
[[ -n $profile ]] || die "no PROFILE; see --help"
[[ -n $imagebuilder || $target =~ ^[a-z0-9]+/[a-z0-9_]+$ ]] ||
	die "neither --target TARGET/SUBTARGET nor --imagebuilder"
for address in "${controllers[@]}" "${enroll[@]}"; do
	[[ $address =~ ^[^\'\\[:space:]]+:[0-9]+$ ]] || die "'$address' is not ADDR:PORT"
done
[[ -z $hostname || $hostname =~ ^[A-Za-z0-9][A-Za-z0-9-]{0,62}$ ]] || die "'$hostname' is not a hostname"
token=
if [[ -n $token_file ]]; then
	[[ ${#controllers[@]} -gt 0 ]] || die "--token-file without --controller"
	token=$(head -n 1 "$token_file")
	[[ $token =~ ^[A-Za-z0-9._~+/=-]+$ ]] || die "the first line of $token_file is not a token"
	echo "build.sh: the image has a token in it: keep it private until the access point has enrolled" >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# defaults: the script that OpenWrt runs once, at the first boot.
defaults() {
	local address
	echo "#!/bin/sh"
	[[ -z $hostname ]] || printf "uci set system.@system[0].hostname='%s'\nuci commit system\n" "$hostname"
	if [[ ${#controllers[@]} -gt 0 ]]; then
		echo "uci set airbound.main.enabled='1'"
		echo "uci -q delete airbound.main.controller"
		for address in "${controllers[@]}"; do echo "uci add_list airbound.main.controller='$address'"; done
		for address in "${enroll[@]}"; do echo "uci add_list airbound.main.enroll='$address'"; done
		[[ -z $token ]] || echo "uci set airbound.main.token='$token'"
		echo "uci commit airbound"
	fi
	echo "exit 0"
}

# get FILE: a file of the target's directory, and checks it against the directory's list.
get() {
	local place=$downloads/releases/$release/targets/$target
	curl --fail --silent --show-error --location --output "$work/sha256sums" "$place/sha256sums"
	archive=$(awk -v want="openwrt-imagebuilder-$release-${target//\//-}.Linux-x86_64.tar" \
		'index($2, "*" want) == 1 { print substr($2, 2); exit }' "$work/sha256sums")
	[[ -n $archive ]] || die "$place/sha256sums has no ImageBuilder"
	curl --fail --show-error --location --output "$work/$archive" "$place/$archive"
	(cd "$work" && grep -F " *$archive" sha256sums | sha256sum --check --quiet) || die "$archive: wrong SHA-256"
	imagebuilder=$work/$archive
}

unpack() {
	mkdir "$work/builder"
	tar --extract --auto-compress --strip-components=1 --directory "$work/builder" --file "$imagebuilder"
	imagebuilder=$work/builder
}

if [[ -n $dry_run ]]; then
	echo "ImageBuilder: ${imagebuilder:-$downloads/releases/$release/targets/$target/}"
	echo "packages: $packages/${arch:-ARCH of the ImageBuilder}, $packages/all"
	echo "make image PROFILE=$profile PACKAGES='${ours[*]} ${add[*]}' FILES=..., into $output"
	echo "etc/uci-defaults/99-airbound, with mode 0600:"
	defaults | sed "s|${token:-no token}|(the token)|; s|^|    |"
	exit
fi

[[ -n $imagebuilder ]] || get
[[ -e $imagebuilder ]] || die "there is no $imagebuilder"
[[ -d $imagebuilder ]] || unpack
[[ -n $arch ]] || arch=$(sed -n 's/^CONFIG_TARGET_ARCH_PACKAGES="\(.*\)"$/\1/p' "$imagebuilder/.config")
[[ -n $arch ]] || die "the ImageBuilder does not say which architecture it is for; give --arch"
# apk since 25.12, opkg before.
ending=ipk
! grep -q '^CONFIG_USE_APK=y' "$imagebuilder/.config" || ending=apk
own=()
for package in "${ours[@]}"; do
	case $package in
	airbound-ap) place=$packages/$arch ;;
	luci-app-airbound) place=$packages/all ;;
	*) continue ;; # OpenWrt's
	esac
	mapfile -t found < <(find "$place" -maxdepth 1 -name "${package}[-_]*.$ending" 2>/dev/null)
	[[ ${#found[@]} -gt 0 ]] || die "no $package in $place for .$ending; run: make packages ARGS=$arch"
	own+=("${found[@]}")
done
mkdir -p "$imagebuilder/packages"
rm -f "$imagebuilder"/packages/{airbound-ap,luci-app-airbound}[-_]*
cp "${own[@]}" "$imagebuilder/packages/"

mkdir -p "$work/files/etc/uci-defaults" "$output"
(umask 077 && defaults >"$work/files/etc/uci-defaults/99-airbound")
make -C "$imagebuilder" image PROFILE="$profile" PACKAGES="${ours[*]} ${add[*]}" FILES="$work/files" BIN_DIR="$output"
echo "images are in $output"
