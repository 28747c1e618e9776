#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Entry point of the lab's image: makes the owner of the checkout the owner of out/ and of the cache, becomes that user,
# and runs the command without any capability. Docker creates a missing out/ as root; without this the results would
# belong to root, or could not be written.
#   run-as-owner.sh COMMAND [ARGUMENT...]
# The owner is that of /run/airbound-owner, a file of the checkout that docker-compose.yml mounts there.
set -euo pipefail

witness=/run/airbound-owner
die() {
	printf 'airbound: %s\n' "$*" >&2
	exit 2
}

[[ $# -gt 0 ]] || die "no command given, such as scripts/demo.sh or 'airbound-lab run --help'"
[[ -e $witness ]] || die "no $witness: mount a file of yours there, as docker-compose.yml does"
uid=$(stat -c %u "$witness") gid=$(stat -c %g "$witness")
for directory in /airbound/out /var/cache/airbound; do
	[[ $(stat -c %u:%g "$directory") == "$uid:$gid" ]] || chown -R "$uid:$gid" "$directory" ||
		die "cannot make user $uid the owner of $directory: results would be lost"
done
exec setpriv --reuid "$uid" --regid "$gid" --clear-groups --bounding-set=-all --inh-caps=-all -- "$@"
