# SPDX-License-Identifier: Apache-2.0
"""Whether a station has a working agent: one that bounds it, or is about to. It has none if no terminal is joined as
it, or if the terminal's back end cannot set a maximum, does not report any more, or never reports in force what it is
sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound.core.reasons import Code, Reason

if TYPE_CHECKING:
    from airbound.core.addresses import Mac
    from airbound.core.cell.state import CellState


def why_no_working_agent(cell: CellState, mac: Mac, now_us: int) -> Reason | None:
    """Why something else than an agent is to limit a station; none if it has a working one."""
    terminal = cell.terminals.get(mac)
    if terminal is None:
        return Reason(Code.NO_AGENT)
    if not terminal.back_end.can_set_max:
        return Reason(Code.BACK_END_CANNOT_BOUND, terminal.back_end.name)
    if now_us >= cell.terminal_stale_at_us(terminal):
        unavailable = cell.unavailable_for(terminal, now_us)
        if unavailable is not None and unavailable.code is Code.TERMINAL_STALE:
            return unavailable
    if terminal.ignores_bounds():
        return Reason(Code.AGENT_IGNORES_BOUNDS, "", terminal.generation_in_force, terminal.last_generation)
    return None
