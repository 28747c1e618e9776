#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks on every file that git knows or would add: no path of some developer's machine, no merge marker, a newline at
# the end; in prose and scripts no line longer than .editorconfig allows (tables and links of Markdown may be). Licences
# are checked by `reuse lint`, lines of Go and Python by their linters.

. "$(dirname "$0")/lib.sh"

failures=0
complain() {
	printf '%s: %s\n' "$1" "$2" >&2
	failures=$((failures + 1))
}

# Written in two halves so that this file does not find itself.
machine_paths='(/wo''rk/|/ho''me/[a-z]|/ro''ot/|/tm''p/w/|/Us''ers/)'
columns=120
merge_marker='^(<<<<<<<|>>>>>>>) '

while IFS= read -r -d '' file; do
	[[ -f $file && ! -L $file ]] || continue
	case $file in
	*_pb2.py | *_pb2.pyi | *_pb2_grpc.py | LICENSES/*) continue ;;
	esac
	grep -Iq . "$file" || continue # empty or binary
	case $file in
	*.md | *.sh | *.proto | *.yml)
		while IFS= read -r hit; do
			complain "$file:${hit%%:*}" "longer than $columns columns"
		done < <(grep -nE "^.{$((columns + 1)),}\$" "$file" | grep -vE '^[0-9]+:(\||!\[)')
		;;
	esac
	while IFS= read -r hit; do
		complain "$file:${hit%%:*}" "path of some machine: ${hit#*:}"
	done < <(grep -nE "$machine_paths" "$file")
	grep -qE "$merge_marker" "$file" && complain "$file" "merge marker"
	[[ -z $(tail -c 1 "$file") ]] || complain "$file" "no newline at the end"
done < <(git ls-files -z --cached --others --exclude-standard)

[[ $failures -eq 0 ]] || die "$failures complaint(s) about files"
