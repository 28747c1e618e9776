# SPDX-License-Identifier: Apache-2.0
"""Scenarios in virtual time: what phones hold, not what messages were sent."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbound.core.effects import CellChanged, Note, SetBounds
from airbound.core.events import Exempted, ModeSet, Refused, Stopping
from airbound.core.parameters import MinRttParameters, Parameters, PolicyName, SafetyParameters
from airbound.core.reports import BackEnd, Destination, ReportRefusedError
from airbound.testing.scenario import BSSID, SECOND_US, Scenario, mac, upload

PAPER = Parameters(policy="paper")
OTHER_BSSID = "02:00:00:00:00:02"


def uploading(count: int, parameters: Parameters = PAPER, mbps: float = 2.0) -> Scenario:
    """A cell whose phones all send, known to the controller for two seconds."""
    scenario = Scenario(parameters)
    sending = dict.fromkeys(map(mac, range(count)), mbps)
    scenario.access_point(sending)
    scenario.advance(1)
    scenario.access_point(sending)
    for number in range(count):
        scenario.terminal(mac(number), upload())
    return scenario


def keep_reporting(scenario: Scenario, sending: dict[str, float], seconds: int) -> None:
    for _ in range(seconds):
        scenario.advance(1)
        scenario.access_point(sending)
        for address in sending:
            scenario.terminal(address, upload())


def reason(scenario: Scenario, number: int) -> str:
    view = scenario.engine.terminal(mac(number), scenario.now_us)
    assert view is not None
    return view.no_bounds_reason


def test_every_phone_gets_the_row_of_n() -> None:
    scenario = uploading(10)
    assert {phone.range() for phone in scenario.phones.values()} == {(20, 35)}


def test_a_change_of_n_reaches_every_phone_without_their_asking() -> None:
    scenario = uploading(4)
    assert scenario.phones[mac(0)].range() == (120, 200)
    scenario.advance(1)
    scenario.access_point(dict.fromkeys(map(mac, range(5)), 2.0))
    assert [scenario.phones[mac(number)].range() for number in range(4)] == [(100, 150)] * 4
    assert "n 4 -> 5" in scenario.phones[mac(0)].sets[-1].reason
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0, mac(1): 2.0}, idle=map(mac, range(2, 5)))
    assert scenario.phones[mac(0)].range() == (300, 300)


def test_a_station_without_an_agent_counts() -> None:
    scenario = Scenario(PAPER)
    sending = {mac(number): 2.0 for number in range(3)}
    scenario.access_point(sending)
    scenario.advance(1)
    scenario.access_point(sending)
    scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].range() == (250, 400)


def test_the_ratio_band_of_a_report_changes_that_phone_alone() -> None:
    scenario = uploading(2)
    before = len(scenario.phones[mac(1)].sets)
    scenario.advance(0.1)
    scenario.terminal(mac(0), upload(srtt_ms=5 * 256.5))
    assert scenario.phones[mac(0)].range() == (50, 90)
    assert len(scenario.phones[mac(1)].sets) == before


def test_unchanged_bounds_are_not_sent_again_but_renewed() -> None:
    scenario = uploading(3)
    sets = [len(phone.sets) for phone in scenario.phones.values()]
    keep_reporting(scenario, dict.fromkeys(map(mac, range(3)), 2.0), 30)
    assert [len(phone.sets) for phone in scenario.phones.values()] == sets
    for phone in scenario.phones.values():
        assert phone.range() is not None
        assert 12 <= phone.renewals <= 16  # every third of six seconds


def test_noise_in_the_capacity_is_not_passed_on_but_a_change_is() -> None:
    scenario = uploading(4, Parameters(), mbps=5.0)
    sending = {mac(number): 5.0 for number in range(4)}
    keep_reporting(scenario, sending, 15)
    sets = len(scenario.phones[mac(0)].sets)
    for wobble in (5.2, 4.8, 5.1, 4.9, 5.0):
        keep_reporting(scenario, dict.fromkeys(sending, wobble), 1)
    assert len(scenario.phones[mac(0)].sets) == sets
    before = scenario.phones[mac(0)].range()
    keep_reporting(scenario, dict.fromkeys(sending, 2.5), 15)
    after = scenario.phones[mac(0)].range()
    assert before is not None
    assert after is not None
    assert after[1] < 0.6 * before[1]
    assert len(scenario.phones[mac(0)].sets) < sets + 12


def test_a_phone_that_no_access_point_reports_gets_nothing() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(9), upload())
    assert scenario.phones[mac(9)].sets == []
    assert "not joined" in reason(scenario, 9)
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0, mac(9): 2.0})
    assert scenario.phones[mac(9)].range() is not None
    assert reason(scenario, 9) == ""


def test_an_unjoined_phones_rtt_is_nobodys_business() -> None:
    scenario = uploading(1)
    before = scenario.phones[mac(0)].range()
    scenario.terminal(mac(9), upload(min_rtt_ms=0.1))
    scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].range() == before


def test_a_phone_that_leaves_the_cell_is_released() -> None:
    scenario = uploading(2)
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0})
    phone = scenario.phones[mac(1)]
    assert phone.range() is None
    assert phone.sets[-1].bounds == ()
    assert "not joined" in phone.sets[-1].reason
    assert scenario.phones[mac(0)].range() == (250, 555)


def test_a_roaming_phone_belongs_to_its_later_association() -> None:
    scenario = uploading(2)
    for _ in range(2):
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0, mac(1): 2.0})
        scenario.access_point({mac(1): 2.0}, bssid=OTHER_BSSID)
        scenario.terminal(mac(1), upload())
    view = scenario.engine.terminal(mac(1), scenario.now_us)
    assert view is not None
    assert view.bssid == OTHER_BSSID
    assert scenario.phones[mac(1)].range() == (250, 555)
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0})
    assert scenario.phones[mac(1)].range() == (250, 555)


def test_a_silent_access_point_frees_its_cell_without_any_event() -> None:
    scenario = uploading(3)
    scenario.advance(2.9)
    assert scenario.phones[mac(0)].range() is not None
    scenario.advance(0.5)
    assert all(phone.range() is None for phone in scenario.phones.values())
    assert "silent for more than 3 s" in reason(scenario, 0)
    scenario.access_point(dict.fromkeys(map(mac, range(3)), 2.0))
    assert all(phone.range() is not None for phone in scenario.phones.values())


def test_a_silent_terminal_is_freed() -> None:
    scenario = uploading(2)
    for _ in range(7):
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0, mac(1): 2.0})
        scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].range() is not None
    assert scenario.phones[mac(1)].range() is None
    assert "its agent has been silent" in reason(scenario, 1)


def test_a_phone_that_hangs_up_is_free_when_its_lease_ends_and_bound_when_it_calls_again() -> None:
    scenario = uploading(2)
    scenario.hang_up(mac(1))
    keep_reporting(scenario, {mac(0): 2.0}, 5)
    assert scenario.phones[mac(1)].range() is not None
    keep_reporting(scenario, {mac(0): 2.0}, 2)
    assert scenario.phones[mac(1)].range() is None
    scenario.access_point({mac(0): 2.0, mac(1): 2.0})
    assert "not connected" in reason(scenario, 1)
    scenario.terminal(mac(1), upload())
    assert scenario.phones[mac(1)].range() is not None


def test_observe_computes_shows_and_releases() -> None:
    scenario = uploading(2)
    scenario.do(ModeSet("observe"))
    assert all(phone.range() is None for phone in scenario.phones.values())
    scenario.advance(1)
    scenario.access_point({mac(0): 2.0, mac(1): 2.0, mac(2): 2.0})
    scenario.terminal(mac(0), upload())
    view = scenario.engine.terminal(mac(0), scenario.now_us)
    assert view is not None
    assert (view.decisions[0].bound.min_segs, view.decisions[0].bound.max_segs) == (250, 400)
    assert "observe" in view.no_bounds_reason
    assert all(phone.range() is None for phone in scenario.phones.values())
    scenario.do(ModeSet("control"))
    assert scenario.phones[mac(0)].range() == (250, 400)


def test_observe_from_the_start_sends_nothing_at_all() -> None:
    scenario = uploading(3, replace(PAPER, mode="observe"))
    assert all(phone.sets == [] for phone in scenario.phones.values())


def test_an_exempt_phone_is_released_and_still_counts() -> None:
    scenario = uploading(3)
    scenario.do(Exempted(mac(1), exempt=True))
    assert scenario.phones[mac(1)].range() is None
    assert scenario.phones[mac(0)].range() == (250, 400)
    assert "exempt" in reason(scenario, 1)
    scenario.do(Exempted(mac(1), exempt=False))
    assert scenario.phones[mac(1)].range() == (250, 400)


def test_stopping_frees_every_phone_at_once() -> None:
    scenario = uploading(3)
    scenario.do(Stopping())
    assert all(phone.range() is None for phone in scenario.phones.values())


def test_a_late_joiner_gets_the_bound_of_the_true_minimum_rtt() -> None:
    late: dict[bool, tuple[int, int]] = {}
    for share in (True, False):
        parameters = Parameters(policy="bdp", min_rtt=MinRttParameters(share=share))
        scenario = uploading(9, parameters)
        scenario.advance(1)
        scenario.access_point(dict.fromkeys(map(mac, range(10)), 2.0))
        # The cell is full: this flow never saw less than 900 ms.
        scenario.terminal(mac(9), upload(srtt_ms=950, min_rtt_ms=900))
        late[share] = scenario.phones[mac(9)].range() or (0, 0)
        if share:
            assert late[share] == scenario.phones[mac(0)].range()
            view = scenario.engine.terminal(mac(9), scenario.now_us)
            assert view is not None
            assert (view.decisions[0].min_rtt_us, view.decisions[0].own_min_rtt_us) == (256_500, 900_000)
    assert late[False][1] > 3 * late[True][1] > 0


def test_a_smaller_minimum_rtt_reaches_phones_of_other_cells() -> None:
    scenario = Scenario(PAPER)
    for _ in range(2):
        scenario.advance(1)
        scenario.access_point({mac(0): 2.0})
        scenario.access_point({mac(1): 2.0}, bssid=OTHER_BSSID)
    scenario.terminal(mac(0), upload(srtt_ms=300, min_rtt_ms=290))
    assert scenario.phones[mac(0)].range() == (250, 555)
    scenario.terminal(mac(1), upload(srtt_ms=100, min_rtt_ms=75))
    assert scenario.phones[mac(0)].range() == (80, 90)  # class A now: it is 75 ms, ratio 4


def test_several_destinations_and_connections_share_the_phones_part() -> None:
    scenario = uploading(10)
    scenario.terminal(mac(0), upload(connections=2), upload(4.5, 4.3, address="2001:db8::1", connections=1))
    phone = scenario.phones[mac(0)]
    assert [bound.prefix for bound in phone.bounds] == ["10.0.4.1/32", "2001:db8::1/128"]
    assert phone.range("10.0.4.1") == (6, 11)  # 20/35 over three connections
    assert phone.range("2001:db8::1") == (2, 2)  # 2/4 over three, not below two


def test_a_pause_keeps_the_bound_for_a_while_and_takes_nothing_from_others() -> None:
    scenario = uploading(10)
    other = "10.0.5.1"
    scenario.terminal(mac(0), upload(), upload(address=other))
    assert scenario.phones[mac(0)].range() == (10, 17)
    scenario.advance(1)
    scenario.access_point(dict.fromkeys(map(mac, range(10)), 2.0))
    scenario.terminal(mac(0), upload(), upload(address=other, connections=0))
    assert scenario.phones[mac(0)].range() == (20, 35)
    assert scenario.phones[mac(0)].range(other) == (10, 17)
    for _ in range(4):
        scenario.advance(1)
        scenario.access_point(dict.fromkeys(map(mac, range(10)), 2.0))
        scenario.terminal(mac(0), upload(), upload(address=other, connections=0))
    assert scenario.phones[mac(0)].range(other) is None


def test_without_an_rtt_there_is_no_bound_yet() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(0), Destination(address="10.9.9.9", connections_sending=1))
    assert scenario.phones[mac(0)].range("10.9.9.9") is None
    fresh = Scenario(PAPER)
    fresh.access_point({mac(0): 2.0})
    fresh.terminal(mac(0), Destination(address="10.9.9.9", connections_sending=1))
    assert reason(fresh, 0) == "no RTT sample yet"


def test_loopback_is_not_over_the_air() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(0), upload(), upload(0.04, 0.02, address="127.0.0.1"))
    assert [bound.prefix for bound in scenario.phones[mac(0)].bounds] == ["10.0.4.1/32"]


def test_a_newer_stream_of_the_same_phone_takes_its_place() -> None:
    scenario = uploading(1)
    first = scenario.phones.pop(mac(0))
    scenario.terminal(mac(0), upload())
    second = scenario.phones[mac(0)]
    assert second.range() == (250, 555)
    assert second.sets[-1].generation > first.sets[-1].generation
    view = scenario.engine.terminal(mac(0), scenario.now_us)
    assert view is not None
    assert view.connected


def test_a_phone_that_still_holds_a_dead_controllers_set_is_freed() -> None:
    scenario = Scenario(replace(PAPER, mode="observe"))
    scenario.access_point({mac(0): 2.0})
    scenario.terminal(mac(0), upload())
    scenario.phones[mac(0)].generation = 77
    scenario.terminal(mac(0), upload())
    assert scenario.phones[mac(0)].generation == 0
    assert scenario.phones[mac(0)].sets[-1].bounds == ()


def test_a_deaf_phone_is_asked_again_ever_more_rarely() -> None:
    scenario = uploading(1)
    scenario.do(Exempted(mac(0), exempt=True))
    phone = scenario.phones[mac(0)]
    phone.deaf = True
    scenario.do(Exempted(mac(0), exempt=False))
    sets = len(phone.sets)
    keep_reporting(scenario, {mac(0): 2.0}, 100)
    assert 4 <= len(phone.sets) - sets <= 6  # after 3, 6, 12, 24 and 48 s
    phone.deaf = False
    keep_reporting(scenario, {mac(0): 2.0}, 61)
    assert phone.range() == (250, 555)


@pytest.mark.parametrize("stale", ["sequence", "monotonic"])
def test_stale_terminal_reports_are_refused_and_counted(stale: str) -> None:
    scenario = uploading(1)
    before = scenario.phones[mac(0)].range()
    if stale == "sequence":
        scenario.phones[mac(0)].sequence -= 1
        effects = scenario.terminal(mac(0), upload(srtt_ms=9000))
    else:
        effects = scenario.terminal(mac(0), upload(srtt_ms=9000), monotonic_us=1)
    view = scenario.engine.terminal(mac(0), scenario.now_us)
    assert view is not None
    assert view.refused_total == 1
    assert scenario.phones[mac(0)].range() == before
    assert [effect.what for effect in effects if isinstance(effect, Note)] == ["refused"]


def test_stale_access_point_reports_are_refused_and_counted() -> None:
    scenario = uploading(2)
    scenario.access_points[BSSID].sequence -= 1
    scenario.access_point({mac(0): 2.0})
    cell = scenario.engine.cell(BSSID, scenario.now_us)
    assert cell is not None
    assert (cell.refused_total, cell.active_senders) == (1, 2)


def test_a_stream_speaks_for_one_terminal() -> None:
    scenario = uploading(1)
    scenario.phones[mac(1)] = replace(scenario.phones[mac(0)], mac=mac(1))
    effects = scenario.terminal(mac(1), upload())
    assert any(isinstance(effect, Note) and "this stream speaks for" in effect.why for effect in effects)
    assert scenario.engine.terminal(mac(1), scenario.now_us) is None
    assert scenario.engine.refused_unattributed_total == 1


def test_refusals_are_counted_every_time_and_logged_ever_more_rarely() -> None:
    scenario = uploading(1)
    error = ReportRefusedError("srtt_us", -1, "outside 0 to 9")
    logged = [scenario.do(Refused("terminal", mac(0), error)) for _ in range(100)]
    view = scenario.engine.terminal(mac(0), scenario.now_us)
    assert view is not None
    assert view.refused_total == 100
    assert sum(len(effects) for effects in logged) == 7
    first = logged[0][0]
    assert isinstance(first, Note)
    assert first.why == "srtt_us = -1: outside 0 to 9 (refusal 1)"


def test_a_back_end_gets_only_what_it_can_do() -> None:
    scenario = uploading(1)
    scenario.terminal(mac(0), upload(), back_end=BackEnd(can_set_min=False))
    assert scenario.phones[mac(0)].range() == (1, 555)
    scenario.terminal(mac(0), upload(), back_end=BackEnd(can_select_destination=False))
    assert [bound.prefix for bound in scenario.phones[mac(0)].bounds] == [""]
    scenario.terminal(mac(0), upload(), back_end=BackEnd(name="none", can_set_max=False))
    assert scenario.phones[mac(0)].range() is None
    assert reason(scenario, 0) == "the back end 'none' cannot set a maximum"


def test_silent_cells_and_gone_terminals_are_forgotten() -> None:
    scenario = uploading(2, replace(PAPER, safety=SafetyParameters(forget_ms=60_000)))
    scenario.hang_up(mac(0))
    scenario.hang_up(mac(1))
    scenario.advance(120)
    assert scenario.engine.cells(scenario.now_us) == []
    assert scenario.engine.terminals(scenario.now_us) == []
    assert scenario.engine.next_deadline_us() is None


def test_an_idle_controller_asks_for_no_ticks() -> None:
    scenario = uploading(1)
    scenario.hang_up(mac(0))
    before = scenario.ticks
    for _ in range(30):
        scenario.advance(1)
        scenario.access_point({}, idle=[mac(0)])
    assert scenario.ticks == before


def test_every_access_point_report_is_news_to_those_who_watch() -> None:
    scenario = Scenario(PAPER)
    assert CellChanged(BSSID) in scenario.access_point({mac(0): 2.0})


def test_what_operators_see_of_a_cell() -> None:
    scenario = uploading(2, mbps=8.0)
    scenario.advance(0.5)
    cell = scenario.engine.cell(BSSID, scenario.now_us)
    assert cell is not None
    assert (cell.stations, cell.active_senders, cell.terminals) == (2, 2, 2)
    assert cell.uplink_bps == pytest.approx(16e6, rel=0.001)
    assert cell.busy_ratio == pytest.approx(0.9)
    assert cell.capacity_bps == pytest.approx(16e6 / 0.99, rel=0.02)
    assert cell.report_age_us == SECOND_US // 2


@settings(max_examples=25)
@given(
    order=st.permutations(range(6)),
    rtts=st.lists(st.tuples(st.integers(60, 5_000), st.integers(60, 600)), min_size=6, max_size=6),
    policy=st.sampled_from(("paper", "bdp")),
)
def test_the_order_of_terminals_and_reports_does_not_matter(
    order: list[int], rtts: list[tuple[int, int]], policy: PolicyName
) -> None:
    def held(numbers: list[int]) -> dict[str, object]:
        scenario = Scenario(replace(PAPER, policy=policy))
        for number in numbers:
            scenario.terminal(mac(number), upload(max(rtts[number]), min(rtts[number])))
        sending = {mac(number): 2.0 for number in numbers}
        scenario.access_point(sending)
        scenario.advance(1)
        scenario.access_point(sending)
        return {address: phone.bounds for address, phone in scenario.phones.items()}

    assert held(order) == held(sorted(order))


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("report", "ap", "wait", "hang up", "mode", "exempt")),
            st.integers(0, 4),
            st.integers(1, 3_000),
        ),
        max_size=40,
    ),
    st.sampled_from(("paper", "bdp")),
)
def test_whatever_happens_ranges_are_ordered_and_silence_frees_everybody(
    steps: list[tuple[str, int, int]], policy: PolicyName
) -> None:
    scenario = Scenario(replace(PAPER, policy=policy))
    for what, number, value in steps:
        match what:
            case "report":
                scenario.terminal(mac(number), upload(value, min(value, 300), connections=value % 4))
            case "ap":
                scenario.access_point({mac(n): value / 100 for n in range(number)}, idle=[mac(4)])
            case "wait":
                scenario.advance(value / 1000)
            case "hang up":
                if mac(number) in scenario.phones and scenario.phones[mac(number)].stream:
                    scenario.hang_up(mac(number))
            case "mode":
                scenario.do(ModeSet("observe" if value % 2 else "control"))
            case _:
                scenario.do(Exempted(mac(number), exempt=bool(value % 2)))
    for phone in scenario.phones.values():
        for sent in phone.sets:
            assert isinstance(sent, SetBounds)
            assert all(1 <= bound.min_segs <= bound.max_segs for bound in sent.bounds)
        generations = [sent.generation for sent in phone.sets]
        assert generations == sorted(set(generations))
    scenario.advance(20)
    assert all(phone.range() is None for phone in scenario.phones.values())
