# SPDX-License-Identifier: Apache-2.0
"""Real applications send in virtual time, twice the same to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airbound_lab.run import host
from airbound_lab.settings.application import File, Live, Photos
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml

EVERY_KIND = Scenario(
    "applications",
    (
        Action(0, "start-application", phone=1, application=Live(length_s=4, rate_kbps=400)),
        Action(0, "start-application", phone=1, application=Photos(count=3, size_bytes=200_000, pause_s=0.5)),
        Action(1, "start-application", phone=2, application=Photos(count=3, size_bytes=200_000, connections="each")),
        Action(1, "start-application", phone=2, application=File(size_bytes=2_000_000)),
        Action(0, "start-traffic", phone=2, protocol="udp", rate_mbps=1.0),
    ),
)
SHORT = {"terminals": 2, "wired_delays_ms": (64.0,), "seconds": 6, "warmup_seconds": 2}
RTT_S = 0.064


@pytest.fixture(scope="module")
def twice(boot_cell: Callable[..., Cell]) -> tuple[Cell, Cell]:
    host.check_tools(applications=True)
    first, second = (boot_cell("cubic", scenario=EVERY_KIND, fresh=True, **SHORT) for _ in range(2))
    return first, second


def test_they_are_the_same_to_the_byte(twice: tuple[Cell, Cell]) -> None:
    first, second = twice
    assert first.run.comparable() == second.run.comparable()
    names = sorted(path.name for path in first.logs.glob("application*"))
    assert names == sorted(path.name for path in second.logs.glob("application*"))
    assert [name for name in names if (first.logs / name).read_bytes() != (second.logs / name).read_bytes()] == []


def test_each_sends_all_that_it_has(twice: tuple[Cell, Cell]) -> None:
    found = twice[0].run.applications
    assert found is not None
    live, paused, each, file = found
    assert [one.status for one in found] == ["done"] * 4
    assert [len(one.transfers) for one in found] == [0, 3, 3, 1]
    for one, sent_bytes in ((paused, 600_000), (each, 600_000), (file, 2_000_000)):
        # The last sample of a connection may be up to 100 ms older than its end.
        assert 0.5 * sent_bytes < one.connections.acked_bytes[-1] < 1.01 * sent_bytes
        for transfer in one.transfers:
            assert transfer.last_byte_s is not None
            assert transfer.answered_s is not None
            # The server's clock counts milliseconds; the answer takes half a round trip.
            assert transfer.start_s + RTT_S < transfer.last_byte_s < transfer.answered_s - 0.4 * RTT_S
    assert live.video is not None
    assert len(live.video.media_s) == 4 * 25
    assert live.video.arrived_s == tuple(sorted(live.video.arrived_s))
    assert live.interruptions() == []


def test_the_pause_is_between_photos_and_a_connection_of_its_own_begins_with_a_small_window(
    twice: tuple[Cell, Cell],
) -> None:
    found = twice[0].run.applications
    assert found is not None
    _, paused, each, _ = found
    ends = [transfer.answered_s or 0 for transfer in paused.transfers]
    pauses = [after.start_s - end_s for after, end_s in zip(paused.transfers[1:], ends, strict=False)]
    assert pauses == pytest.approx([0.5, 0.5], abs=0.01)
    first, second, third = ((t.answered_s or 0) - t.start_s for t in paused.transfers)
    # A connection is made and its window grows once; or each time. The better one of two: a loss takes long.
    assert min(second, third) < 0.8 * first
    assert (paused.connections.made[-1], each.connections.made[-1]) == (1, 3)
    alone = [(transfer.answered_s or 0) - transfer.start_s for transfer in each.transfers]
    assert min(alone) > 1.2 * min(second, third)
