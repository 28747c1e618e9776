# SPDX-License-Identifier: Apache-2.0
"""What takes a cell's maxima away from the computed ones, looked at after each measurement: an access point that keeps
a TXOP limit, senders that nothing limits, downloads, and other cells.
"""

from airbound.core.cell.neighbours import OTHERS_LEAST
from airbound.core.cell.state import CellState
from airbound.core.effects import Effect, Note
from airbound.core.restriction import cell_restriction, kept_txop, neighbours, widens
from airbound.core.unlimited_senders import is_held_back, observe_pacing, observe_unlimited, used_of_shares


def observe_widening(cell: CellState, now_us: int) -> tuple[bool, list[Effect]]:
    """Have maxima follow these: whether the cell's terminals must be decided again, and notes for the log."""
    moved, effects = _observe_kept_txop(cell, now_us)
    unlimited, limited = used_of_shares(cell, now_us)
    moved |= observe_pacing(cell, unlimited, now_us)
    widened, notes = observe_unlimited(cell, unlimited, limited, now_us)
    moved |= widened
    moved |= cell.directions.observe([] if cell.unlimited.mac else cell.air.received, limited, now_us)
    widened, neighbours_notes = _observe_neighbours(cell, now_us)
    return moved or widened, effects + notes + neighbours_notes


def _observe_kept_txop(cell: CellState, now_us: int) -> tuple[bool, list[Effect]]:
    """Have bounds end where the access point keeps its TXOP limit. A cell that is empty for a while stays as it was."""
    state = cell.access_point.edca if cell.access_point is not None else None
    kept, was, stations = cell.kept_txop, bool(cell.kept_txop.limit_us), cell.stations.by_mac.values()
    if not was and (state is None or state.can_set):
        return False, []  # as in most cells: each report comes here
    aggregate = any(station.latest.aggregates for station in stations) or (was and not stations)
    concerned = aggregate and cell.settings.policy.shares_air and cell_restriction(cell) is None
    moved = kept.observe(state, now_us, concerned=concerned, bounded=cell.is_bounded())
    if was is bool(kept.limit_us):
        return moved, []
    if was:
        return moved, [Note("info", "bounded", cell.name, (), cell=cell.bssid)]
    return moved, [Note("warning", "unbounded", cell.name, (kept_txop(cell),), cell=cell.bssid)]


def _observe_neighbours(cell: CellState, now_us: int) -> tuple[bool, list[Effect]]:
    """Have maxima follow what other cells take of the channel. Beside a sender of the cell's own that nothing limits
    that is not looked at: its factor is for the same.
    """
    seen, air = cell.neighbours, cell.stations.channel
    if cell.unlimited.mac or not widens(cell):
        air = None
    claims = air is not None and air.others >= OTHERS_LEAST
    was = seen.air
    moved = seen.observe(air, now_us, held_back=claims and is_held_back(cell, now_us))
    reason = neighbours(cell)
    if (was is None) is (reason is None):
        return moved, []
    if reason is None:
        return moved, [Note("info", "uncrowded", cell.name, (), cell=cell.bssid)]
    return moved, [Note("info", "crowded", cell.name, (reason,), cell=cell.bssid)]
