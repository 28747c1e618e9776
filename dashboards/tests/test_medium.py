# SPDX-License-Identifier: Apache-2.0

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_dashboards.live.medium import SEGMENT_BYTES, Medium, Sender

CAPACITY = 3e6


def medium() -> Medium:
    return Medium(CAPACITY, 1.2e6, random.Random(1))  # noqa: S311  # a model


@given(st.lists(st.tuples(st.floats(0.005, 0.2), st.floats(2, 500)), min_size=1, max_size=10))
def test_the_queue_is_as_long_as_the_windows_exceed_what_the_path_carries(paths: list[tuple[float, float]]) -> None:
    senders = [Sender(base_s, cwnd_segs=cwnd) for base_s, cwnd in paths]
    delay_s = medium().queueing_delay_s(senders)
    rate = sum(sender.cwnd_segs * SEGMENT_BYTES / (sender.base_rtt_s + delay_s) for sender in senders)
    if delay_s:
        assert rate == pytest.approx(CAPACITY, rel=1e-6)
    else:
        assert rate <= CAPACITY


def test_without_bounds_a_cell_is_bloated_and_with_bounds_it_is_not() -> None:
    cell = medium()
    free, bounded = [Sender(0.02) for _ in range(4)], [Sender(0.02, bounds=(2, 11)) for _ in range(4)]
    for senders in (free, bounded):
        for _ in range(200):
            cell.step(senders, 0.5)
    assert min(sender.rtt_s / sender.base_rtt_s for sender in free) > 5
    assert max(sender.rtt_s / sender.base_rtt_s for sender in bounded) < 1.5
    for senders in (free, bounded):
        assert sum(sender.bytes_per_s for sender in senders) == pytest.approx(CAPACITY, rel=0.05)
    assert sum(sender.losses for sender in free) > 0
    assert sum(sender.losses for sender in bounded) == 0


def test_who_does_not_send_takes_nothing() -> None:
    sender = Sender(0.02, sends=False)
    medium().step([sender], 1)
    assert (sender.bytes_per_s, sender.delivered_bytes) == (0, 0)
