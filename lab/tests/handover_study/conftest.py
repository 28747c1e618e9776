# SPDX-License-Identifier: Apache-2.0
"""Lanes as a guest might have seen them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airbound_lab.handover_study.design import PERIOD_S, Case, Handover
from airbound_lab.handover_study.observed import Count, Lane, Note, Observed, Record, Traffic

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def case() -> Case:
    return Case(Handover(rtt_ms=50, before_s=0, lost_s=5, held_s=2, after_s=0, down_shift_s=0), seed=1)


@pytest.fixture
def observe(case: Case) -> Callable[..., Observed]:
    """Make a lane of the case from what the delay of a record is, by when it is due; None: it never arrives."""

    def make(delay_s: Callable[[float], float | None], notes: tuple[Note, ...] = ()) -> Observed:
        records = []
        for number in range(case.handover.records()):
            due_s = number * PERIOD_S
            delay = delay_s(due_s)
            arrived_us = None if delay is None else round((due_s + delay) * 1e6)
            records.append(Record(round(due_s * 1e6), round(due_s * 1e6), arrived_us))
        lane = Lane("lane0", tuple(records), 0, 0, 0, notes)
        return Observed(lane, Traffic("lane0", Count(600, 600_000, 0), Count(300, 20_000, 0)))

    return make
