# SPDX-License-Identifier: Apache-2.0
"""What is run, and what is found; pure.

A cell's true capacity is the most that its phones carried when each of them sent all that it could: with CUBIC and, of
TCP, with Vegas, both without bounds, and with bounds. The estimates are of runs in which each phone offers an equal
part of a share of that. The controller counts IP, the phones payload.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from airbound_lab.errors import LabError
from airbound_lab.settings.scenario import SATURATION_PAYLOAD_BYTES, Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.figures.capacity import CapacityFigures
    from airbound_lab.figures.results import Run
    from airbound_lab.settings.parameters import Parameters

Protocol = Literal["tcp", "udp"]
PROTOCOLS: tuple[Protocol, ...] = ("tcp", "udp")
IP_OVER_PAYLOAD = {"tcp": 1500 / 1448, "udp": (SATURATION_PAYLOAD_BYTES + 28) / SATURATION_PAYLOAD_BYTES}
UNBOUNDED, DELAY_BASED, BOUNDED = "cubic", "vegas", "bdp"
WATCH_MS = 500
RATE_MAX_MBPS = 1000.0
"""A scenario's; phones offer no more."""


@dataclass(frozen=True, slots=True)
class Point:
    """A cell and the kind of its traffic."""

    parameters: Parameters
    protocol: Protocol

    @property
    def name(self) -> str:
        """As in the table's first column."""
        phones = "1 phone" if self.parameters.terminals == 1 else f"{self.parameters.terminals} phones"
        return f"{self.parameters.phy}, {phones}, {self.protocol}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the controller took for the capacity while so much of it was offered."""

    load_percent: float
    carried_mbps: float
    median_mbps: float
    min_mbps: float
    max_mbps: float


@dataclass(frozen=True, slots=True)
class Found:
    """Of one point and one seed; Mb/s of IP."""

    point: Point
    seed: int
    true_mbps: float
    estimates: tuple[Estimate, ...]

    def errors(self) -> list[float]:
        """Of each estimate, as a share of the true capacity."""
        return [each.median_mbps / self.true_mbps - 1 for each in self.estimates]


def saturated(point: Point, mode: str) -> Parameters:
    """Every phone sends all that it can."""
    start = Action(0, "start-traffic", protocol=point.protocol)
    return replace(point.parameters, scenario=Scenario("saturated", (start,)), modes=(mode,))


def loaded(point: Point, true_mbps: float, load_percent: float) -> Parameters:
    """The phones offer a share of the true capacity, and the controller is asked for its estimate."""
    payload_mbps = true_mbps / IP_OVER_PAYLOAD[point.protocol] * load_percent / 100 / point.parameters.terminals
    start = Action(0, "start-traffic", protocol=point.protocol, rate_mbps=min(payload_mbps, RATE_MAX_MBPS))
    return replace(point.parameters, scenario=Scenario("loaded", (start,)), modes=(BOUNDED,), watch_senders_ms=WATCH_MS)


def carried_mbps(point: Point, run: Run) -> float:
    """All phones' together, of IP."""
    return run.total_goodput_mbps * IP_OVER_PAYLOAD[point.protocol]


def true_modes(point: Point) -> tuple[str, ...]:
    """The modes of which the larger total is the true capacity: bounds change nothing about UDP."""
    return (UNBOUNDED, DELAY_BASED, BOUNDED) if point.protocol == "tcp" else (UNBOUNDED,)


def estimate(point: Point, load_percent: float, run: Run) -> Estimate:
    """LabError if the controller never answered."""
    found: CapacityFigures | None = run.capacity
    if found is None:
        raise LabError(f"{point.name}, {load_percent:g} %: the controller gave no estimate")
    return Estimate(load_percent, carried_mbps(point, run), found.median_mbps, found.min_mbps, found.max_mbps)


def rows(found: Sequence[Found], loads_percent: Sequence[float]) -> list[list[str]]:
    """Heading and a row for each point and seed: the true capacity, and by how much each estimate differs."""
    table = [["", "seed", "true Mb/s", *(f"at {load:g} %" for load in loads_percent)]]
    for each in found:
        errors = (f"{error:+.1%}" for error in each.errors())
        table.append([each.point.name, str(each.seed), f"{each.true_mbps:.1f}", *errors])
    return table


def worst(found: Sequence[Found]) -> float:
    """The largest error of all, as a share."""
    return max(abs(error) for each in found for error in each.errors())


def document(found: Sequence[Found]) -> str:
    """JSON: what was found, point by point."""
    every: list[dict[str, Any]] = [
        {
            "phy": each.point.parameters.phy,
            "terminals": each.point.parameters.terminals,
            "protocol": each.point.protocol,
            "seed": each.seed,
            "true_mbps": each.true_mbps,
            "estimates": [asdict(one) for one in each.estimates],
        }
        for each in found
    ]
    return json.dumps(every, indent=1, allow_nan=False)
