#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the benchmark's application: build/packages/airbound-benchmark-VERSION.apk. The same sources and the same key
# give the same bytes.
#   apk.sh [--keystore FILE] [--output DIR]     prints the path of the APK
# The keystore's password is in AIRBOUND_KEYSTORE_PASSWORD. Without a keystore a key is made for this APK and thrown
# away: then another build's APK does not install over this one. The classes are made anew, in build/apk.

. "$(dirname "$0")/lib.sh"

output=build/packages keystore=''
while [[ $# -gt 0 ]]; do
	case $1 in
	--output) output=$(path_of "${2:?DIR is missing}") ;;
	--keystore) keystore=$(path_of "${2:?FILE is missing}") ;;
	*) die "apk: unknown argument '$1'" ;;
	esac
	shift 2
done
root=$ROOT/build/apk
version=$(sed -n 's/.*android:versionName="\(.*\)".*/\1/p' phone-agent/benchmark/android/src/main/AndroidManifest.xml)
work=$(mktemp -d)
trap 'report_failure; rm -rf "$work"' EXIT

rm -rf "$root"
scripts/android-resources.sh "$root/android-resources"
# Its output is no path.
maven --quiet -Dbuild.root="$root" -Dmaven.test.skip=true --projects core,android package >&2

# What the program consists of: not what is compiled against, and no test.
repository=$(maven_repository)
dx=("$repository"/com/jakewharton/android/repackaged/dalvik-dx/*/dalvik-dx-*.jar)
gson=("$repository"/com/google/code/gson/gson/*/gson-*.jar)
# Not its module-info: dx knows no class of that kind.
unzip -q "${gson[0]}" 'com/*' -d "$work/gson"
"$JAVA_HOME/bin/java" -cp "${dx[0]}" com.android.dx.command.Main --dex --min-sdk-version=26 \
	--output="$work/classes.dex" "$root"/benchmark-core/classes "$root"/benchmark-android/classes "$work/gson"

cp "$root/android-resources/resources.apk" "$work/unaligned.apk"
touch -d '1980-01-01 00:00:00 UTC' "$work/classes.dex"
(cd "$work" && TZ=UTC aapt add unaligned.apk classes.dex >/dev/null)
zipalign -f 4 "$work/unaligned.apk" "$work/aligned.apk"

if [[ -z $keystore ]]; then
	keystore=$work/keystore
	AIRBOUND_KEYSTORE_PASSWORD=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	export AIRBOUND_KEYSTORE_PASSWORD
	"$JAVA_HOME/bin/keytool" -genkeypair -keystore "$keystore" -storetype PKCS12 -alias airbound -keyalg RSA \
		-keysize 3072 -validity 10000 -dname 'CN=Airbound benchmark, a key of one build' \
		-storepass:env AIRBOUND_KEYSTORE_PASSWORD 2>/dev/null
fi
mkdir -p "$output"
apk=$(realpath "$output")/airbound-benchmark-$version.apk
# RSA by PKCS #1 is the same for the same content. The first scheme is for verifiers that know no other.
apksigner sign --ks "$keystore" --ks-pass env:AIRBOUND_KEYSTORE_PASSWORD --v1-signing-enabled true \
	--v2-signing-enabled true --v3-signing-enabled true --v4-signing-enabled false \
	--out "$apk.new" "$work/aligned.apk"
mv "$apk.new" "$apk"
echo "$apk"
