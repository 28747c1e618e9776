# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from airbound_lab.medium_theory import interference
from airbound_lab.medium_theory.exchange import exchange, single_sender_mbps
from airbound_lab.medium_theory.ppdu import Band, ht, legacy

OF = exchange(legacy(54), Band.GHZ_2_4, qos=False)


def test_without_bursts_long_pauses_leave_all() -> None:
    alone = single_sender_mbps(OF, Band.GHZ_2_4, aifsn=2)
    found = interference.single_sender_mbps(OF, Band.GHZ_2_4, burst_ns=0, pause_ns=1e12, aifsn=2)
    assert found == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize("burst_ns", [1e7, 3e7, 9e7])
def test_the_share_of_the_pauses_is_what_is_left_of_short_exchanges(burst_ns: float) -> None:
    alone = single_sender_mbps(OF, Band.GHZ_2_4, aifsn=2)
    found = interference.single_sender_mbps(OF, Band.GHZ_2_4, burst_ns=burst_ns, pause_ns=1e8, aifsn=2)
    assert found == pytest.approx(alone * 1e8 / (1e8 + burst_ns), rel=0.004)
    assert found < alone * 1e8 / (1e8 + burst_ns)


def test_by_hand() -> None:
    """AIFS 28, back-off 67.5, exchange 298 us (393.5); lost with it, EIFS 60 and 8 slots more of back-off."""
    in_exchange_us, in_backoff_us, in_aifs_us = 28 + 67.5 + 149 + 60 + 72, 28 + 4.5, 14
    lost_us = (298 * in_exchange_us + 67.5 * in_backoff_us + 28 * in_aifs_us) / 393.5
    expected = (10_000 - lost_us) / 393.5 * 1470 * 8 / 20_000
    found = interference.single_sender_mbps(OF, Band.GHZ_2_4, burst_ns=1e7, pause_ns=1e7, aifsn=2)
    assert found == pytest.approx(expected)


def test_long_exchanges_lose_more() -> None:
    exchanged = exchange(ht(7), Band.GHZ_2_4)
    alone = single_sender_mbps(exchanged, Band.GHZ_2_4)
    found = interference.single_sender_mbps(exchanged, Band.GHZ_2_4, burst_ns=2e7, pause_ns=2e7)
    assert found < 0.46 * alone
