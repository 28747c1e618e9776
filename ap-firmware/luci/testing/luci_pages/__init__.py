# SPDX-License-Identifier: Apache-2.0
"""For the tests and pictures of ap-firmware/luci: a router that answers the pages, and a browser that shows them."""
