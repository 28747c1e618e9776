#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks on every file that git knows or would add: the licence line first in sources, the right licence for its folder, no path
# of some developer's machine, no merge marker, a final newline.

. "$(dirname "$0")/lib.sh"

failures=0
complain() {
	printf '%s: %s\n' "$1" "$2" >&2
	failures=$((failures + 1))
}

# Written in two halves so that this file does not find itself.
machine_paths='(/wo''rk/|/ho''me/[a-z]|/ro''ot/|/tm''p/w/|/Us''ers/)'
merge_marker='^(<<<<<<<|>>>>>>>) '

while IFS= read -r -d '' file; do
	[[ -f $file && ! -L $file ]] || continue
	case $file in
	*_pb2.py | *_pb2.pyi | *_pb2_grpc.py | LICENSES/*) continue ;;
	esac
	case $file in
	kernel/patches/*) ;; # each patch adds its own licence lines; checkpatch looks at them
	*.py | *.go | *.c | *.h | *.sh | *.proto | Makefile | Dockerfile | *.toml)
		licence=Apache-2.0
		case $file in
		kernel/*.[ch] | lab/kernel/*.[ch]) licence=GPL-2.0 ;;
		kernel/* | lab/kernel/*) licence="(GPL-2.0|Apache-2.0)" ;;
		esac
		head -n 2 "$file" | grep -qE "SPDX-License-Identifier: $licence" ||
			complain "$file" "no 'SPDX-License-Identifier: $licence' in the first two lines"
		;;
	esac
	grep -Iq . "$file" || continue # empty or binary
	while IFS= read -r hit; do
		complain "$file:${hit%%:*}" "path of some machine: ${hit#*:}"
	done < <(grep -nE "$machine_paths" "$file")
	grep -qE "$merge_marker" "$file" && complain "$file" "merge marker"
	[[ -z $(tail -c 1 "$file") ]] || complain "$file" "no newline at the end"
done < <(git ls-files -z --cached --others --exclude-standard)

[[ $failures -eq 0 ]] || die "$failures complaint(s) about files"
