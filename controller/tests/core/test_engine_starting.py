# SPDX-License-Identifier: Apache-2.0
"""A phone that begins to send: its first bounds, and those of the others, count it before the access point does."""

import pytest

from airbound.core.effects import CellChanged, Note, SetBounds
from airbound.core.parameters import MinRttParameters, Parameters
from airbound.core.reasons import Code, Reason
from airbound.core.reports import Destination
from airbound_testing.scenario import BSSID, OTHER_SERVER, SERVER, Scenario, ip, mac, upload

SENDING = {mac(0): 4.0, mac(1): 4.0}
NEW = mac(2)
BEGINS = Destination(SERVER, connections_sending=1)  # no RTT sample yet


def two_and_an_idle_one(parameters: Parameters | None = None) -> Scenario:
    """Two phones that send and have bounds, and one that is associated and connected."""
    scenario = Scenario(parameters)
    for _ in range(3):
        scenario.advance(1)
        scenario.access_point(SENDING, idle=[NEW])
        for address in SENDING:
            scenario.terminal(address, upload())
        scenario.terminal(NEW)
    scenario.advance(0.3)
    return scenario


def senders(scenario: Scenario) -> int:
    return scenario.engine.cells[BSSID].stations.active_senders


def test_a_phone_that_begins_to_send_is_bounded_at_once_and_counts() -> None:
    scenario = two_and_an_idle_one()
    before = {address: scenario.phones[address].range() for address in SENDING}
    effects = scenario.terminal(NEW, BEGINS)
    assert senders(scenario) == 3
    sets = [effect for effect in effects if isinstance(effect, SetBounds)]
    assert {effect.active_senders for effect in sets} == {3}
    assert len(sets) == 3
    new = scenario.phones[NEW].range()
    assert new is not None
    assert scenario.phones[mac(0)].range() == new  # the others' path, by the cell's shared minimum RTT, and their share
    for address, range_ in before.items():
        now = scenario.phones[address].range()
        assert range_ is not None
        assert now is not None
        assert now[1] < range_[1]
    counted = Reason(Code.ACTIVE_SENDERS, "", 2, 3)
    assert Note("info", "senders", "02:00:00:00:00:01", (counted,), cell=BSSID) in effects
    assert CellChanged(BSSID) in effects
    for address in SENDING:
        assert scenario.phones[address].sets[-1].reasons[0] == counted


def test_the_access_point_confirms_it_and_nothing_changes() -> None:
    scenario = two_and_an_idle_one()
    scenario.terminal(NEW, BEGINS)
    scenario.advance(0.7)
    effects = scenario.access_point({**SENDING, NEW: 4.0})
    assert senders(scenario) == 3
    assert not [effect for effect in effects if isinstance(effect, Note) and effect.what == "senders"]


def test_the_access_point_contradicts_it_and_the_next_report_does_not_count_it_again() -> None:
    scenario = two_and_an_idle_one()
    scenario.terminal(NEW, BEGINS)
    scenario.terminal(NEW, BEGINS)
    assert senders(scenario) == 3
    scenario.advance(0.7)
    effects = scenario.access_point(SENDING, idle=[NEW])
    assert senders(scenario) == 2
    assert {effect.active_senders for effect in effects if isinstance(effect, SetBounds)} == {2}
    scenario.advance(0.1)
    scenario.terminal(NEW, upload())
    assert senders(scenario) == 2


def test_a_report_that_was_sampled_just_after_the_start_contradicts_nothing() -> None:
    scenario = two_and_an_idle_one()
    scenario.advance(0.6)
    scenario.terminal(NEW, BEGINS)
    scenario.advance(0.1)
    effects = scenario.access_point(SENDING, idle=[NEW])
    assert senders(scenario) == 3
    assert not [effect for effect in effects if isinstance(effect, Note) and effect.what == "senders"]
    scenario.advance(1)
    scenario.access_point(SENDING, idle=[NEW])
    assert senders(scenario) == 2


def test_a_phone_that_stops_again_counts_until_the_next_rates() -> None:
    scenario = two_and_an_idle_one()
    scenario.terminal(NEW, BEGINS)
    scenario.advance(0.1)
    scenario.terminal(NEW)
    assert senders(scenario) == 3
    scenario.advance(0.6)
    scenario.access_point(SENDING, idle=[NEW])
    assert senders(scenario) == 2


def test_a_phone_that_only_changes_destination_has_not_begun() -> None:
    """Its counters say that it is no active sender, though it has queued data all the time."""
    scenario = two_and_an_idle_one()
    scenario.terminal(NEW, BEGINS)
    scenario.advance(0.7)
    scenario.access_point(SENDING, idle=[NEW])
    scenario.advance(0.1)
    scenario.terminal(NEW, upload(address=OTHER_SERVER))
    assert senders(scenario) == 2


def test_a_phone_that_joins_while_it_sends_counts_if_it_began_since_the_last_rates() -> None:
    for late in (False, True):
        scenario = two_and_an_idle_one()
        joining = mac(7)
        if not late:
            scenario.terminal(joining, BEGINS)
            assert scenario.no_bounds(joining) is Code.CELL_UNKNOWN
            assert senders(scenario) == 2
        scenario.advance(0.1)
        scenario.access_point(SENDING, idle=[NEW, joining], seconds=0.1)  # an association: too soon for rates
        if late:
            scenario.terminal(joining, BEGINS)
        assert senders(scenario) == 3
        assert scenario.phones[joining].range() is not None


def test_a_phone_that_has_sent_for_long_counts_as_soon_as_it_is_associated() -> None:
    """It sent elsewhere: the cell's rates cannot show it yet."""
    scenario = two_and_an_idle_one()
    joining = mac(7)
    scenario.terminal(joining, BEGINS)
    scenario.advance(0.7)
    scenario.access_point(SENDING, idle=[NEW])  # rates were taken since
    scenario.advance(0.1)
    scenario.access_point(SENDING, idle=[NEW, joining], seconds=0.1)
    assert senders(scenario) == 3
    scenario.advance(0.9)
    scenario.access_point(SENDING, idle=[NEW, joining], seconds=0.9)
    assert senders(scenario) == 2


def test_a_phone_that_has_sent_for_long_is_not_counted_when_its_terminal_joins_later_than_its_station() -> None:
    """The cell's rates have shown that its station is no active sender."""
    scenario = two_and_an_idle_one()
    joining = mac(7)
    scenario.terminal(joining, BEGINS, comes_from=ip(mac(8)))
    for _ in range(2):
        scenario.advance(0.7)
        scenario.access_point(SENDING, idle=[NEW, joining], seconds=0.7)
    assert scenario.no_bounds(joining) is Code.ADDRESS_MISMATCH
    scenario.advance(0.1)
    known = {joining: (ip(mac(8)),)}
    scenario.access_point(SENDING, idle=[NEW, joining], seconds=0.1, addresses=known)
    assert scenario.phones[joining].range() is not None
    assert senders(scenario) == 2


@pytest.mark.parametrize("share", [True, False])
def test_without_any_minimum_rtt_to_the_destination_there_are_no_bounds(share: bool) -> None:  # noqa: FBT001
    """Although capacity, n and other destinations are known."""
    scenario = two_and_an_idle_one(Parameters(min_rtt=MinRttParameters(share=share)))
    scenario.terminal(NEW, BEGINS._replace(address=OTHER_SERVER))
    assert senders(scenario) == 3
    assert scenario.phones[NEW].range(OTHER_SERVER) is None
    assert scenario.no_bounds(NEW) is Code.NO_RTT_SAMPLE
    scenario.terminal(NEW, BEGINS)
    assert (scenario.phones[NEW].range() is not None) is share
    scenario.terminal(NEW, upload())
    assert scenario.phones[NEW].range() is not None


def test_a_phone_that_is_silent_sends_until_it_reports_that_it_does_not() -> None:
    """Its access point cannot tell a pause from an end, and the phone's agent can."""
    scenario = two_and_an_idle_one()
    scenario.advance(0.4)
    effects = scenario.access_point(SENDING, idle=[NEW], silent=[mac(1)], seconds=0.7)
    assert senders(scenario) == 2
    scenario.advance(0.1)
    effects = scenario.terminal(mac(1))
    assert senders(scenario) == 1
    counted = Reason(Code.ACTIVE_SENDERS, "", 2, 1)
    assert Note("info", "senders", "02:00:00:00:00:01", (counted,), cell=BSSID) in effects
    assert {effect.active_senders for effect in effects if isinstance(effect, SetBounds) and effect.bounds} == {1}
    assert CellChanged(BSSID) in effects
    scenario.advance(0.5)
    scenario.access_point({mac(0): 4.0}, idle=[mac(1), NEW], silent=[mac(1), NEW])
    assert senders(scenario) == 1


def test_a_phone_that_reports_that_it_does_not_send_goes_on_if_its_access_point_sees_it() -> None:
    """By something else than TCP."""
    scenario = two_and_an_idle_one()
    scenario.terminal(mac(1))
    assert senders(scenario) == 2
    scenario.advance(0.7)
    scenario.access_point(SENDING, idle=[NEW], silent=[NEW])
    assert senders(scenario) == 2
    scenario.advance(1)
    scenario.access_point(SENDING, idle=[NEW], silent=[mac(1), NEW])
    assert senders(scenario) == 1


def test_what_a_phone_queued_long_ago_is_not_known() -> None:
    scenario = two_and_an_idle_one()
    for _ in range(2):
        scenario.advance(1)
        scenario.access_point(SENDING, idle=[NEW])
        scenario.terminal(mac(0), upload())
    scenario.advance(0.5)
    scenario.access_point(SENDING, idle=[NEW], silent=SENDING)
    assert senders(scenario) == 1
