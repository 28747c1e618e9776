# SPDX-License-Identifier: Apache-2.0
"""The recorded history, compared with the generator's samples, and that recording changes nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

    from airbound_lab.figures.results import Run
    from airbound_lab.records.trace import ConnectionTrace, Track

pytestmark = pytest.mark.uml

SHORT = {"terminals": 3, "wired_delays_ms": (64.0,), "seconds": 12, "warmup_seconds": 2}
LOSSY = {"loss_percent": 20.0, "retry_limit": 4}
VERY_LOSSY = {"loss_percent": 40.0, "retry_limit": 3}
"""About one frame in ten is given up, and now and then the retransmission as well: then TCP's timer runs out."""

AFTER_S = 0.000_001
"""The event is traced before the window that it leaves, at the same moment but for rounding."""


def at(track: Track, t_s: float) -> int | None:
    """The value at a moment."""
    return [value for moment, value in zip(track.t_s, track.values, strict=True) if moment <= t_s][-1]


def connections_of(run: Run) -> list[ConnectionTrace]:
    """The one connection of each phone."""
    for phone in run.phones:
        assert phone.trace is not None
        assert phone.trace.lost == 0
        assert len(phone.trace.connections) == 1
    return [connection for phone in run.phones if phone.trace for connection in phone.trace.connections]


# Not bbr: it begins its cycle at a random phase, and every process that starts uses up random numbers too.
@pytest.mark.parametrize("mode", ["cubic", "paper-jb", "bdp"])
def test_a_traced_run_is_the_run_without_a_trace_to_the_digit(boot_cell: Callable[..., Cell], mode: str) -> None:
    plain, traced = (boot_cell(mode, trace=trace, **SHORT, **LOSSY).run for trace in (False, True))
    assert traced.comparable() == plain.comparable()
    assert len(connections_of(traced)) == 3


def test_the_history_agrees_with_the_traffic_generators_samples(boot_cell: Callable[..., Cell]) -> None:
    run = boot_cell("bdp", trace=True, **SHORT, **LOSSY).run
    for phone, connection in zip(run.phones, connections_of(run), strict=True):
        series = phone.series
        for second in range(2, 13):
            # The generator samples some milliseconds after the second; a value may change meanwhile.
            moments = [second + offset / 1000 for offset in range(-20, 21)]
            for name in ("cwnd_segs", "bound_min_segs", "bound_max_segs"):
                near = {at(getattr(connection, name), t_s) for t_s in moments}
                assert getattr(series, name)[second - 1] in near
        assert series.bound_max_segs[-1] is not None
        assert connection.local.startswith("10.0.0.1")
        assert connection.remote == "10.0.4.1:5001"


def test_every_bounded_window_is_within_its_bounds(boot_cell: Callable[..., Cell]) -> None:
    run = boot_cell("bdp", trace=True, **SHORT).run
    for connection in connections_of(run):
        maxima = [value for value in connection.bound_max_segs.values if value is not None]
        assert maxima
        for t_s, segs in zip(connection.cwnd_segs.t_s, connection.cwnd_segs.values, strict=True):
            limit = at(connection.bound_max_segs, t_s)
            assert segs is not None
            assert limit is None or segs <= limit


def test_losses_show_as_events_and_reductions(boot_cell: Callable[..., Cell]) -> None:
    run = boot_cell("cubic", trace=True, **SHORT, **LOSSY).run
    assert run.retransmits > 0
    events = [connection.events for connection in connections_of(run)]
    assert sum(len(event["dup_ack"].t_s) + len(event["sack"].t_s) for event in events) > 0
    assert sum(len(event["fast_retransmit"].t_s) + len(event["timeout"].t_s) for event in events) > 0


def test_a_timeout_sets_ssthresh_and_leaves_a_window_of_one_segment(boot_cell: Callable[..., Cell]) -> None:
    connections = connections_of(boot_cell("cubic", trace=True, **SHORT, **VERY_LOSSY).run)
    # A SYN that timed out is reported at the moment of the first window: there is no threshold yet.
    after = [
        (connection, t_s + AFTER_S)
        for connection in connections
        for t_s in connection.events["timeout"].t_s
        if t_s > connection.cwnd_segs.t_s[0]
    ]
    assert len(after) >= 2
    assert None not in [at(connection.ssthresh_segs, t_s) for connection, t_s in after]
    # Segments sent less than a round trip before the timeout are not taken for lost: the window is then one more than
    # these. Most timeouts have none.
    ones = [at(connection.cwnd_segs, t_s) for connection, t_s in after].count(1)
    assert ones > len(after) / 2


def test_the_same_seed_has_the_same_history(boot_cell: Callable[..., Cell]) -> None:
    first = boot_cell("cubic", trace=True, **SHORT, **LOSSY).run
    again = boot_cell("cubic", trace=True, **SHORT, **LOSSY, bounds_interval_ms=999).run
    assert [asdict(c) for c in connections_of(first)] == [asdict(c) for c in connections_of(again)]
