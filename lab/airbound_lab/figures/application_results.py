# SPDX-License-Identifier: Apache-2.0
"""What a results file has of each real application of a run; times are seconds on the time line of the run."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from pydantic.dataclasses import dataclass

from airbound_lab.figures import player
from airbound_lab.settings.validation import STRICT

Status = Literal["done", "running", "failed"]


@dataclass(frozen=True, slots=True, config=STRICT)
class Connections:
    """An application's TCP connections, ten times a second while there are any."""

    t_s: tuple[float, ...] = ()
    acked_bytes: tuple[int, ...] = ()
    """Since the start, of all its connections."""
    cwnd_segs: tuple[int, ...] = ()
    """Of the newest connection."""
    srtt_ms: tuple[float, ...] = ()
    retransmits: tuple[int, ...] = ()
    """Since the start, of all its connections."""
    made: tuple[int, ...] = ()
    """How many connections there have been; one that lasted for less than 0.1 s may be missing."""


@dataclass(frozen=True, slots=True, config=STRICT)
class Transfer:
    """A file, or one of several."""

    start_s: float
    last_byte_s: float | None
    """When the server had all of it; None: not before the end of the run."""
    answered_s: float | None
    """When the application had the server's answer."""


@dataclass(frozen=True, slots=True, config=STRICT)
class Transactions:
    """What HTTP clients fetched, each one transaction after the other."""

    durations_ms: tuple[float, ...]
    """Of those that ended, in the order in which they did."""
    unfinished_ms: tuple[float, ...]
    """For how long each client's last one had lasted when the time was over."""


@dataclass(frozen=True, slots=True, config=STRICT)
class Interruption:
    """The picture stood still."""

    start_s: float
    length_s: float
    missing_s: float
    kind: player.Kind


@dataclass(frozen=True, slots=True, config=STRICT)
class Video:
    """Live video, as it arrived, and as a player with a buffer of `player.BUFFER_S` showed it."""

    media_s: tuple[float, ...]
    arrived_s: tuple[float, ...]
    """By frame."""
    shown_from_s: float | None
    interruptions: tuple[Interruption, ...]


@dataclass(frozen=True, slots=True, config=STRICT)
class ApplicationResult:
    """One application."""

    phone: int
    kind: Literal["live", "file", "photos", "http"]
    start_s: float
    status: Status
    connections: Connections = field(default_factory=Connections)
    transfers: tuple[Transfer, ...] = ()
    video: Video | None = None
    transactions: Transactions | None = None

    def interruptions(self, kind: player.Kind | None = None) -> list[Interruption]:
        """The interruptions of a kind, or all."""
        found = self.video.interruptions if self.video is not None else ()
        return [each for each in found if kind in (None, each.kind)]
