# SPDX-License-Identifier: Apache-2.0
"""Frames of stations that aggregate (802.11n and later), as the capacity and the policy count them."""

OVERHEAD_BYTES = 46  # QoS header, LLC/SNAP, FCS, delimiter, half of the padding; of an IP packet
LONGEST_ACCESS_US = 5_484.0  # air time of an access at most: aPPDUMaxTime (IEEE 802.11-2020, table 21-28)
