# SPDX-License-Identifier: Apache-2.0
"""The table of cells: its columns, its rows, their order."""

import math
from collections.abc import Callable, Iterable

from airbound.operator.top import fields
from airbound.operator.top.model import Model, SeenCell
from airbound.operator.top.table import Column, Row

COLUMNS = (
    Column("ssid", "SSID", 8, flexible=True),
    Column("bssid", "BSSID", 17),
    Column("channel", "CH", 3, right=True),
    Column("stations", "STA", 4, right=True),
    Column("senders", "n", 4, right=True),
    Column("uplink", "Mb/s", 6, right=True),
    Column("capacity", "OF", 6, right=True),
    Column("busy", "BUSY", 5, right=True),
    Column("ratio", "RTTx", 5, right=True),
    Column("state", "MODE", 7),
    Column("edca", "EDCA", 4),
    Column("windows", "CW", 9, needs=100),
    Column("worst", "WORST RTTx AT", 15, needs=120),
    Column("access_point", "ACCESS POINT", 15, needs=140),
)
SORTS: dict[str, tuple[str, bool]] = {  # what the largest of comes first is descending
    "ssid": ("name", False),
    "senders": ("senders", True),
    "uplink": ("uplink rate", True),
    "busy": ("busy time", True),
    "ratio": ("worst RTT ratio", True),
    "stations": ("stations", True),
    "bssid": ("BSSID", False),
}


_STATE_STYLES = {"silent": "red", "exempt": "yellow", "observe": "cyan"}


def rows(model: Model, now_s: float, *, sort: str, descending: bool, wanted: str = "") -> list[Row]:
    """The cells whose SSID or BSSID contains what is wanted, in order."""
    with model.lock:
        seen_cells = list(model.cells.values())
        ratios = dict(model.ratios)
    chosen = [seen for seen in seen_cells if _matches(seen, wanted.lower())]
    worst = {bssid: ratio.worst for bssid, ratio in ratios.items()}
    names = {bssid: ratio.worst_terminal for bssid, ratio in ratios.items()}
    chosen.sort(key=lambda seen: seen.cell.bssid)
    chosen.sort(key=_key(sort, worst), reverse=descending)
    return [_row(seen, worst.get(seen.cell.bssid), names.get(seen.cell.bssid, ""), now_s) for seen in chosen]


def _matches(seen: SeenCell, wanted: str) -> bool:
    return not wanted or wanted in seen.cell.bssid or wanted in fields.ssid(seen.cell).lower()


def _key(sort: str, worst: dict[str, float]) -> Callable[[SeenCell], float | str]:
    keys: dict[str, Callable[[SeenCell], float | str]] = {
        "ssid": lambda seen: fields.ssid(seen.cell),
        "senders": lambda seen: seen.cell.active_senders,
        "uplink": lambda seen: seen.cell.uplink_bps,
        "busy": lambda seen: seen.cell.busy_ratio if seen.cell.HasField("busy_ratio") else -math.inf,
        "ratio": lambda seen: worst.get(seen.cell.bssid, -math.inf),
        "stations": lambda seen: seen.cell.stations,
    }
    return keys.get(sort, lambda seen: seen.cell.bssid)


def _row(seen: SeenCell, worst: float | None, worst_at: str, now_s: float) -> Row:
    cell = seen.cell
    state = fields.state(cell, cell.report_age_ms + (now_s - seen.at_s) * 1000)
    return Row(
        cell.bssid,
        {
            "ssid": fields.ssid(cell),
            "bssid": cell.bssid,
            "channel": fields.channel(cell.center_frequency_mhz),
            "stations": str(cell.stations),
            "senders": str(cell.active_senders),
            "uplink": fields.mbps(cell.uplink_bps),
            "capacity": fields.mbps(cell.capacity_bps),
            "busy": fields.percent(cell.busy_ratio if cell.HasField("busy_ratio") else None),
            "ratio": fields.ratio(worst),
            "state": state,
            "edca": fields.edca(cell, short=True),
            "windows": fields.edca(cell, short=False).partition(" ")[2],
            "worst": worst_at,
            "access_point": cell.access_point or fields.NONE,
        },
        "dim" if state == "silent" else "",
        {
            "ssid": "bold",
            "ratio": fields.ratio_style(worst),
            "state": _STATE_STYLES.get(state, ""),
            "senders": "green" if cell.active_senders else "",
        },
    )


def order_text(sort: str, *, descending: bool) -> str:
    """How the table is sorted, in words."""
    return f"by {SORTS[sort][0]}, {'largest' if descending else 'smallest'} first"


def sorts() -> Iterable[str]:
    """Keys of the columns that one can sort by, in the order in which they come."""
    return SORTS
