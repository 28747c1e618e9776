# SPDX-License-Identifier: Apache-2.0
"""Answers of a controller as text for people, or as JSON in the wire's own field names."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from google.protobuf import json_format

from airbound.v1 import operations_pb2, terminal_pb2

Answer = TypeVar("Answer")
_MODES = {operations_pb2.MODE_OBSERVE: "observe", operations_pb2.MODE_CONTROL: "control"}


def show(answer: Answer, as_text: Callable[[Answer], str], *, as_json: bool) -> str:
    """The answer in the form that was asked for."""
    if not as_json:
        return as_text(answer)
    message: Any = answer
    return json_format.MessageToJson(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def cells(answer: operations_pb2.ListCellsResponse) -> str:
    """A table of cells."""
    rows = [
        (
            cell.bssid,
            _printable(cell.ssid.decode(errors="replace")),
            str(cell.stations),
            str(cell.active_senders),
            str(cell.terminals),
            _mbps(cell.uplink_bps),
            _mbps(cell.capacity_bps),
            f"{cell.busy_ratio:.0%}" if cell.HasField("busy_ratio") else "-",
            _seconds(cell.report_age_ms),
            str(cell.refused_reports_total),
        )
        for cell in answer.cells
    ]
    heads = ("CELL", "SSID", "STATIONS", "SENDING", "TERMINALS", "UPLINK", "CAPACITY", "BUSY", "AGE", "REFUSED")
    return "\n".join([mode(answer), _table(heads, rows) if rows else "No access point has reported."])


def mode(answer: operations_pb2.ListCellsResponse) -> str:
    """One line."""
    return f"mode {_MODES.get(answer.mode, '?')}, policy {answer.policy}"


def mode_set(answer: operations_pb2.SetModeResponse) -> str:
    """One line."""
    return f"was {_MODES.get(answer.previous_mode, '?')}"


def exempted(answer: operations_pb2.ExemptTerminalResponse) -> str:
    """One line."""
    return f"was {'exempt' if answer.previously_exempt else 'under control'}"


def terminals(answer: operations_pb2.ListTerminalsResponse, nobody: str) -> str:
    """A table of terminals, or `nobody` if it were empty."""
    rows = [
        (
            terminal.mac,
            terminal.bssid or "not joined",
            _state(terminal),
            _sent_or_computed(terminal),
            f"{terminal.bounds_generation_in_force}/{terminal.bounds_generation_sent}",
            _seconds(terminal.report_age_ms),
            str(terminal.refused_reports_total),
        )
        for terminal in answer.terminals
    ]
    heads = ("TERMINAL", "CELL", "STATE", "BOUNDS", "IN FORCE/SENT", "AGE", "REFUSED")
    return _table(heads, rows) if rows else nobody


def explanation(answer: operations_pb2.ExplainTerminalResponse) -> str:
    """Everything about one terminal."""
    terminal = answer.terminal
    lines = [
        _bold(f"terminal {terminal.mac}") + f": {_state(terminal)}, back end {terminal.back_end or 'unknown'},"
        f" last report {_seconds(terminal.report_age_ms)} ago, {terminal.refused_reports_total} refused",
        f"generation sent {terminal.bounds_generation_sent}, in force {terminal.bounds_generation_in_force or 'none'}",
    ]
    if answer.HasField("cell"):
        cell = answer.cell
        lines.append(
            f"cell {cell.bssid}: n={cell.active_senders} of {cell.stations} stations send,"
            f" uplink {_mbps(cell.uplink_bps)}, capacity {_mbps(cell.capacity_bps)}"
        )
    if answer.no_bounds_reason:
        lines.append(_bold("no bounds") + f": {answer.no_bounds_reason}")
    if terminal.bounds_sent and any(decision.bound not in terminal.bounds_sent for decision in terminal.decisions):
        lines.append(f"sent, as its back end can take it: {_bounds(terminal.bounds_sent)}")
    for decision in terminal.decisions:
        computed_only = "" if decision.bound in terminal.bounds_sent else ", computed, not sent"
        lines += [
            "",
            _bold(_bound(decision.bound))
            + f" segments, policy {decision.policy}, n={decision.active_senders}{computed_only}",
            f"  RTT {_ms(decision.srtt_us)}, {decision.rtt_ratio:.1f} x min RTT {_ms(decision.min_rtt_us)}",
            f"  smallest RTT it saw itself {_ms(decision.own_min_rtt_us)}",
            f"  why: {decision.reason}",
        ]
    return "\n".join(lines)


def _state(terminal: operations_pb2.Terminal) -> str:
    words = ["connected" if terminal.connected else "gone"]
    if terminal.active_sender:
        words.append("sending")
    if terminal.exempt:
        words.append("exempt")
    return ", ".join(words)


def _sent_or_computed(terminal: operations_pb2.Terminal) -> str:
    if terminal.bounds_sent or not terminal.decisions:
        return _bounds(terminal.bounds_sent)
    return f"none (would be {_bounds(decision.bound for decision in terminal.decisions)})"


def _bounds(bounds: Iterable[terminal_pb2.Bound]) -> str:
    return ", ".join(map(_bound, bounds)) or "none"


def _bound(bound: terminal_pb2.Bound) -> str:
    return f"{bound.destination_prefix or 'all'} {bound.min_segs}..{bound.max_segs}"


def _mbps(bps: int) -> str:
    return f"{bps / 1e6:.1f} Mb/s"


def _ms(us: int) -> str:
    return f"{us / 1000:.1f} ms" if us else "none"


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f} s"


def _printable(text: str) -> str:
    """An SSID may hold anything; a terminal's control sequences must not come through."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    head = "  ".join(text.ljust(width) for text, width in zip(heads, widths, strict=True)).rstrip()
    return "\n".join([_bold(head), *lines])


def _bold(text: str) -> str:
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        return f"\x1b[1m{text}\x1b[0m"
    return text
