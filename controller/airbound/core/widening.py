# SPDX-License-Identifier: Apache-2.0
"""What takes a cell's maxima away from the computed ones, looked at after each measurement: senders that nothing
limits, and downloads.
"""

from airbound.core.cell.state import CellState
from airbound.core.effects import Effect
from airbound.core.unlimited_senders import observe_unlimited, used_of_shares


def observe_widening(cell: CellState, now_us: int) -> tuple[bool, list[Effect]]:
    """Have maxima follow these: whether the cell's terminals must be decided again, and notes for the log."""
    unlimited, limited = used_of_shares(cell, now_us)
    moved, notes = observe_unlimited(cell, unlimited, limited, now_us)
    moved |= cell.directions.observe([] if cell.unlimited.mac else cell.air.received, limited, now_us)
    return moved, notes
