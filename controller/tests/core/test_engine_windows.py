# SPDX-License-Identifier: Apache-2.0
"""Stations without a working agent, and the limits that their access point is sent."""

import math

import pytest

from airbound.core import window_clamp
from airbound.core.addresses import address_text, mac_text
from airbound.core.cell.senders import StationSender
from airbound.core.effects import CloseStream, Note, SetWindows
from airbound.core.events import Disconnected, Exempted, ModeSet, Reconfigured
from airbound.core.overrides import CellOverride
from airbound.core.parameters import (
    BdpParameters,
    CapacityParameters,
    MinRttParameters,
    Parameters,
    PolicyName,
    WindowClampParameters,
)
from airbound.core.reasons import Code, Reason
from airbound.core.reports import BackEnd, WindowState
from airbound_testing.scenario import BSSID, OTHER_SERVER, SECOND_US, SERVER, ip, mac, upload
from airbound_testing.windows import (
    CAN_SET,
    FIXED,
    MSS,
    OTHER,
    PHONE,
    STATION,
    cell,
    cell_with,
    limit,
    one_limited,
    point,
    second,
    seen,
    sender,
)

# Who is limited, and how


@pytest.mark.parametrize("policy", ["bdp", "paper"])
@pytest.mark.parametrize("connections", [1, 2])
def test_a_station_without_an_agent_may_have_in_flight_what_a_phone_with_one_may(
    policy: PolicyName, connections: int
) -> None:
    scenario = cell_with(Parameters(policy=policy, capacity=FIXED.capacity))
    for _ in range(4):
        second(scenario, {STATION: seen(connections=connections)}, rates={PHONE: 12.0, STATION: 12.0})
        scenario.terminal(PHONE, *seen(connections=connections))
    bounds = scenario.phones[PHONE].range()
    assert bounds is not None
    assert limit(scenario) == bounds[1] * MSS
    assert point(scenario).limit(PHONE) is None  # its agent bounds it
    assert code(cell(scenario).windows.reason) is Code.STATIONS_LIMITED


def code(reason: Reason | None) -> Code | None:
    return None if reason is None else reason.code


def test_the_formula_in_bytes() -> None:
    """Half of 24 Mb/s for 20 ms are 20 segments of 1500 bytes, and the cell's queue of 4 is shared by two."""
    scenario = cell_with()
    second(scenario, {STATION: seen(), OTHER: seen()}, times=3)
    assert limit(scenario) == limit(scenario, OTHER) == (20 + 2) * MSS


def test_a_segment_of_another_size_and_one_that_is_not_known() -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen(mss_bytes=1348), OTHER: seen(mss_bytes=0)}, times=3)
    assert limit(scenario) == (math.ceil(12e6 * 0.02 / 8 / 1400) + 2) * 1348
    assert limit(scenario, OTHER) == 22 * MSS


def test_no_limit_is_below_two_segments() -> None:
    """The policy's own floor may be one: a phone's kernel has other means against the stall that follows."""
    narrow = CapacityParameters(min_bps=5e5, max_bps=5e5)
    scenario = cell_with(Parameters(capacity=narrow, bdp=BdpParameters(floor_segs=1, queue_segs=0)))
    second(scenario, {STATION: seen(2, 1)}, times=3)
    assert sender(scenario).decisions[0].range.max_segs == 1
    assert limit(scenario) == 2 * MSS


def test_each_destination_has_a_limit_of_its_own() -> None:
    scenario = cell_with()
    both = (*seen(), upload(60, 40, address=OTHER_SERVER))
    second(scenario, {STATION: both}, times=3)
    near, far = limit(scenario), point(scenario).limit(STATION, OTHER_SERVER)
    assert near is not None
    assert far is not None
    assert far > 1.5 * near


def test_a_destination_that_paused_keeps_its_limit_for_a_time() -> None:
    scenario = one_limited()
    second(scenario, {STATION: seen(connections=0)}, times=2)
    assert limit(scenario)
    second(scenario, {STATION: seen(connections=0)}, times=3)
    assert limit(scenario) is None
    assert code(cell(scenario).windows.reason) is Code.NO_STATION_TO_LIMIT
    assert not cell(scenario).windows.senders


def test_a_set_is_sent_again_only_if_something_changed() -> None:
    scenario = one_limited()
    sets = len(point(scenario).window_sets)
    second(scenario, {STATION: seen(31)}, times=5)
    assert len(point(scenario).window_sets) == sets
    second(scenario, {STATION: seen(), OTHER: seen()}, times=2)
    assert len(point(scenario).window_sets) > sets
    last = point(scenario).window_sets[-1]
    assert last.reason.code is Code.STATIONS_LIMITED
    assert (last.reason.before, last.reason.after) == (1, 2)


def test_a_set_that_changes_for_the_number_of_senders_says_so() -> None:
    scenario = one_limited()
    second(scenario, {STATION: seen()}, rates={STATION: 12.0, PHONE: 12.0})
    assert point(scenario).window_sets[-1].reason.code is Code.ACTIVE_SENDERS


def test_the_event_has_the_limits() -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen()})
    effects = second(scenario, {STATION: seen()})
    (note,) = [effect for effect in effects if isinstance(effect, Note) and effect.what == "windows"]
    assert note.windows == point(scenario).limits
    assert (note.cell, note.subject, note.kind) == (BSSID, mac_text(BSSID), "windows")
    assert scenario.counts.totals["window_sets_total", Code.STATIONS_LIMITED] == 1


# Which stations have a working agent


def test_an_agent_takes_over_without_a_moment_of_neither() -> None:
    scenario = one_limited()
    destinations = {STATION: seen()}
    scenario.advance(0.1)
    scenario.terminal(STATION, *seen())  # the agent connects, and is sent bounds
    assert scenario.phones[STATION].range()
    assert limit(scenario)
    scenario.access_point({STATION: 1.2}, seconds=0.1, destinations=destinations)
    assert limit(scenario)  # the agent has not reported its bounds in force
    scenario.advance(0.1)
    scenario.terminal(STATION, *seen())  # it has by now
    assert limit(scenario) is None  # at once: not with the access point's next report
    second(scenario, destinations, STATION, times=3)
    assert limit(scenario) is None
    assert code(sender(scenario).no_limit) is Code.AGENT_BOUNDS


def test_a_station_whose_agent_goes_away_is_limited_while_its_bounds_are_still_in_force() -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen()}, STATION, times=4)
    assert limit(scenario) is None
    scenario.disconnect(STATION)
    second(scenario, {STATION: seen()})
    assert limit(scenario)
    assert scenario.phones[STATION].range()


def test_a_back_end_that_cannot_set_a_maximum() -> None:
    scenario = cell_with()
    for _ in range(3):
        second(scenario, {STATION: seen()})
        scenario.terminal(STATION, *seen(), back_end=BackEnd(name="none", can_set_max=False))
    second(scenario, {STATION: seen()})
    assert limit(scenario)
    assert code(sender(scenario).no_agent) is Code.BACK_END_CANNOT_BOUND


def test_an_agent_that_ignores_its_bounds() -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen()}, STATION)
    scenario.phones[STATION].unresponsive = True
    second(scenario, {STATION: seen()}, STATION, times=10)
    assert scenario.phones[STATION].sets
    assert scenario.phones[STATION].range() is None
    assert limit(scenario) is None  # it may be slow
    second(scenario, {STATION: seen()}, STATION, times=8)
    assert limit(scenario)
    assert code(sender(scenario).no_agent) is Code.AGENT_IGNORES_BOUNDS
    scenario.phones[STATION].unresponsive = False
    second(scenario, {STATION: seen()}, STATION, times=30)  # it is sent its bounds again
    assert scenario.phones[STATION].range()
    assert limit(scenario) is None


def test_an_agent_that_has_just_been_sent_other_bounds_does_not_ignore_them() -> None:
    """With each of its reports it is a set behind."""
    scenario = cell_with()
    for number in range(30):
        rates = dict.fromkeys([STATION, *(mac(10 + index) for index in range(number % 2))], 8.0)
        second(scenario, {STATION: seen()}, rates=rates)
        scenario.terminal(STATION, *seen())
        assert limit(scenario) is None or number < 2
    assert len(scenario.phones[STATION].sets) > 20


def test_an_agent_that_no_longer_reports() -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen()}, STATION, times=4)
    second(scenario, {STATION: seen()}, times=7)
    assert scenario.no_bounds(STATION) is Code.TERMINAL_STALE
    assert limit(scenario)
    assert code(sender(scenario).no_agent) is Code.TERMINAL_STALE


# When nothing is sent


def test_observe_mode_computes_and_sends_nothing() -> None:
    scenario = one_limited()
    scenario.do(ModeSet("observe"))
    assert limit(scenario) is None
    assert point(scenario).window_sets[-1].reason.code is Code.OBSERVE_MODE
    second(scenario, {STATION: seen()}, times=8)
    assert limit(scenario) is None
    assert sender(scenario).decisions
    scenario.do(ModeSet("control"))
    assert limit(scenario)


@pytest.mark.parametrize("name", [mac_text(BSSID), mac_text(STATION), address_text(ip(STATION))])
def test_whoever_is_exempt_is_not_limited(name: str) -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen(), OTHER: seen()}, times=3)
    scenario.do(Exempted(name, exempt=True))
    assert limit(scenario) is None
    assert bool(limit(scenario, OTHER)) is (name != mac_text(BSSID))
    assert scenario.engine.is_exempt(name) or name == address_text(ip(STATION))
    scenario.do(Exempted(name, exempt=False))
    assert limit(scenario)


def test_a_phone_is_exempt_by_its_mac_as_well() -> None:
    scenario = cell_with()
    second(scenario, {}, PHONE, rates={PHONE: 12.0}, times=3)
    assert scenario.phones[PHONE].range()
    (note,) = [
        effect
        for effect in scenario.do(Exempted(mac_text(PHONE), exempt=True))
        if isinstance(effect, Note) and effect.what == "exempt"
    ]
    assert note.cell == BSSID
    assert scenario.phones[PHONE].range() is None
    assert scenario.no_bounds(PHONE) is Code.EXEMPT


def test_since_when_nothing_limits_a_station() -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen(0, 0)}, times=2)  # rates are known from the second report on
    began_us = sender(scenario).unlimited_since_us
    assert began_us == scenario.now_us
    second(scenario, {STATION: seen(0, 0)}, times=2)
    assert sender(scenario).unlimited_since_us == began_us
    second(scenario, {STATION: seen()}, times=2)
    assert limit(scenario)
    assert sender(scenario).unlimited_since_us == 0
    scenario.do(Exempted(mac_text(STATION), exempt=True))
    exempted_us = scenario.now_us
    second(scenario, {STATION: seen()}, times=3)
    assert sender(scenario).unlimited_since_us == exempted_us
    assert code(cell(scenario).windows.why_unlimited(STATION)) is Code.EXEMPT


def test_one_whose_agent_bounds_it_is_not_unlimited() -> None:
    scenario = cell_with()
    second(scenario, {PHONE: seen(), STATION: seen()}, PHONE, times=3)
    assert scenario.phones[PHONE].range()
    assert sender(scenario, PHONE).unlimited_since_us == 0


def test_where_the_access_point_cannot_limit_none_is_since_it_sends() -> None:
    scenario = cell_with(state=WindowState(refusal="no clsact"))
    second(scenario, {STATION: seen()}, times=2)
    began_us = scenario.now_us
    second(scenario, {STATION: seen()}, times=5)
    assert sender(scenario).unlimited_since_us == began_us
    assert code(cell(scenario).windows.why_unlimited(STATION)) is Code.CANNOT_SET_WINDOWS


def test_a_station_of_an_override_that_exempts_it() -> None:
    override = CellOverride(
        name="cell.0", bssids=(BSSID,), exempt_terminals=frozenset([mac_text(STATION)]), parameters=FIXED
    )
    scenario = cell_with(overrides=(override,))
    second(scenario, {STATION: seen(), OTHER: seen()}, times=3)
    assert limit(scenario) is None
    assert code(sender(scenario).no_limit) is Code.EXEMPT
    assert limit(scenario, OTHER)


def test_the_configuration_may_leave_windows_alone() -> None:
    off = Parameters(capacity=FIXED.capacity, window_clamp=WindowClampParameters(enabled=False))
    scenario = one_limited()
    scenario.do(Reconfigured(off))
    assert limit(scenario) is None
    assert point(scenario).window_sets[-1].reason.code is Code.WINDOW_CLAMP_OFF
    second(scenario, {STATION: seen()}, times=3)
    assert limit(scenario) is None
    scenario.do(Reconfigured(FIXED))
    assert limit(scenario)


def test_an_access_point_that_cannot_set_windows() -> None:
    scenario = cell_with(state=WindowState(refusal="no clsact"))
    second(scenario, {STATION: seen()}, times=5)
    assert not point(scenario).window_sets
    reason = cell(scenario).windows.reason
    assert reason is not None
    assert (reason.code, reason.subject) == (Code.CANNOT_SET_WINDOWS, "no clsact")


def test_an_access_point_whose_agent_knows_no_windows() -> None:
    scenario = cell_with(state=None)
    second(scenario, {}, rates={STATION: 12.0}, times=5)
    assert not point(scenario).window_sets
    assert cell(scenario).windows.reason is None


def test_a_station_without_an_rtt_sample_waits() -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen(0, 0), OTHER: seen(0, 0)}, times=3)
    assert not point(scenario).window_sets
    assert code(sender(scenario).no_limit) is Code.NO_RTT_SAMPLE
    second(scenario, {STATION: seen(0, 0), OTHER: seen()})
    assert limit(scenario, OTHER)
    second(scenario, {STATION: seen(0, 0), OTHER: seen()})
    assert limit(scenario)  # another station saw the path


def test_a_station_that_is_gone() -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen(), OTHER: seen()}, times=3)
    second(scenario, {OTHER: seen()})
    assert limit(scenario) is None
    assert STATION not in cell(scenario).windows.senders


def test_a_stale_cell() -> None:
    scenario = one_limited()
    scenario.advance(3.5)
    assert limit(scenario) is None
    assert point(scenario).window_sets[-1].reason.code is Code.CELL_STALE
    second(scenario, {STATION: seen()}, times=2)
    assert limit(scenario)


def test_before_rates_are_known_nothing_is_sent() -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen()})
    assert not point(scenario).window_sets
    assert code(cell(scenario).windows.reason) is Code.CELL_LEARNING


# Leases, repetitions, streams


def test_the_lease_is_renewed_and_ends() -> None:
    scenario = one_limited()
    second(scenario, {STATION: seen()}, times=20)
    assert point(scenario).window_renewals >= 5
    assert len(point(scenario).window_sets) == 1
    scenario.do(Disconnected(point(scenario).stream))
    scenario.advance(6.1)
    assert limit(scenario) is None


def test_a_set_that_is_not_in_force_is_sent_again() -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen()})
    point(scenario).unresponsive = True
    second(scenario, {STATION: seen()}, times=12)
    sets = point(scenario).window_sets
    assert [sent.reason.code for sent in sets] == [Code.STATIONS_LIMITED, Code.REPEATED, Code.REPEATED]
    assert [sent.generation for sent in sets] == [1, 2, 3]
    point(scenario).unresponsive = False
    second(scenario, {STATION: seen()}, times=12)
    assert limit(scenario)
    assert len(sets) == 4


def test_a_controller_that_starts_anew_releases_nobody() -> None:
    scenario = one_limited()
    generation = point(scenario).window_sets[-1].generation
    scenario.restart()
    scenario.advance(0.5)
    scenario.access_point({STATION: 12.0}, destinations={STATION: seen()}, seconds=0.5)
    assert limit(scenario)
    scenario.advance(0.5)
    effects = scenario.access_point({STATION: 12.0}, destinations={STATION: seen()}, seconds=0.5)
    (new,) = [effect for effect in effects if isinstance(effect, SetWindows)]
    assert new.limits
    assert new.generation > generation


def test_what_an_earlier_process_set_is_not_taken_while_a_sample_is_waited_for() -> None:
    scenario = one_limited()
    scenario.restart()
    for _ in range(2):
        scenario.advance(0.5)
        scenario.access_point({STATION: 12.0}, destinations={STATION: seen(0, 0)}, seconds=0.5)
    assert limit(scenario)
    assert code(cell(scenario).windows.reason) is Code.NO_RTT_SAMPLE


def test_what_an_earlier_process_set_is_taken_where_nobody_sends() -> None:
    scenario = one_limited()
    scenario.restart()
    for _ in range(2):
        scenario.advance(0.5)
        scenario.access_point({}, idle=[STATION], seconds=0.5)
    assert limit(scenario) is None
    assert point(scenario).window_sets[-1].reason.code is Code.NO_STATION_TO_LIMIT


# Too many


def test_of_too_many_limits_the_smallest_are_sent() -> None:
    scenario = cell_with(state=CAN_SET._replace(limits_max=2))
    rtts = {mac(number): 10.0 * number for number in (3, 1, 2)}
    addresses = {address: bytes([10, 0, 5, address[-1]]) for address in rtts}
    destinations = {
        address: (upload(2 * rtt_ms, rtt_ms, address=addresses[address]),) for address, rtt_ms in rtts.items()
    }
    second(scenario, destinations, times=4)
    limited = {limit.mac for limit in point(scenario).limits}
    assert limited == {mac(1), mac(2)}
    assert cell(scenario).windows.omitted == 1
    assert not sender(scenario, mac(3)).limited
    sets = len(point(scenario).window_sets)
    second(scenario, destinations, times=4)
    assert len(point(scenario).window_sets) == sets


# Minimum RTTs


def test_a_station_that_started_in_a_full_cell_uses_anothers_minimum() -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen(300, 200), OTHER: seen(30, 20)}, times=3)
    assert limit(scenario) == limit(scenario, OTHER)


def test_a_phone_with_an_agent_uses_what_the_access_point_saw_of_others() -> None:
    scenario = cell_with()
    for _ in range(3):
        second(scenario, {STATION: seen(30, 20)}, rates={STATION: 12.0, PHONE: 12.0})
        scenario.terminal(PHONE, upload(300, 200))
    bounds = scenario.phones[PHONE].range()
    assert bounds is not None
    assert limit(scenario) == bounds[1] * MSS


def test_what_an_access_point_saw_of_a_phone_with_an_agent_is_no_second_witness() -> None:
    """Nor does it count at all: one phone is one witness, and confirms nothing that it reports itself."""
    scenario = cell_with(Parameters(capacity=FIXED.capacity, min_rtt=MinRttParameters(unconfirmed_s=3.0)))
    for _ in range(20):
        second(scenario, {PHONE: seen(1, 0.2)}, rates={PHONE: 8.0, OTHER: 8.0, STATION: 8.0})
        scenario.terminal(PHONE, upload(1, 0.2))
        scenario.terminal(OTHER, upload(300, 256))
        scenario.terminal(STATION, upload(300, 256))
    assert cell(scenario).min_rtt.shared_us(SERVER) == 256_000


# Errors


def test_an_error_in_one_stations_decision_concerns_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = cell_with()
    second(scenario, {STATION: seen(), OTHER: seen()}, times=3)
    decide = window_clamp.decide

    def broken(sender: StationSender, *arguments: object) -> object:
        if sender.mac == STATION:
            raise ZeroDivisionError("x")
        return decide(sender, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(window_clamp, "decide", broken)
    second(scenario, {STATION: seen(connections=2), OTHER: seen()})
    assert limit(scenario) is None
    assert limit(scenario, OTHER)
    assert code(sender(scenario).no_limit) is Code.INTERNAL_ERROR
    assert cell(scenario).windows.failures_total == 1
    monkeypatch.undo()
    second(scenario, {STATION: seen(connections=2), OTHER: seen()})
    assert limit(scenario)


def test_an_error_in_the_decision_releases_the_access_point(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = one_limited()

    def fails(*_: object) -> None:
        raise ZeroDivisionError("x")

    monkeypatch.setattr(window_clamp, "fit_to_access_point", fails)
    effects = second(scenario, {STATION: seen()})
    assert limit(scenario) is None
    assert point(scenario).window_sets[-1].reason.code is Code.INTERNAL_ERROR
    assert [note.what for note in effects if isinstance(note, Note) and note.level == "warning"] == ["failed"]
    assert not any(isinstance(effect, CloseStream) for effect in effects)
    monkeypatch.undo()
    second(scenario, {STATION: seen()})
    assert limit(scenario)


def test_deadlines_renew_the_lease_without_a_report() -> None:
    scenario = one_limited()
    renewals = point(scenario).window_renewals
    scenario.advance(2.5)
    assert point(scenario).window_renewals == renewals + 1
    assert scenario.now_us + SECOND_US < point(scenario).windows_expire_at_us
