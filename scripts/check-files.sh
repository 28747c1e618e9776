#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks on every file that git knows or would add: no path of some developer's machine, no merge marker, a newline at
# the end; in prose and scripts no line longer than .editorconfig allows (tables and links of Markdown may be). Licences
# are checked by `reuse lint`, lines of Go and Python by their linters.

. "$(dirname "$0")/lib.sh"

# Written in two halves so that this file does not find itself.
machine_paths='(/wo''rk/|/ho''me/[a-z]|/ro''ot/|/tm''p/w/|/Us''ers/)'
columns=120
merge_marker='^(<<<<<<<|>>>>>>>) '

files=()
while IFS= read -r -d '' file; do
	[[ -f $file && ! -L $file ]] || continue
	case $file in
	*_pb2.py | *_pb2.pyi | *_pb2_grpc.py | LICENSES/*) ;;
	*) files+=("$file") ;;
	esac
done < <(git ls-files -z --cached --others --exclude-standard)
# Those that are neither empty nor binary.
mapfile -d '' -t files < <(printf '%s\0' "${files[@]}" | xargs -0 grep -IlZ .)
mapfile -d '' -t prose < <(printf '%s\0' "${files[@]}" | grep -zE '\.(md|sh|proto|yml)$')

complaints() {
	grep -HnE "^.{$((columns + 1)),}\$" "${prose[@]}" | grep -vE '^[^:]+:[0-9]+:(\||!\[)' |
		sed -E "s/^([^:]+:[0-9]+):.*/\1: longer than $columns columns/"
	grep -HnE "$machine_paths" "${files[@]}" | sed -E 's/^([^:]+:[0-9]+):/\1: path of some machine: /'
	grep -HnE "$merge_marker" "${files[@]}" | sed -E 's/^([^:]+:[0-9]+):.*/\1: merge marker/'
	# Of each file the last octet, in hexadecimal.
	tail -qc 1 "${files[@]}" | od -An -v -tx1 -w1 | paste -d ' ' - <(printf '%s\n' "${files[@]}") |
		sed -nE '/^ 0a /!s/^ .. (.*)/\1: no newline at the end/p'
}

found=$(complaints)
[[ -z $found ]] || printf '%s\n' "$found" >&2
[[ -z $found ]] || die "$(wc -l <<<"$found") complaint(s) about files"
