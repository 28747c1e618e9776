# SPDX-License-Identifier: Apache-2.0
import pytest

from airbound.core.cell.stations_window import LINGERS_US, SHORT_US, StationsWindow, window

SECOND_US = 1_000_000


@pytest.mark.parametrize(
    ("senders", "slots"), [(0, 1), (1, 15), (2, 31), (3, 63), (8, 127), (16, 255), (17, 511), (99, 1023)]
)
def test_a_window_grows_with_the_number_of_senders(senders: int, slots: int) -> None:
    assert window(senders) == slots


def test_one_that_is_short_for_a_moment_changes_nothing() -> None:
    announced = StationsWindow()
    for at_us in range(SECOND_US, 30 * SECOND_US, SECOND_US):
        announced.observe(8, at_us, ungranted=True, short=bool(at_us // SECOND_US % 4))
        assert announced.cw_min == 0


def test_it_grows_while_it_is_in_force_and_ends_with_the_flows() -> None:
    announced = StationsWindow()
    announced.observe(8, SECOND_US, ungranted=True, short=True)
    announced.observe(8, SECOND_US + SHORT_US, ungranted=True, short=True)
    assert announced.cw_min == 127
    announced.observe(16, 10 * SECOND_US, ungranted=True, short=False)
    announced.observe(2, 11 * SECOND_US, ungranted=True, short=False)
    assert announced.cw_min == 255
    announced.observe(16, 11 * SECOND_US + LINGERS_US - 1, ungranted=False, short=False)
    assert announced.cw_min == 255
    announced.observe(16, 11 * SECOND_US + LINGERS_US, ungranted=False, short=False)
    assert announced.cw_min == 0


def test_a_flow_whose_reports_are_late_goes_on_to_be_short() -> None:
    """It is forgotten meanwhile."""
    announced = StationsWindow()
    announced.observe(8, SECOND_US, ungranted=True, short=True)
    announced.observe(8, 3 * SECOND_US, ungranted=False, short=False)
    announced.observe(8, SECOND_US + SHORT_US, ungranted=True, short=True)
    assert announced.cw_min == 127
