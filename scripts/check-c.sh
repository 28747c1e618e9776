#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The kernel's own style checker on kernel/patches and on the lab's kernel code. checkpatch.pl comes out of Debian's
# linux-source, unpacked once into the cache.

. "$(dirname "$0")/lib.sh"

source_archive=/usr/src/linux-source-6.1.tar.xz
[[ -f $source_archive ]] || die "no $source_archive; run 'make setup'"
version=$(dpkg-query -W -f='${Version}' linux-source-6.1)
checkpatch=$CACHE/checkpatch/$version
if [[ ! -f $checkpatch/complete ]]; then
	echo "unpacking checkpatch.pl of linux-source-6.1 $version"
	mkdir -p "$checkpatch"
	tar -xJf "$source_archive" -C "$checkpatch" --strip-components=2 --wildcards \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
	touch "$checkpatch/complete"
fi

mapfile -d '' -t sources < <(git ls-files -z --cached --others --exclude-standard -- 'lab/kernel/*.c' 'lab/kernel/*.h')
[[ ${#sources[@]} -gt 0 ]] || die "no C sources below lab/kernel"
"$checkpatch/checkpatch.pl" --no-tree --strict --terse --show-types --no-summary --max-line-length=100 \
	--ignore FILE_PATH_CHANGES,CONFIG_DESCRIPTION --file "${sources[@]}"
kernel/tests/check-series.sh checkpatch
