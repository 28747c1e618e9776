# SPDX-License-Identifier: Apache-2.0
"""Terminals that have arrived somewhere: what an access point reports goes to the terminal, whose own system may not
report it; what a terminal reports goes to the history.
"""

from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.effects import Arrived, Effect, Note
from airbound.core.reasons import Code, Reason
from airbound.core.reports import TerminalReport
from airbound.core.restriction import is_exempt

SOURCES = ("", "nl80211", "rtnetlink", "stream", "file", "program", "loopback", "controller")
"""By the number of airbound.v1.ArrivalSource."""
RECENT_US = 5_000_000
"""Later than that after an association, TCP's first attempts have been made, and the command would only repeat them."""
NEW_STREAM_MS = 10_000
"""An arrival so recent by the first report of a stream is why there is a new stream: the agent makes one for each."""


def arrived(cell: CellState, terminal: Terminal, now_us: int) -> list[Effect]:
    """The command for a terminal that was just joined to a cell, or joined again, if its station has associated there a
    moment ago. It is sent once for each association; never while nothing may be changed on the terminal.

    A switch lists stations whose frames it has seen, which is no association.
    """
    station = cell.stations.by_mac.get(terminal.mac)
    if station is None or not station.arrived or cell.by_switch or not terminal.takes_arrivals:
        return []
    if cell.settings.mode == "observe" or is_exempt(terminal, cell.settings):
        return []
    station.arrived = False
    if now_us - station.associated_at_us > RECENT_US:
        return []
    return [Arrived(terminal.stream, cell.bssid), _note(terminal, "access point", cell.bssid)]


def reported(terminal: Terminal, known: int | None, report: TerminalReport) -> list[Effect]:
    """The event of an arrival that a terminal reports for the first time. `known` is how many there had been by another
    stream of the same terminal; none if there is no such stream.
    """
    arrivals = report.arrivals
    if arrivals is None:
        return []
    before = known if terminal.arrivals_total is None else terminal.arrivals_total
    terminal.arrivals_total = arrivals.total
    if before is None:
        is_new = not terminal.stream.moved and arrivals.age_ms < NEW_STREAM_MS
    else:
        is_new = arrivals.total > before
    return [_note(terminal, arrivals.source, terminal.bssid)] if is_new else []


def _note(terminal: Terminal, source: str, bssid: bytes) -> Note:
    return Note("info", "arrived", terminal.name, (Reason(Code.ARRIVED, source),), terminal=terminal.name, cell=bssid)
