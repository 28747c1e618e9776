#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Draws the dashboards' pictures again, from simulated agents at two real controllers and a real Prometheus (four
# minutes). `airbound-dashboards --help` draws them from a Prometheus of one's own.

. "$(dirname "$0")/lib.sh"
use_tools

step "pictures of the dashboards" python -m airbound_dashboards.picture.simulated docs/images 150
