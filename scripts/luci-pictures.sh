#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Draws the pictures of the LuCI application again, with LuCI's own modules and theme.
#   LUCI_SOURCE=DIR luci-pictures.sh    DIR is a checkout of LuCI

. "$(dirname "$0")/lib.sh"
use_tools

[[ -f ${LUCI_SOURCE:-}/modules/luci-base/htdocs/luci-static/resources/luci.js ]] ||
	die "LUCI_SOURCE is no checkout of LuCI"

draw() {
	PYTHONPATH=ap-firmware/luci/testing python -m luci_pages.pictures "$LUCI_SOURCE" docs/images
}

step "pictures of the LuCI application" draw
