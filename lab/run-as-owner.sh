#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Entry point of the lab's image: gives out/ and the cache to the owner of the checkout, becomes that user, and runs the
# command without any capability. Docker makes a missing out/ as root; without this the results would be root's, or could not be written.
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
		die "cannot give $directory to user $uid: results would be lost"
done
exec setpriv --reuid "$uid" --regid "$gid" --clear-groups --bounding-set=-all --inh-caps=-all -- "$@"
