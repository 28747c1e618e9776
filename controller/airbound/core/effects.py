# SPDX-License-Identifier: Apache-2.0
"""What the engine wants done. The edges do it and add nothing."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["info", "warning"]


@dataclass(frozen=True, slots=True, order=True)
class Bound:
    """A cwnd range, in segments, for connections to `prefix`, or for all of them if it is empty."""

    prefix: str
    min_segs: int
    max_segs: int


@dataclass(frozen=True, slots=True)
class SetBounds:
    """Replace every bound of the terminal at the end of `stream`; an empty set restores the kernel's defaults."""

    stream: int
    mac: str
    generation: int
    bounds: tuple[Bound, ...]
    lease_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class RenewLease:
    """The set of this generation holds for another lease."""

    stream: int
    mac: str
    generation: int
    lease_ms: int


@dataclass(frozen=True, slots=True)
class CloseStream:
    """End a stream: another took its place, or it broke the contract."""

    stream: int
    reason: str


@dataclass(frozen=True, slots=True)
class CellChanged:
    """Whoever watches cells should look again."""

    bssid: str


@dataclass(frozen=True, slots=True)
class Note:
    """One line of the log: what happened to whom, and why."""

    level: Level
    what: str
    subject: str
    why: str


Effect = SetBounds | RenewLease | CloseStream | CellChanged | Note
