# SPDX-License-Identifier: Apache-2.0
"""Bands as people write them."""

BAND_NAMES = {1: "2.4", 2: "5", 3: "6", 4: "60"}  # GHz, by airbound.v1.Band
