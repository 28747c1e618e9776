# SPDX-License-Identifier: Apache-2.0
"""Which EDCA parameters a cell's access point is to have: those of cell/channel_access.py while uploads dominate."""

from airbound.core.addresses import mac_text
from airbound.core.cell.access_point import AccessPoint
from airbound.core.cell.channel_access import CannotSetError, can_set, wanted_set
from airbound.core.cell.state import CellState
from airbound.core.commands import set_command
from airbound.core.edca import Edca
from airbound.core.effects import Effect, Note, SetEdca
from airbound.core.failure import failed, internal_error
from airbound.core.live_decision import announced_priorities, announced_window
from airbound.core.reasons import Code, Reason
from airbound.core.reports import EdcaState
from airbound.core.restriction import cell_restriction, neighbours

UNBOUNDED_US = 30_000_000  # longer than the pauses of somebody who uploads now and then, whose bounds end meanwhile


def decide_edca(cell: CellState, now_us: int) -> list[Effect]:
    """Commands for a cell's access point about its queues."""
    access_point = cell.access_point
    if access_point is None or access_point.closed:
        return []
    try:
        reason, queues = _decide(cell, access_point, now_us)
    except Exception as error:  # noqa: BLE001  # whatever it is, the terminals' leases go on
        reason, queues = internal_error(error), ()
        cell.edca_failures_total += 1
    cell.edca_reason = reason
    if reason.waits:
        return []
    note = Note("info", "edca", cell.name, queues=queues, cell=cell.bssid)
    lease, settings = access_point.edca_lease, cell.settings
    effects = set_command(SetEdca, access_point, lease, queues, (reason,), settings=settings, now_us=now_us, note=note)
    if reason.code is Code.INTERNAL_ERROR:
        effects.append(failed(cell, reason, cell.edca_failures_total))
    return effects


def _decide(cell: CellState, access_point: AccessPoint, now_us: int) -> tuple[Reason, tuple[Edca, ...]]:
    """The set for uploads and live flows, and why, or why the access point is to have its own parameters."""
    reason, queues = _for_uploads(cell, access_point, now_us)
    state = access_point.edca
    if state is None or reason.waits or reason.code is Code.CELL_STALE:
        return reason, queues
    window, refused = announced_window(cell, state, queues)
    priorities, why = announced_priorities(cell, state, (*queues, *window), now_us)
    why = why or refused
    return (why if why is not None and not queues else reason), (*queues, *window, *priorities)


def _for_uploads(cell: CellState, access_point: AccessPoint, now_us: int) -> tuple[Reason, tuple[Edca, ...]]:
    """UPLOADS and the set, or why the access point is to have its own parameters."""
    unavailable, state = cell.unavailable(now_us), access_point.edca
    if unavailable is not None:
        cell.bounded_at_us = 0
        return unavailable, ()
    # Found out also where it is not applied: hysteresis goes on, and operators are shown what it would be.
    was_set = state is not None and state.generation > 0
    senders, parameters = cell.stations.active_senders, cell.settings.parameters.edca
    traffic = cell.edca_traffic = cell.channel_access.traffic(senders, now_us, parameters, was_set=was_set)
    restricted = _restriction(cell, state) or _nothing_bounded(cell, now_us)
    if restricted is not None or state is None or traffic.code is not Code.UPLOADS:
        return restricted or traffic, ()
    try:
        queues = _wanted(cell, state)
    except CannotSetError as error:
        return Reason(Code.CANNOT_SET_EDCA, str(error)), ()
    return (traffic, queues) if queues else (Reason(Code.EDCA_OFF), ())


def _restriction(cell: CellState, state: EdcaState | None) -> Reason | None:
    """Why the access point must have its own parameters, whatever the traffic."""
    parameters = cell.settings.parameters.edca
    if not parameters.enabled:
        return Reason(Code.EDCA_OFF)
    restricted = cell_restriction(cell)
    if restricted is None and (state is None or not can_set(state, parameters)):
        return Reason(Code.CANNOT_SET_EDCA, state.refusal if state else "")
    if restricted is None and cell.unlimited.mac:
        return Reason(Code.UNLIMITED_SENDER, mac_text(cell.unlimited.mac))
    return restricted or neighbours(cell)


def _nothing_bounded(cell: CellState, now_us: int) -> Reason | None:
    """That neither bounds nor limits have been in force for some time: an access point that waits longer is for queues
    that drain, and those of senders without bounds do not. Where bounds wait for a TXOP limit to be set, that is first.
    """
    if cell.is_bounded() or cell.kept_txop.limit_us or not cell.bounded_at_us:
        cell.bounded_at_us = now_us
    return Reason(Code.NOTHING_BOUNDED) if now_us - cell.bounded_at_us > UNBOUNDED_US else None


def _wanted(cell: CellState, state: EdcaState) -> tuple[Edca, ...]:
    """As channel_access.wanted_set; reports that change nothing carry the same state."""
    parameters, known = cell.settings.parameters.edca, cell.edca_wanted
    if known is None or known[0] is not state or known[1] is not parameters:
        known = cell.edca_wanted = state, parameters, wanted_set(state, parameters)
    return known[2]
