#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares proto/ with the contract it replaces: `buf breaking` against the first of these that exists:
#   1. proto/ has uncommitted changes                   -> HEAD
#   2. HEAD is ahead of origin/main                     -> their merge base
#   3. otherwise                                        -> the parent of the newest commit that changed proto/
# So it works in a working tree, on a branch, and in CI on a main that already holds the change. A history with no
# earlier contract (the first commit, a clone with --depth 1) has nothing to be broken, and says so.
# A break that is meant goes into a commit whose message has a line `Breaking-Proto: why`.

. "$(dirname "$0")/lib.sh"
use_tools

base_commit() {
	local merge_base newest
	if [[ -n $(git status --porcelain -- proto) ]]; then
		git rev-parse HEAD
	elif merge_base=$(git merge-base HEAD origin/main 2>/dev/null) && [[ $merge_base != "$(git rev-parse HEAD)" ]]; then
		echo "$merge_base"
	else
		newest=$(git rev-list -1 HEAD -- 'proto/*.proto')
		git rev-parse --quiet --verify "$newest^" || true
	fi
}

base=$(base_commit)
if [[ -z $base || -z $(git ls-tree -r --name-only "$base" -- proto) ]]; then
	echo "this history holds no earlier contract: nothing to break"
	exit
fi
if git log --format=%B "$base..HEAD" -- proto | grep -q '^Breaking-Proto: '; then
	git log --format='accepted: %h %s%n%(trailers:key=Breaking-Proto)' "$base..HEAD" -- proto
	exit
fi
old=$(mktemp -d)
trap 'report_failure; rm -rf "$old"' EXIT
git archive "$base" -- buf.yaml proto | tar -x -C "$old"
echo "against $(git log -1 --format='%h %s' "$base")"
buf breaking --against "$old"
