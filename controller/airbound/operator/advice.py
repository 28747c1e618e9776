# SPDX-License-Identifier: Apache-2.0
"""What to do next about a reason, and who takes a cell's air: the last lines of an explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound.core.reasons import Code
from airbound.operator.printable import printable
from airbound.v1 import operations_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airbound.operator.explanation import Explained
    from airbound.v1 import reason_pb2

TAKERS_MAX = 3
TAKES_LEAST = 0.05  # of the air; below, nobody is named

_STEPS = {
    Code.OBSERVE_MODE: "`airbound mode control` applies what is computed{cell}",
    Code.EXEMPT: "`airbound exempt {name} --off` ends the exemption",
    Code.NO_RTT_SAMPLE: "wait: a sample comes with the first data that is answered",
    Code.CELL_UNKNOWN: "start airbound-ap on the access point that the phone is associated with: `airbound cells`",
    Code.CELL_LEARNING: "wait: rates are known with the access point's next report",
    Code.CELL_STALE: "look on the access point: `airbound-ap status`, and the log of its agent",
    Code.TERMINAL_STALE: "look on the phone: `airbound-phone status`, `airbound-phone doctor`",
    Code.AGENT_IGNORES_BOUNDS: "look on the phone: `airbound-phone status` says why a set was not applied",
    Code.BACK_END_CANNOT_BOUND: "run `airbound-phone doctor` on the phone: it says what its kernel lacks",
    Code.ADDRESS_MISMATCH: "where addresses are translated on the way (NAT), set [identity] match_addresses = false",
    Code.MAC_CLAIMED_TWICE: "compare both terminals' MAC addresses: `airbound terminals`; the wrong one must go",
    Code.EDCA_OFF: "set [edca] enabled = true to have the access point wait longer beside uploads",
    Code.CANNOT_SET_EDCA: "look on the access point: `airbound-ap status` says what hostapd lacks",
    Code.WINDOW_CLAMP_OFF: "set [window_clamp] enabled = true to have stations without an agent limited",
    Code.CANNOT_SET_WINDOWS: "start airbound-ap with --window-clamp; on OpenWrt it needs kmod-sched-core and"
    " kmod-sched-bpf, or Linux 6.6",
    Code.UNLIMITED_SENDER: "limit that station: airbound-ap with --window-clamp, or an agent on it",
    Code.KEPT_TXOP: "start airbound-ap without --no-edca, or set a TXOP limit of 0 in hostapd's configuration",
    Code.INTERNAL_ERROR: "an own policy's error is its author's; another one belongs into an issue, with the log",
    Code.LIVE_OFF: "set [live] enabled = true to have live flows granted the category for video",
}
_NO_WINDOWS = (
    "start airbound-ap with --window-clamp (OpenWrt: option window_clamp 1) to have stations without an agent limited"
)


def next_step(reason: reason_pb2.Reason, name: str, cell: str = "") -> str:
    """What to do about a reason that concerns a terminal or station of this name; empty if nothing is to be done.
    `cell`: the BSSID, if its mode is its own.
    """
    known = {code.value: step for code, step in _STEPS.items()}
    step = known.get(reason.code, "")
    return step.format(name=printable(name), cell=f"; here with --cell {cell}" if cell else "")


def next_steps(answer: Explained, stations: Sequence[operations_pb2.StationView]) -> list[str]:
    """`next:` and what to do, for each reason of an explanation once; `stations` are those of the cell."""
    steps = dict.fromkeys(step for step in _found(answer) if step)
    if isinstance(answer, operations_pb2.ExplainCellResponse):
        for station in takers(stations):
            if _is_free(station):
                steps |= dict.fromkeys([_of_free(answer.cell, station)])
    return [f"next: {step}" for step in steps if step]


def _found(answer: Explained) -> Iterable[str]:
    cell = answer.cell
    own = cell.bssid if cell.mode_by_operator else ""
    if isinstance(answer, operations_pb2.ExplainTerminalResponse):
        terminal = answer.terminal
        if terminal.HasField("no_bounds"):
            yield next_step(terminal.no_bounds, cell.bssid if cell.exempt else terminal.name, own)
    elif isinstance(answer, operations_pb2.ExplainStationResponse):
        station = answer.station
        if station.HasField("no_limit"):
            yield next_step(station.no_limit, cell.bssid if cell.exempt else station.mac, own)
        elif not station.terminal and not cell.HasField("windows"):
            yield _NO_WINDOWS
    else:
        for reason, there in (
            (cell.edca.reason, cell.HasField("edca") and cell.edca.HasField("reason")),
            (cell.windows.reason, cell.HasField("windows") and cell.windows.HasField("reason")),
        ):
            if there:
                yield next_step(reason, cell.bssid, own)


def takers(stations: Iterable[operations_pb2.StationView]) -> list[operations_pb2.StationView]:
    """Who takes most of the air, the greatest part first."""
    found = [station for station in stations if station.air_ratio >= TAKES_LEAST]
    return sorted(found, key=lambda station: (-station.air_ratio, station.mac))[:TAKERS_MAX]


def air_text(stations: Iterable[operations_pb2.StationView]) -> str:
    """Who takes the air, in one line; empty if nobody takes much, or if that is not known."""
    shares = [f"{_name(station)} {station.air_ratio:.0%}{_state(station)}" for station in takers(stations)]
    return f"takes the air: {', '.join(shares)}" if shares else ""


def _name(station: operations_pb2.StationView) -> str:
    return printable(station.terminal or (station.ip_addresses[0] if station.ip_addresses else station.mac))


def _state(station: operations_pb2.StationView) -> str:
    if station.limits:
        return " (limited by the access point)"
    return " (nothing limits it)" if _is_free(station) else ""


def _is_free(station: operations_pb2.StationView) -> bool:
    """Whether a station sends and nothing limits it."""
    has_agent = bool(station.terminal) and not station.HasField("lack")
    return station.active_sender and not has_agent and not station.limits


def _of_free(cell: operations_pb2.Cell, station: operations_pb2.StationView) -> str:
    if not cell.HasField("windows"):
        return _NO_WINDOWS
    return next_step(station.no_limit, station.mac) if station.HasField("no_limit") else ""
