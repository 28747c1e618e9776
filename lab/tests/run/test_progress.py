# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

from airbound_lab.run.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.figures.results import Results


class Terminal(io.StringIO):
    """Text that is shown to a person."""

    def isatty(self) -> bool:
        return True


def test_a_line_for_each_run_that_ended_with_what_is_left(make_results: Callable[..., Results]) -> None:
    run = replace(make_results(modes=("cubic",)).runs[0], total_goodput_mbps=20.0, rtt_mean_ms=15.4, wall_seconds=7.0)
    stream = io.StringIO()
    progress = Progress(stream, 2, lambda: "5 min")
    progress.update("first", "booting")
    progress.finish("first", run)
    progress.fail("second")
    progress.close()
    assert stream.getvalue().splitlines() == [
        "[1/2] first: 20.00 Mb/s, RTT 15 ms (7 s of wall-clock time; about 5 min left)",
        "[2/2] second: failed",
    ]


def test_on_a_terminal_the_line_shows_what_is_under_way() -> None:
    stream = Terminal()
    progress = Progress(stream, 2)
    progress.update("first", "booting")
    progress.update("first", "booting")
    progress.update("second", "3/10 s")
    drawn = stream.getvalue().split("\r\x1b[K")
    assert drawn == ["", "[0/2] first: booting", "[0/2] first: booting | second: 3/10 s"]
