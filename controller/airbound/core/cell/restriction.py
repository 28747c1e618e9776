# SPDX-License-Identifier: Apache-2.0
"""Why a terminal must have no bounds, whatever is known of its cell."""

from airbound.core.addresses import mac_text
from airbound.core.cell.terminal import Terminal
from airbound.core.reasons import Code, Reason
from airbound.core.settings import Settings


def restriction(terminal: Terminal, settings: Settings) -> Reason | None:
    """Why a terminal must have no bounds, whatever is known of its cell."""
    if settings.mode == "observe":
        return Reason(Code.OBSERVE_MODE)
    if is_exempt(terminal, settings):
        return Reason(Code.EXEMPT)
    if not terminal.back_end.can_set_max:
        return Reason(Code.BACK_END_CANNOT_BOUND, terminal.back_end.name)
    if not terminal.sends:
        return Reason(Code.NOT_SENDING)
    return None


def is_exempt(terminal: Terminal, settings: Settings) -> bool:
    """Whether an operator exempted a terminal, by its name or its MAC, or the cell that it is joined to."""
    if not settings.exempt and settings.match is None:
        return False
    names, cell = (terminal.name, mac_text(terminal.mac)), terminal.cell
    return any(map(settings.is_terminal_exempt, names)) or (cell is not None and settings.is_cell_exempt(cell.bssid))
