# SPDX-License-Identifier: Apache-2.0
"""Live progress on standard error: a line that changes on a terminal, otherwise one line per finished run."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from airbound_lab.results import Run
    from airbound_lab.run import Task


class Progress:
    """Shows the state of the runs; called from several threads."""

    def __init__(self, stream: TextIO, runs: int) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._runs = runs
        self._done = 0
        self._under_way: dict[Task, str] = {}
        self._lock = threading.Lock()

    def update(self, task: Task, state: str) -> None:
        """Show the state of a run."""
        with self._lock:
            if self._under_way.get(task) != state:
                self._under_way[task] = state
                self._draw()

    def finish(self, task: Task, run: Run) -> None:
        """Print a finished run."""
        with self._lock:
            self._done += 1
            self._under_way.pop(task, None)
            self._clear()
            rtt = "" if run.rtt_mean_ms is None else f", RTT {run.rtt_mean_ms:.0f} ms"
            self._stream.write(
                f"[{self._done}/{self._runs}] {task}: {run.total_goodput_mbps:.2f} Mb/s{rtt} "
                f"({run.wall_seconds:.0f} s of wall-clock time)\n"
            )
            self._draw()

    def close(self) -> None:
        """Clear the line."""
        with self._lock:
            self._clear()

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
