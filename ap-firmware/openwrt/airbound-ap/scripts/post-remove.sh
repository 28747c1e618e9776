#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Removes what the agent had in RAM, once it has ended: it restores the access point's own EDCA parameters first. Key
# and certificate in /etc/airbound stay, for a later installation of the package.

[ -z "$IPKG_INSTROOT" ] || exit 0
tries=10
while pidof airbound-ap >/dev/null && [ "$tries" -gt 0 ]; do
	tries=$((tries - 1))
	sleep 1
done
rm -rf /var/run/airbound-ap /var/run/airbound-ap.token /sys/fs/bpf/airbound-ap
