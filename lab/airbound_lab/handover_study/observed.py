# SPDX-License-Identifier: Apache-2.0
"""What a lane's ends and the forwarder saw, as the guest writes it and the study keeps it; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from airbound_lab.errors import LabError
from airbound_lab.settings.validation import explain

if TYPE_CHECKING:
    from collections.abc import Sequence

US_PER_S = 1_000_000


@checked(frozen=True, slots=True)
class Record:
    """A record: when the application made it, when the kernel took it (-1: never), when it arrived (None: never)."""

    due_us: int
    written_us: int
    arrived_us: int | None

    @property
    def due_s(self) -> float:
        """Since time zero."""
        return self.due_us / US_PER_S

    @property
    def arrived_s(self) -> float | None:
        """Since time zero."""
        return None if self.arrived_us is None else self.arrived_us / US_PER_S

    @property
    def delay_s(self) -> float | None:
        """From the application to the application."""
        return None if self.arrived_us is None else (self.arrived_us - self.due_us) / US_PER_S


@checked(frozen=True, slots=True)
class Note:
    """What a rival did."""

    at_us: int
    text: str


@checked(frozen=True, slots=True)
class Lane:
    """What the ends of a lane saw."""

    name: str
    records: tuple[Record, ...]
    again: int
    late: int
    garbage: int
    notes: tuple[Note, ...]


@checked(frozen=True, slots=True)
class Count:
    """Packets with their link-layer headers, the lost ones included."""

    packets: int
    bytes: int
    lost: int


@checked(frozen=True, slots=True)
class Traffic:
    """What the forwarder saw of a lane."""

    name: str
    up: Count
    down: Count


@dataclass(frozen=True, slots=True)
class Observed:
    """All that is known of a rival in a case."""

    lane: Lane
    traffic: Traffic


_LANES = TypeAdapter(tuple[Lane, ...])
_TRAFFIC = TypeAdapter(tuple[Traffic, ...])


def parse(exchange: Any, forward: Any, names: Sequence[str]) -> list[Observed]:
    """Read what a guest wrote; lanes have the order of `names`.

    Raises:
        LabError: it is not what the study expects.
    """
    try:
        lanes, traffic = _LANES.validate_python(exchange), _TRAFFIC.validate_python(forward)
    except ValidationError as error:
        raise LabError(f"the guest's results: {explain(error)}") from error
    for what, found in (("exchange", [lane.name for lane in lanes]), ("forward", [each.name for each in traffic])):
        if found != list(names):
            raise LabError(f"the guest's results: {what} has other lanes than the plan")
    for lane in lanes:
        if lane.garbage:
            raise LabError(f"the guest's results: {lane.name} received {lane.garbage} records with wrong content")
    return [Observed(*pair) for pair in zip(lanes, traffic, strict=True)]
