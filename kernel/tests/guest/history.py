# SPDX-License-Identifier: GPL-2.0
"""The tracepoints of the monitor, recorded in the kernel's ring buffer and read back as text."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from support import namespace, sh

TRACEFS = "/sys/kernel/tracing"
BUFFER_KB = 32768
_LINE = re.compile(r" (?P<s>\d+)\.(?P<us>\d{6}): (?P<name>tcp_monitor_\w+): (?P<fields>.*)$")


@dataclass(frozen=True, slots=True)
class Entry:
    """One trace event. Fields are text as printed; indexing converts to a number."""

    time_us: int  # CLOCK_MONOTONIC, rounded
    name: str  # "window", "event" or "retransmit"
    text: dict[str, str]

    def __getitem__(self, key: str) -> int:
        return int(self.text[key])

    @property
    def in_loss(self) -> bool:
        return self.text["ca_state"] == "loss"


@dataclass(slots=True)
class History:
    """The recorded entries in order of time; filled when recording ends."""

    entries: list[Entry] = field(default_factory=list)

    def connections(self) -> dict[str, list[Entry]]:
        """Entries by cookie, in the order of the first entries."""
        by_cookie: dict[str, list[Entry]] = {}
        for entry in self.entries:
            by_cookie.setdefault(entry.text["cookie"], []).append(entry)
        return by_cookie


def _write(name: str, text: str) -> None:
    with open(f"{TRACEFS}/{name}", "w") as file:
        file.write(text)


def parse(text: str) -> list[Entry]:
    entries = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = _LINE.search(line)
        if match is None:
            raise AssertionError(f"not a line of the trace: {line!r}")
        pairs = dict(pair.split("=", 1) for pair in match["fields"].split(" "))
        time_us = int(match["s"]) * 1_000_000 + int(match["us"])
        entries.append(Entry(time_us, match["name"].removeprefix("tcp_monitor_"), pairs))
    return entries


@contextlib.contextmanager
def recorded(at: str) -> Iterator[History]:
    """Record the connections of one namespace; AssertionError if the buffer was too small."""
    if not os.path.exists(f"{TRACEFS}/trace"):
        sh(f"mount -t tracefs tracefs {TRACEFS}")
    with namespace(at):
        netns = os.stat("/proc/thread-self/ns/net").st_ino
    history = History()
    _write("trace_clock", "mono")
    _write("buffer_size_kb", str(BUFFER_KB))
    _write("trace", "")
    _write("events/tcp_monitor/filter", f"netns == {netns}")
    _write("events/tcp_monitor/enable", "1")
    try:
        yield history
    finally:
        _write("events/tcp_monitor/enable", "0")
        with open(f"{TRACEFS}/per_cpu/cpu0/stats") as file:
            stats = file.read()
        with open(f"{TRACEFS}/trace") as file:
            text = file.read()
        _write("events/tcp_monitor/filter", "0")
        _write("buffer_size_kb", "1")
    for expected in ("overrun: 0", "dropped events: 0"):
        if expected not in stats.splitlines():
            raise AssertionError(f"the ring buffer lost entries:\n{stats}")
    history.entries = parse(text)
