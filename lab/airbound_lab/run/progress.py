# SPDX-License-Identifier: Apache-2.0
"""Live progress on standard error: a line that changes on a terminal, otherwise one line per finished run."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class Finished(Protocol):
    """What is shown of a run that is done."""

    @property
    def total_goodput_mbps(self) -> float:
        """Total of all phones."""

    @property
    def rtt_mean_ms(self) -> float | None:
        """Mean RTT."""

    @property
    def wall_seconds(self) -> float:
        """How long the run took."""


class Progress:
    """Shows the state of the runs; called from several threads."""

    def __init__(self, stream: TextIO, runs: int, left: Callable[[], str] | None = None) -> None:
        """`left` returns how long the rest takes, in words."""
        self._stream = stream
        self._live = stream.isatty()
        self._runs = runs
        self._left = left
        self._done = 0
        self._under_way: dict[Hashable, str] = {}
        self._lock = threading.Lock()

    def update(self, task: Hashable, state: str) -> None:
        """Show the state of a run."""
        with self._lock:
            if self._under_way.get(task) != state:
                self._under_way[task] = state
                self._draw()

    def finish(self, task: Hashable, run: Finished) -> None:
        """Print a finished run."""
        rtt = "" if run.rtt_mean_ms is None else f", RTT {run.rtt_mean_ms:.0f} ms"
        self._end(
            task, f"{run.total_goodput_mbps:.2f} Mb/s{rtt} ({run.wall_seconds:.0f} s of wall-clock time{self._rest()})"
        )

    def fail(self, task: Hashable) -> None:
        """Print that a run failed; why is for the end, where it can be read."""
        self._end(task, "failed")

    def close(self) -> None:
        """Clear the line."""
        with self._lock:
            self._clear()

    def _rest(self) -> str:
        return "" if self._left is None else f"; about {self._left()} left"

    def _end(self, task: Hashable, text: str) -> None:
        with self._lock:
            self._done += 1
            self._under_way.pop(task, None)
            self._clear()
            self._stream.write(f"[{self._done}/{self._runs}] {task}: {text}\n")
            self._draw()

    def _draw(self) -> None:
        if self._live:
            self._clear()
            states = " | ".join(f"{task}: {state}" for task, state in self._under_way.items())
            width = shutil.get_terminal_size().columns
            self._stream.write(f"[{self._done}/{self._runs}] {states}"[: width - 1])
        self._stream.flush()

    def _clear(self) -> None:
        if self._live:
            self._stream.write("\r\x1b[K")
