# SPDX-License-Identifier: Apache-2.0
"""For the log: that PHY rates of a cell's stations are assumed, and that they are reported again."""

from airbound.core.cell.state import CellState
from airbound.core.effects import Effect, Note
from airbound.core.reasons import Code, Reason

ENDS_US = 10_000_000  # with senders and no assumed rate: so that one that sends now and then makes no note each time


def note_assumed_rates(cell: CellState, now_us: int) -> list[Effect]:
    """After each measurement: a note if that has begun or ended."""
    assumed = cell.stations.assumed
    if assumed.count:
        began, assumed.noted_at_us = not assumed.noted_at_us, now_us
        reasons = (Reason(Code.ASSUMED_RATES, "", after=assumed.count),)
        return [Note("warning", "assumed", cell.name, reasons, cell=cell.bssid)] if began else []
    if not assumed.noted_at_us or not cell.stations.active_senders or now_us - assumed.noted_at_us < ENDS_US:
        return []
    assumed.noted_at_us = 0
    return [Note("info", "reported", cell.name, (), cell=cell.bssid)]
