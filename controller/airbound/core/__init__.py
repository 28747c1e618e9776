# SPDX-License-Identifier: Apache-2.0
"""The pure core: events and the time go in, effects come out. No wire, no clock, no store."""
