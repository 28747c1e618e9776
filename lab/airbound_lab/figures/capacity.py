# SPDX-License-Identifier: Apache-2.0
"""What the controller takes for the cell's capacity, over a run; pure."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from pydantic.dataclasses import dataclass

from airbound_lab.settings.validation import STRICT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airbound_lab.figures.senders import Answer

DIGITS = 4
MEGA = 1e6


@dataclass(frozen=True, slots=True, config=STRICT)
class CapacityFigures:
    """Of IP, over the measured window."""

    median_mbps: float
    min_mbps: float
    max_mbps: float


def figures(answers: Iterable[Answer], window_ms: tuple[int, int]) -> CapacityFigures | None:
    """Of the controller's answers in the window; None if there are none."""
    from_ms, to_ms = window_ms
    values = [
        answer.capacity_bps / MEGA
        for answer in answers
        if answer.capacity_bps is not None and from_ms <= answer.t_ms < to_ms
    ]
    if not values:
        return None
    return CapacityFigures(*(round(statistic(values), DIGITS) for statistic in (statistics.median, min, max)))
