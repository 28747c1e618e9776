# SPDX-License-Identifier: Apache-2.0
"""The history of a phone's connections, change by change, out of what `airbound-phone trace --csv` wrote; pure."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airbound_lab import checked
from airbound_lab.errors import LabError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

EVENTS = ("local_congestion", "dup_ack", "sack", "fast_retransmit", "timeout", "undo")
SSTHRESH_UNSET = 2**31 - 1
QUEUE_INTERVAL_US = 50_000
"""The queue's length changes with every segment: it is kept at most this often, or it would be most of the file; and
where nothing follows for as long, as it was last."""

DIGITS = 6


@dataclass(slots=True)
class Track:
    """A quantity that changes now and then: from t_s[i] on it is values[i]."""

    t_s: list[float] = field(default_factory=list)
    values: list[int | None] = field(default_factory=list)

    def note(self, t_s: float, value: int | None) -> None:
        """Keep a value if it is another; of several at one moment, the last."""
        if self.t_s and self.t_s[-1] == t_s:
            self.values[-1] = value
        elif not self.t_s or self.values[-1] != value:
            self.t_s.append(t_s)
            self.values.append(value)

    def add(self, t_s: float, times: int) -> None:
        """Count an event; those of one moment come together."""
        if self.t_s and self.t_s[-1] == t_s:
            self.values[-1] = (self.values[-1] or 0) + times
        else:
            self.t_s.append(t_s)
            self.values.append(times)


@dataclass(slots=True)
class ConnectionTrace:
    """One connection. Times are seconds on the time line of the run."""

    local: str
    remote: str
    cwnd_segs: Track = field(default_factory=Track)
    ssthresh_segs: Track = field(default_factory=Track)
    """None: not set."""
    bound_min_segs: Track = field(default_factory=Track)
    bound_max_segs: Track = field(default_factory=Track)
    """None: no bound holds."""
    unsent_bytes: Track = field(default_factory=Track)
    unacked_bytes: Track = field(default_factory=Track)
    events: dict[str, Track] = field(default_factory=lambda: {name: Track() for name in EVENTS})
    """By name: when, and how often at that moment."""


TRACKS = ("cwnd_segs", "ssthresh_segs", "bound_min_segs", "bound_max_segs", "unsent_bytes", "unacked_bytes")


@dataclass(slots=True)
class PhoneTrace:
    """The connections of a phone to its server, in the order of their beginning."""

    lost: int = 0
    """Records that are missing: the kernel's buffer was too small."""
    connections: list[ConnectionTrace] = field(default_factory=list)


def parse(lines: Iterable[str], zero_us: int, seconds: float) -> PhoneTrace:
    """Read the CSV; zero_us is time zero of the run on CLOCK_MONOTONIC. LabError names the line that is wrong."""
    trace = PhoneTrace()
    connections: dict[str, ConnectionTrace] = {}
    queues: dict[str, _Queue] = {}
    reader = csv.DictReader(lines)
    for row in reader:
        try:
            if row["event"] == "lost":
                trace.lost += int(row["times"])
                continue
            if row["event"] == "refused":
                raise LabError(f"trace, line {reader.line_num}: the kernel said what airbound-phone could not read")
            time_us = int(row["time_us"])
            t_s = round((time_us - zero_us) / 1e6, DIGITS)
            if t_s >= seconds:
                continue
            cookie = row["cookie"]
            if cookie not in connections:
                connections[cookie] = ConnectionTrace(row["local"], row["remote"])
                queues[cookie] = _Queue(connections[cookie])
            connection = connections[cookie]
            _window(connection, t_s, row)
            queues[cookie].take(time_us, _QueueSample(t_s, int(row["unsent_bytes"]), int(row["unacked_bytes"])))
            if row["event"] != "window":
                connection.events[row["event"]].add(t_s, int(row["times"]))
        except (KeyError, ValueError, TypeError) as error:
            raise LabError(f"trace, line {reader.line_num}: not a record ({error!r})") from error
    for queue in queues.values():
        queue.end()
    trace.connections = list(connections.values())
    return trace


@dataclass(frozen=True, slots=True)
class _QueueSample:
    t_s: float
    unsent_bytes: int
    unacked_bytes: int


@dataclass(slots=True)
class _Queue:
    """Thins out the queue's length on its way to the tracks of a connection."""

    connection: ConnectionTrace
    kept_us: int = -QUEUE_INTERVAL_US
    seen_us: int = 0
    skipped: _QueueSample | None = None
    """The latest, if it was not kept."""

    def take(self, time_us: int, sample: _QueueSample) -> None:
        if time_us - self.seen_us >= QUEUE_INTERVAL_US:
            self.end()
        self.seen_us = time_us
        if time_us - self.kept_us < QUEUE_INTERVAL_US:
            self.skipped = sample
            return
        self.kept_us = time_us
        self._keep(sample)

    def end(self) -> None:
        """Nothing follows, or not for a while."""
        if self.skipped is not None:
            self._keep(self.skipped)

    def _keep(self, sample: _QueueSample) -> None:
        self.skipped = None
        self.connection.unsent_bytes.note(sample.t_s, sample.unsent_bytes)
        self.connection.unacked_bytes.note(sample.t_s, sample.unacked_bytes)


def _window(connection: ConnectionTrace, t_s: float, row: dict[str, str]) -> None:
    ssthresh_segs = int(row["ssthresh_segs"])
    connection.cwnd_segs.note(t_s, int(row["cwnd_segs"]))
    connection.ssthresh_segs.note(t_s, None if ssthresh_segs >= SSTHRESH_UNSET else ssthresh_segs)
    connection.bound_min_segs.note(t_s, int(row["bound_min_segs"]) or None)
    connection.bound_max_segs.note(t_s, int(row["bound_max_segs"]) or None)


def from_json(where: str, data: Any) -> PhoneTrace:
    """Check and convert what a results file has; UsageError names what is wrong."""
    checked.fields_of(where, data, PhoneTrace)
    checked.number(f"{where}.lost", data["lost"])
    connections = []
    for i, connection in enumerate(checked.items(f"{where}.connections", data["connections"])):
        here = f"{where}.connections[{i}]"
        checked.fields_of(here, connection, ConnectionTrace)
        checked.keys(f"{here}.events", connection["events"], EVENTS, ())
        read = ConnectionTrace(str(connection["local"]), str(connection["remote"]))
        for name in TRACKS:
            setattr(read, name, _track(f"{here}.{name}", connection[name]))
        read.events = {name: _track(f"{here}.events.{name}", connection["events"][name]) for name in EVENTS}
        connections.append(read)
    return PhoneTrace(data["lost"], connections)


def _track(where: str, data: Any) -> Track:
    checked.fields_of(where, data, Track)
    for value in checked.items(f"{where}.t_s", data["t_s"]):
        checked.number(f"{where}.t_s", value)
    for value in checked.items(f"{where}.values", data["values"]):
        checked.number(f"{where}.values", value, none=True)
    if len(data["t_s"]) != len(data["values"]):
        raise UsageError(f"{where}: {len(data['values'])} values for {len(data['t_s'])} times")
    return Track(data["t_s"], data["values"])
