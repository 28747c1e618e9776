# SPDX-License-Identifier: Apache-2.0
"""A phone's trace: the history of its connections, change by change, from `airbound-phone trace --csv`; pure."""

from __future__ import annotations

import csv
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic.dataclasses import dataclass

from airbound_lab.errors import LabError
from airbound_lab.settings.validation import STRICT

if TYPE_CHECKING:
    from collections.abc import Iterable

EVENTS = ("local_congestion", "dup_ack", "sack", "fast_retransmit", "timeout", "undo")
SSTHRESH_UNSET = 2**31 - 1
QUEUE_INTERVAL_US = 50_000
"""The queue's length changes with every segment: a value is kept this often at most, or it would be most of the file.
The last value before a pause of this length or longer is kept as well."""

DIGITS = 6


@dataclass(frozen=True, slots=True, config=STRICT)
class Track:
    """A quantity that changes now and then: from t_s[i] on it is values[i]."""

    t_s: tuple[float, ...] = ()
    values: tuple[int | None, ...] = ()

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        if len(self.values) != len(self.t_s):
            raise ValueError(f"{len(self.values)} values for {len(self.t_s)} times")
        return self


def _all_events(events: dict[str, Track]) -> dict[str, Track]:
    for name in events:
        if name not in EVENTS:
            raise ValueError(f"unknown key {name!r}")
    for name in EVENTS:
        if name not in events:
            raise ValueError(f"{name!r} is missing")
    return events


@dataclass(frozen=True, slots=True, config=STRICT)
class ConnectionTrace:
    """One connection. Times are seconds on the time line of the run."""

    local: str
    remote: str
    cwnd_segs: Track
    ssthresh_segs: Track
    """None: not set."""
    bound_min_segs: Track
    bound_max_segs: Track
    """None: no bound is in force."""
    unsent_bytes: Track
    unacked_bytes: Track
    events: Annotated[dict[str, Track], AfterValidator(_all_events)]
    """By name: when, and how often at that moment."""


@dataclass(frozen=True, slots=True, config=STRICT)
class PhoneTrace:
    """The connections of a phone to its server, in the order of their beginning."""

    lost: Annotated[int, Field(ge=0)]
    """Records that are missing: the kernel's buffer was too small."""
    connections: tuple[ConnectionTrace, ...]


def parse(lines: Iterable[str], zero_us: int, seconds: float) -> PhoneTrace:
    """Read the CSV; zero_us is time zero of the run on CLOCK_MONOTONIC. LabError names the line that is wrong."""
    lost = 0
    connections: dict[str, _Connection] = {}
    reader = csv.DictReader(lines)
    for row in reader:
        try:
            if row["event"] == "lost":
                lost += int(row["times"])
                continue
            if row["event"] == "refused":
                raise LabError(f"trace, line {reader.line_num}: airbound-phone could not read a line of the kernel")
            time_us = int(row["time_us"])
            t_s = round((time_us - zero_us) / 1e6, DIGITS)
            if t_s >= seconds:
                continue
            if row["cookie"] not in connections:
                connections[row["cookie"]] = _Connection(row["local"], row["remote"])
            connections[row["cookie"]].record(time_us, t_s, row)
        except (KeyError, ValueError, TypeError) as error:
            raise LabError(f"trace, line {reader.line_num}: not a record ({error!r})") from error
    return PhoneTrace(lost, tuple(connection.trace() for connection in connections.values()))


@plain_dataclass(slots=True)
class _Changes:
    """A Track in the making."""

    t_s: list[float] = field(default_factory=list)
    values: list[int | None] = field(default_factory=list)

    def set(self, t_s: float, value: int | None) -> None:
        """Add a value if it differs from the one before; of several at one moment, the last is kept."""
        if self.t_s and self.t_s[-1] == t_s:
            self.values[-1] = value
        elif not self.t_s or self.values[-1] != value:
            self.t_s.append(t_s)
            self.values.append(value)

    def count(self, t_s: float, times: int) -> None:
        """Count an event; those of one moment are added up."""
        if self.t_s and self.t_s[-1] == t_s:
            self.values[-1] = (self.values[-1] or 0) + times
        else:
            self.t_s.append(t_s)
            self.values.append(times)

    def track(self) -> Track:
        return Track(tuple(self.t_s), tuple(self.values))


@plain_dataclass(frozen=True, slots=True)
class _QueueSample:
    t_s: float
    unsent_bytes: int
    unacked_bytes: int


@plain_dataclass(slots=True)
class _Connection:
    """A ConnectionTrace in the making."""

    local: str
    remote: str
    cwnd_segs: _Changes = field(default_factory=_Changes)
    ssthresh_segs: _Changes = field(default_factory=_Changes)
    bound_min_segs: _Changes = field(default_factory=_Changes)
    bound_max_segs: _Changes = field(default_factory=_Changes)
    unsent_bytes: _Changes = field(default_factory=_Changes)
    unacked_bytes: _Changes = field(default_factory=_Changes)
    events: dict[str, _Changes] = field(default_factory=lambda: {name: _Changes() for name in EVENTS})
    queue_kept_us: int = -QUEUE_INTERVAL_US
    queue_seen_us: int = 0
    queue_skipped: _QueueSample | None = None
    """The latest, if it was not kept."""

    def record(self, time_us: int, t_s: float, row: dict[str, str]) -> None:
        ssthresh_segs = int(row["ssthresh_segs"])
        self.cwnd_segs.set(t_s, int(row["cwnd_segs"]))
        self.ssthresh_segs.set(t_s, None if ssthresh_segs >= SSTHRESH_UNSET else ssthresh_segs)
        self.bound_min_segs.set(t_s, int(row["bound_min_segs"]) or None)
        self.bound_max_segs.set(t_s, int(row["bound_max_segs"]) or None)
        self._queue(time_us, _QueueSample(t_s, int(row["unsent_bytes"]), int(row["unacked_bytes"])))
        if row["event"] != "window":
            self.events[row["event"]].count(t_s, int(row["times"]))

    def _queue(self, time_us: int, sample: _QueueSample) -> None:
        if time_us - self.queue_seen_us >= QUEUE_INTERVAL_US:
            self._keep_skipped()
        self.queue_seen_us = time_us
        if time_us - self.queue_kept_us < QUEUE_INTERVAL_US:
            self.queue_skipped = sample
            return
        self.queue_kept_us = time_us
        self._keep(sample)

    def _keep_skipped(self) -> None:
        if self.queue_skipped is not None:
            self._keep(self.queue_skipped)

    def _keep(self, sample: _QueueSample) -> None:
        self.queue_skipped = None
        self.unsent_bytes.set(sample.t_s, sample.unsent_bytes)
        self.unacked_bytes.set(sample.t_s, sample.unacked_bytes)

    def trace(self) -> ConnectionTrace:
        self._keep_skipped()
        return ConnectionTrace(
            local=self.local,
            remote=self.remote,
            cwnd_segs=self.cwnd_segs.track(),
            ssthresh_segs=self.ssthresh_segs.track(),
            bound_min_segs=self.bound_min_segs.track(),
            bound_max_segs=self.bound_max_segs.track(),
            unsent_bytes=self.unsent_bytes.track(),
            unacked_bytes=self.unacked_bytes.track(),
            events={name: changes.track() for name, changes in self.events.items()},
        )
