#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The load balancer's health check: exit status 0 if there is a controller that serves.

set -euo pipefail

exec 3<>/dev/tcp/127.0.0.1/8404
printf 'GET /healthz HTTP/1.0\r\n\r\n' >&3
read -r _ status _ <&3
[[ $status == 200 ]]
