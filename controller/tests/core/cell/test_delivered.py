# SPDX-License-Identifier: Apache-2.0
import pytest

from airbound.core.cell.delivered import PER_PAYLOAD, Delivered

SECOND_US = 1_000_000


def test_a_rate_is_between_two_reports() -> None:
    delivered = Delivered()
    delivered.observe(5_000_000, 7 * SECOND_US)
    assert delivered.bps is None
    delivered.observe(6_000_000, 9 * SECOND_US)
    assert delivered.bps == pytest.approx(4e6 * PER_PAYLOAD)
    delivered.observe(6_000_000, 10 * SECOND_US)
    assert delivered.bps == 0


def test_a_report_soon_after_another_waits_for_the_next() -> None:
    delivered = Delivered()
    delivered.observe(0, SECOND_US)
    delivered.observe(1_000_000, SECOND_US + 100)
    assert delivered.bps is None
    delivered.observe(1_000_000, 2 * SECOND_US)
    assert delivered.bps == pytest.approx(8e6 * PER_PAYLOAD)


@pytest.mark.parametrize(("delivered_bytes", "monotonic_us"), [(10, 3 * SECOND_US), (3_000_000, SECOND_US)])
def test_a_destination_that_is_gone_or_an_agent_that_starts_again_says_nothing(
    delivered_bytes: int, monotonic_us: int
) -> None:
    delivered = Delivered()
    delivered.observe(1_000_000, SECOND_US)
    delivered.observe(2_000_000, 2 * SECOND_US)
    before = delivered.bps
    delivered.observe(delivered_bytes, monotonic_us)
    assert delivered.bps == before
    delivered.observe(delivered_bytes + 500_000, monotonic_us + SECOND_US)
    assert delivered.bps == pytest.approx(4e6 * PER_PAYLOAD)


def test_of_an_agent_that_counts_nothing_nothing_is_known() -> None:
    delivered = Delivered()
    for at_us in (SECOND_US, 2 * SECOND_US):
        delivered.observe(0, at_us)
    assert delivered.bps is None
    delivered.observe(1_000_000, 3 * SECOND_US)
    assert delivered.bps == pytest.approx(8e6 * PER_PAYLOAD)
