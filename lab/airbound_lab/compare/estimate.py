# SPDX-License-Identifier: Apache-2.0
"""How long runs take; pure. The constants are of two guests at a time on two cores; what was measured corrects them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound_lab.settings import modes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airbound_lab.settings.parameters import Parameters


def wall_s(parameters: Parameters) -> float:
    """Wall-clock seconds that a run of its only mode takes, roughly."""
    phones, phone_seconds = parameters.terminals, parameters.terminals * parameters.seconds
    seconds = 1.5 + 0.2 * phones + 0.02 * phone_seconds
    if modes.parse(parameters.modes[0]).has_agents:
        seconds += 4 + 0.5 * phones + 0.01 * phone_seconds
    return seconds


def left_s(to_do_s: Iterable[float], done: Iterable[tuple[float, float]], jobs: int) -> float:
    """Wall-clock seconds until all is done; `done` are (estimated, measured) seconds of runs."""
    pairs = list(done)
    estimated_s, measured_s = (sum(pair[i] for pair in pairs) for i in (0, 1))
    correction = measured_s / estimated_s if estimated_s else 1.0
    return sum(to_do_s) * correction / jobs


def text(seconds: float) -> str:
    """Write a duration: 40 s, 12 min, 3 h 5 min."""
    if seconds < 60:  # noqa: PLR2004  (a minute)
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004  (an hour)
