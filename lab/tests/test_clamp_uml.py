# SPDX-License-Identifier: Apache-2.0
"""The clamp of the phones' windows, from the kernel's own history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

MSS_BYTES = 1448


@pytest.mark.parametrize(("clamp_segs", "mode"), [(63, "cubic"), (20, "paper-jb")])
def test_no_window_is_larger_and_throughput_is_what_follows(
    boot_cell: Callable[..., Cell], clamp_segs: int, mode: str
) -> None:
    cell = boot_cell(
        mode, trace=True, terminals=1, wired_delays_ms=(256.0,), seconds=8, warmup_seconds=4, cwnd_clamp_segs=clamp_segs
    )
    [phone] = cell.run.phones
    assert phone.trace is not None
    [connection] = phone.trace.connections
    assert max(filter(None, connection.cwnd_segs.values)) == clamp_segs
    # Window over RTT: the wire alone is 256 ms, and nothing waits on the way.
    assert phone.goodput_mbps == pytest.approx(clamp_segs * MSS_BYTES * 8 / 0.256 / 1e6, rel=0.03)
    if mode == "paper-jb":
        assert max(filter(None, phone.series.bound_min_segs)) > clamp_segs


def test_the_connection_before_time_zero_leaves_runs_as_repeatable(boot_cell: Callable[..., Cell]) -> None:
    same = {"terminals": 2, "rate_control": "aarf", "seconds": 8, "warmup_seconds": 2, "cwnd_clamp_segs": 63}
    plain, traced = (boot_cell("cubic", trace=trace, **same).run for trace in (False, True))
    assert traced.comparable() == plain.comparable()
