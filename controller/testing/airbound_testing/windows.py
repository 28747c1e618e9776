# SPDX-License-Identifier: Apache-2.0
"""A cell whose access point limits the windows of stations without a working agent."""

from collections.abc import Mapping
from typing import Any

from airbound.core.addresses import Mac
from airbound.core.cell.senders import StationSender
from airbound.core.cell.state import CellState
from airbound.core.effects import Effect
from airbound.core.overrides import CellOverride
from airbound.core.parameters import (
    CapacityParameters,
    Parameters,
)
from airbound.core.reports import Destination, WindowState
from airbound_testing.scenario import BSSID, AccessPoint, Scenario, mac, upload

CAN_SET = WindowState(can_set=True, limits_max=1024)
# A capacity that does not move: 24 Mb/s to a server at 20 ms are 40 segments of 1500 bytes.
FIXED = Parameters(capacity=CapacityParameters(min_bps=24e6, max_bps=24e6))
PHONE, STATION, OTHER = mac(0), mac(1), mac(2)
MSS = 1448


def seen(
    srtt_ms: float = 30, min_rtt_ms: float = 20, *, connections: int = 1, **fields: Any
) -> tuple[Destination, ...]:
    """What an access point sees of a station that sends to the server."""
    return (upload(srtt_ms, min_rtt_ms, connections=connections)._replace(**fields),)


def cell_with(
    parameters: Parameters = FIXED, state: WindowState | None = CAN_SET, overrides: tuple[CellOverride, ...] = ()
) -> Scenario:
    """A cell whose access point reports this of windows."""
    scenario = Scenario(parameters, overrides=overrides)
    scenario.windows = state
    return scenario


def second(
    scenario: Scenario,
    destinations: Mapping[Mac, tuple[Destination, ...]],
    *phones: Mac,
    rates: Mapping[Mac, float] | None = None,
    times: int = 1,
) -> list[Effect]:
    """Seconds in which stations send what the access point sees, and phones with an agent as well."""
    effects = list[Effect]()
    for _ in range(times):
        scenario.advance(1)
        sending = dict.fromkeys((*destinations, *phones), 12.0) if rates is None else rates
        effects += scenario.access_point(sending, destinations=destinations)
        for address in phones:
            effects += scenario.terminal(address, upload(30, 20))
    return effects


def point(scenario: Scenario) -> AccessPoint:
    """The cell's access point."""
    return scenario.access_points[BSSID]


def limit(scenario: Scenario, address: Mac = STATION) -> int | None:
    """Bytes that a connection of a station to the server may have in flight; none if nothing limits it."""
    return point(scenario).limit(address)


def cell(scenario: Scenario) -> CellState:
    """What the engine knows of the cell."""
    return scenario.engine.cells[BSSID]


def sender(scenario: Scenario, address: Mac = STATION) -> StationSender:
    """What it knows of a station that sends."""
    return cell(scenario).windows.senders[address]


def one_limited(parameters: Parameters = FIXED) -> Scenario:
    """One station without an agent, and its limit."""
    scenario = cell_with(parameters)
    second(scenario, {STATION: seen()}, times=3)
    assert limit(scenario)  # noqa: S101  # what tests begin with
    return scenario
