# SPDX-License-Identifier: Apache-2.0
"""Reports as agents send them, right but for what a test changes."""

from typing import Any

from airbound.core.reasons import Code, Reason
from airbound.v1 import access_point_pb2, terminal_pb2

BSSID = bytes.fromhex("020000000001")
MAC = bytes.fromhex("020000000100")
OTHER_MAC = bytes.fromhex("020000000101")
THIRD_MAC = bytes.fromhex("020000000102")
IPV4 = bytes([10, 0, 4, 1])
OTHER_IPV4 = bytes([10, 0, 4, 2])
IPV6 = bytes.fromhex("20010db8000000000000000000000007")
BEST_EFFORT = access_point_pb2.ACCESS_CATEGORY_BEST_EFFORT
EDCA = access_point_pb2.EdcaState(
    can_set=True,
    refusal="why not",
    generation=31,
    own=[access_point_pb2.Edca(category=BEST_EFFORT, aifsn=2, cw_min=15, cw_max=1023, txop_limit=32)],
    stations=[access_point_pb2.Edca(category=BEST_EFFORT, aifsn=3, cw_min=7, cw_max=63, txop_limit=33, admission=True)],
    wmm=True,
    refused_total=34,
    can_set_stations=True,
    stations_refusal="why not those",
    takes_priorities=True,
)

WINDOWS = access_point_pb2.WindowState(
    can_set=True,
    refusal="why not",
    generation=41,
    refused_total=42,
    connections=43,
    connections_max=44,
    connections_evicted_total=45,
    limited_segments_total=46,
    limits_max=47,
)


def cell_report(**fields: Any) -> access_point_pb2.AccessPointReport:
    """A report that is right but for these fields."""
    return access_point_pb2.AccessPointReport(**{"bssid": BSSID, "sequence": 1, **fields})


def phone_report(**fields: Any) -> terminal_pb2.TerminalReport:
    """A report that is right but for these fields."""
    return terminal_pb2.TerminalReport(**{"mac": MAC, "sequence": 1, **fields})


def station(**fields: Any) -> access_point_pb2.Station:
    """A station that is right but for these fields."""
    return access_point_pb2.Station(**{"mac": MAC, **fields})


def station_destination(**fields: Any) -> access_point_pb2.StationDestination:
    """A destination of a station that is right but for these fields."""
    return access_point_pb2.StationDestination(**{"address": IPV4, "connections": 8, **fields})


def destination(**fields: Any) -> terminal_pb2.Destination:
    """A destination that is right but for these fields."""
    return terminal_pb2.Destination(**{"address": IPV4, **fields})


def seen(reasons: list[Reason]) -> list[tuple[Code, str]]:
    """Which reasons, and about what."""
    return [(reason.code, reason.subject) for reason in reasons]
