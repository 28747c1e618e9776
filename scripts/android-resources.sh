#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the application's resources with aapt, for compiler, tests and package.
#   android-resources.sh DIR    writes DIR/resources.apk (resources and manifest) and DIR/generated-sources/ (R.java)

. "$(dirname "$0")/lib.sh"

output=${1:?DIR is missing}
source=phone-agent/benchmark/android/src/main
platforms=("$(maven_repository)"/org/robolectric/android-all/*/android-all-*.jar)
rm -rf "$output"
mkdir -p "$output/generated-sources"
aapt package -f -m -M "$source/AndroidManifest.xml" -S "$source/res" -I "${platforms[0]}" \
	-J "$output/generated-sources" -F "$output/resources.apk"
