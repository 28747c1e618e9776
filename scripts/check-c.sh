#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The kernel's own style checker on kernel/patches and on the lab's kernel code. checkpatch.pl comes out of Debian's
# linux-source, unpacked once into the cache.

. "$(dirname "$0")/lib.sh"

source_archive=/usr/src/linux-source-6.1.tar.xz
[[ -f $source_archive ]] || die "no $source_archive; run 'make setup'"
version=$(dpkg-query -W -f='${Version}' linux-source-6.1)
checkpatch=$CACHE_DIR/checkpatch/$version
if [[ ! -f $checkpatch/complete ]]; then
	echo "unpacking checkpatch.pl of linux-source-6.1 $version"
	mkdir -p "$checkpatch"
	tar -xJf "$source_archive" -C "$checkpatch" --strip-components=2 --wildcards \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
	touch "$checkpatch/complete"
fi

mapfile -d '' -t sources < <(git ls-files -z --cached --others --exclude-standard -- 'lab/kernel/*.c' 'lab/kernel/*.h')
[[ ${#sources[@]} -gt 0 ]] || die "no C sources below lab/kernel"
# Not asked of the lab's code, which is no candidate for the kernel: lines of prose within 100 columns, and (the
# medium's model compiles for user space too) kernel types and min() in place of a macro.
"$checkpatch/checkpatch.pl" --no-tree --strict --terse --show-types --no-summary --max-line-length=120 \
	--ignore LONG_LINE_COMMENT,LONG_LINE_STRING,PREFER_KERNEL_TYPES,MACRO_ARG_REUSE --file "${sources[@]}"
CACHE=$CACHE_DIR/kernel kernel/tests/check-series.sh checkpatch
