# SPDX-License-Identifier: Apache-2.0
"""The table of what applications with a class send: live flows with need and grant, and who else sends."""

from airbound.operator import values
from airbound.operator.top import fields
from airbound.operator.top.model import OpenCell
from airbound.operator.top.table import Column, Row
from airbound.v1 import operations_pb2, terminal_pb2

COLUMNS = (
    Column("name", "TERMINAL", 12, flexible=True),
    Column("destination", "TO", 13, flexible=True),
    Column("uids", "UID", 7),
    Column("class", "CLASS", 10),
    Column("gets", "Mb/s", 6, right=True),
    Column("needs", "NEEDS", 6, right=True),
    Column("air", "AIR", 4, right=True),
    Column("grant", "VIDEO", 15, flexible=True),
)
_LIVE = terminal_pb2.APPLICATION_CLASS_LIVE


def rows(cell: OpenCell) -> list[Row]:
    """Live flows, those without a grant first; then the other classes, where applications of them send."""
    found = list[tuple[tuple[bool, bool, str], Row]]()
    for terminal in cell.terminals:
        live = {flow.destination for flow in terminal.live_flows}
        for flow in terminal.live_flows:
            row = _live(terminal, flow)
            found.append(((False, flow.granted, row.key), row))
        views = cell.destinations.get(terminal.mac)
        for view in views.destinations if views else ():
            for part in view.classes:
                is_shown = part.application_class == _LIVE and view.address in live
                if part.connections_sending and not is_shown:
                    row = _other(terminal, view.address, part)
                    found.append(((True, False, row.key), row))
    return [row for _, row in sorted(found, key=lambda entry: entry[0])]


def _live(terminal: operations_pb2.Terminal, flow: operations_pb2.LiveFlow) -> Row:
    cells = {
        "name": terminal.name,
        "destination": flow.destination,
        "uids": ",".join(map(str, flow.uids)),
        "class": values.class_word(_LIVE),
        "gets": fields.mbps(flow.used_bps),
        "needs": fields.mbps(flow.need_bps),
        "air": fields.percent(flow.air),
        "grant": "granted" if flow.granted else values.reason_words(flow.refused),
    }
    return Row(_key(terminal, flow.destination, _LIVE), cells, "", {"grant": "green" if flow.granted else "yellow"})


def _other(terminal: operations_pb2.Terminal, address: str, part: terminal_pb2.ClassPart) -> Row:
    """What the phone says of another class; what it gets is in no answer."""
    cells = {
        "name": terminal.name,
        "destination": address,
        "uids": ",".join(map(str, part.uids)),
        "class": values.class_word(part.application_class),
        "gets": fields.NONE,
        "needs": fields.NONE,
        "air": fields.NONE,
    }
    return Row(_key(terminal, address, part.application_class), cells, "dim")


def _key(terminal: operations_pb2.Terminal, address: str, number: int) -> str:
    return f"{terminal.mac} {terminal.name} {address} {number}"
