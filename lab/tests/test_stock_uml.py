# SPDX-License-Identifier: Apache-2.0
"""Phones without Airbound's patches, bounded by BPF, from the kernel's own history of their connections."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

    from airbound_lab.records.trace import Track

pytestmark = pytest.mark.uml

SETTLED_S = 6.0
"""From then on all phones send, and the controller has told each its maximum."""


def largest_from(track: Track, from_s: float) -> int:
    """The largest value from a time on, that which was in force then included."""
    at = bisect.bisect_right(track.t_s, from_s)
    return max(filter(None, track.values[max(0, at - 1) :]))


def test_maxima_by_bpf_bound_as_those_of_the_patched_kernel(boot_cell: Callable[..., Cell]) -> None:
    """Where nothing is lost, a maximum is all that limits a window: both back ends leave the same windows. A cell's
    goodput differs by some percent from one to the next, so it is compared over three.
    """
    largest, totals = {}, {}
    for mode in ("bdp", "bdp+stock"):
        runs = [
            boot_cell(
                mode, seed=seed, trace=seed == 1, terminals=3, wired_delays_ms=(64.0,), seconds=10, warmup_seconds=5
            ).run
            for seed in (1, 2, 3)
        ]
        windows = []
        for phone in runs[0].phones:
            assert phone.trace is not None
            [connection] = phone.trace.connections
            windows.append(largest_from(connection.cwnd_segs, SETTLED_S))
        largest[mode], totals[mode] = windows, sum(phone.goodput_mbps for run in runs for phone in run.phones)
    assert largest["bdp+stock"] == pytest.approx(largest["bdp"], rel=0.1)
    assert totals["bdp+stock"] == pytest.approx(totals["bdp"], rel=0.03)
