#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares proto/ with the contract it replaces, by `buf breaking`. That is proto/ as it was at the first of these:
#   1. HEAD, if proto/ has uncommitted changes;
#   2. the merge base of HEAD and origin/main, if HEAD is ahead of it;
#   3. the parent of the newest commit that changed proto/, so that the check also works on a main with the change.
# A commit whose proto/ does not compile was no contract; the one before it counts. A history with no earlier contract
# (the first commit, a clone with --depth 1) has nothing to break, and the check reports that.
# A break that is meant goes into a commit whose message has a line `Breaking-Proto: why`.

. "$(dirname "$0")/lib.sh"
use_tools

replaced_commit() {
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

replaced=$(replaced_commit)
if [[ -n $replaced ]] && git log --format=%B "$replaced..HEAD" -- proto | grep -q '^Breaking-Proto: '; then
	git log --format='accepted: %h %s%n%(trailers:key=Breaking-Proto)' "$replaced..HEAD" -- proto
	exit
fi

old=$(mktemp -d)
trap 'report_failure; rm -rf "$old"' EXIT
for commit in ${replaced:+$(git rev-list "$replaced" -- 'proto/*.proto')}; do
	rm -rf "${old:?}"/*
	git archive "$commit" -- buf.yaml proto | tar -x -C "$old"
	if buf build "$old" -o /dev/null 2>/dev/null; then
		echo "against $(git log -1 --format='%h %s' "$commit")"
		buf breaking --against "$old"
		exit
	fi
done
echo "this history has no earlier contract: nothing to break"
