# SPDX-License-Identifier: Apache-2.0
"""The EDCA parameters of an access point's own queues: when they are set, for how long, and how they end."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbound.core import commands, edca_decision
from airbound.core.cell.state import CellState
from airbound.core.cell_decisions import cell_due_at_us
from airbound.core.edca import Category, Edca
from airbound.core.edca_decision import decide_edca
from airbound.core.effects import CellChanged, CloseStream, Effect, Note, SetBounds, SetEdca
from airbound.core.events import AccessPointReported, Disconnected, Event, Exempted, ModeSet, Reconfigured
from airbound.core.parameters import EdcaParameters, Parameters, SafetyParameters
from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason
from airbound.core.reports import EdcaState
from airbound_testing.scenario import (
    BSSID,
    NO_WMM,
    OTHER_BSSID,
    OWN_QUEUE,
    SECOND_US,
    AccessPoint,
    Scenario,
    mac,
    upload,
)
from airbound_testing.windows import CAN_SET

PHONES = [mac(number) for number in range(3)]
SENDING = dict.fromkeys(PHONES, 4.0)
SET = (OWN_QUEUE._replace(aifsn=4),)
CELL = "02:00:00:00:00:01"


def shares(**fields: Any) -> EdcaParameters:
    return EdcaParameters(on_share=0.75, off_share=0.6, **fields)


PARAMETERS = Parameters(edca=shares())


def scenario_of(parameters: Parameters | None = None, edca: EdcaState | None = NO_WMM, **named: Any) -> Scenario:
    scenario = Scenario(parameters or PARAMETERS, **named)
    scenario.edca = edca
    return scenario


def keep(
    scenario: Scenario,
    seconds: float,
    sending: dict[bytes, float] | None = None,
    *,
    bounded: bool = False,
    **named: Any,
) -> list[Effect]:
    """The access point reports each second; what came of it."""
    effects = list[Effect]()
    for _ in range(round(seconds)):
        scenario.advance(1)
        effects += scenario.access_point(SENDING if sending is None else sending, **named)
        if bounded:
            effects += scenario.terminal(PHONES[0], upload())
    return effects


def uploading(parameters: Parameters | None = None, **named: Any) -> Scenario:
    """A cell whose access point's queues are set, or would be, for two seconds."""
    scenario = scenario_of(parameters, **named)
    keep(scenario, 4)
    return scenario


def point(scenario: Scenario) -> AccessPoint:
    return scenario.access_points[BSSID]


def cell(scenario: Scenario) -> CellState:
    return scenario.engine.cells[BSSID]


def code(scenario: Scenario) -> Code | None:
    reason = cell(scenario).edca_reason
    return reason.code if reason else None


def test_uploads_have_the_access_point_wait_longer_from_the_second_report_on() -> None:
    scenario = scenario_of()
    scenario.access_point(SENDING)
    assert code(scenario) is Code.CELL_LEARNING
    assert point(scenario).edca_sets == []
    [effect] = [effect for effect in keep(scenario, 1) if isinstance(effect, SetEdca)]
    reason = Reason(Code.UPLOADS, after=1.0, limit=0.75)
    assert effect == SetEdca(point(scenario).stream, 1, SET, 6_000, reason)
    assert point(scenario).queues == SET
    assert cell(scenario).edca_reason == reason


def test_a_set_is_noted_and_counted() -> None:
    scenario = scenario_of()
    scenario.access_point(SENDING)
    effects = keep(scenario, 1)
    reason = Reason(Code.UPLOADS, after=1.0, limit=0.75)
    assert Note("info", "edca", CELL, (reason,), queues=SET, cell=BSSID) in effects
    effects = keep(scenario, 5, {}, idle=PHONES)
    few = Reason(Code.FEW_SENDERS, after=0, limit=2)
    assert Note("info", "edca", CELL, (few,), queues=(), cell=BSSID) in effects
    counters = scenario.counts.totals
    assert counters["edca_sets_total", Code.UPLOADS] == 1
    assert counters["edca_releases_total", Code.FEW_SENDERS] == 1


def test_nothing_changes_while_nothing_changes_but_for_renewals_by_a_third_of_the_lease() -> None:
    scenario = uploading()
    before = point(scenario).edca_renewals
    keep(scenario, 20)
    assert len(point(scenario).edca_sets) == 1
    assert point(scenario).edca_renewals - before == 10
    assert point(scenario).queues == SET


ANNOUNCING = replace(NO_WMM, wmm=True, can_set_stations=True)
TOLD = OWN_QUEUE._replace(cw_min=31, announced=True)


def test_what_stations_are_told_comes_and_goes_with_the_queues() -> None:
    scenario = uploading(Parameters(edca=shares(stations_cw_min=31)), edca=ANNOUNCING)
    assert point(scenario).queues == (*SET, TOLD)
    keep(scenario, 20)
    assert len(point(scenario).edca_sets) == 1
    keep(scenario, 10, {}, idle=PHONES)
    assert point(scenario).queues == ()


def test_an_access_point_gets_the_part_that_it_can_take() -> None:
    parameters = Parameters(edca=shares(stations_cw_min=31))
    scenario = uploading(parameters, edca=replace(ANNOUNCING, can_set_stations=False))
    assert point(scenario).queues == SET
    scenario = uploading(parameters, edca=replace(ANNOUNCING, can_set=False, refusal="the driver cannot"))
    assert point(scenario).queues == (TOLD,)
    # hostapd refuses: the agent drops the set and reports that, and is sent the rest.
    scenario = uploading(parameters, edca=ANNOUNCING)
    access_point = point(scenario)
    assert access_point.edca is not None
    access_point.queues = ()
    access_point.edca = replace(access_point.edca, generation=0, can_set_stations=False)
    keep(scenario, 1)
    assert access_point.queues == SET


def test_without_either_part_it_cannot() -> None:
    state = replace(ANNOUNCING, can_set=False, refusal="the driver cannot", can_set_stations=False)
    scenario = uploading(Parameters(edca=shares(stations_cw_min=31)), edca=state)
    assert point(scenario).edca_sets == []
    assert cell(scenario).edca_reason == Reason(Code.CANNOT_SET_EDCA, "the driver cannot")
    # What is not configured is no reason to send anything.
    assert uploading(edca=replace(ANNOUNCING, can_set=False)).access_points[BSSID].edca_sets == []


def test_renewals_need_no_report() -> None:
    scenario = uploading()
    renewals, ticks = point(scenario).edca_renewals, scenario.ticks
    scenario.advance(2.5)
    assert point(scenario).edca_renewals == renewals + 1
    assert scenario.ticks - ticks <= 2  # and one when it would have been due before the last report renewed it


def test_a_renewal_has_the_lease_that_is_configured_now_and_the_reason_of_the_set() -> None:
    scenario = uploading()
    effects = scenario.do(Reconfigured(Parameters(safety=SafetyParameters(lease_ms=9_000))))
    assert not [effect for effect in effects if isinstance(effect, SetEdca)]
    renewals = [effect for effect in keep(scenario, 4) if isinstance(effect, SetEdca)]
    assert [(effect.generation, effect.lease_ms, effect.reason.after) for effect in renewals] == [(1, 9_000, 1.0)]
    sent = cell(scenario).access_point.edca_lease.sent  # type: ignore[union-attr]
    assert sent is not None
    assert sent.ends_at_us - sent.renew_at_us == 6 * SECOND_US


@pytest.mark.parametrize("still", [True, False])
def test_a_pause_between_two_bursts_does_not_flap(still: bool) -> None:  # noqa: FBT001
    scenario = uploading()
    keep(scenario, 3, {PHONES[0]: 4.0} if still else {}, idle=PHONES[1:] if still else PHONES)
    keep(scenario, 3)
    assert len(point(scenario).edca_sets) == 1
    assert point(scenario).queues == SET


def test_downloads_end_it_and_uploads_begin_it_again() -> None:
    scenario = uploading()
    keep(scenario, 5, downloading=dict.fromkeys(PHONES, 4.0))
    assert code(scenario) is Code.DOWNLOADS
    assert (point(scenario).queues, point(scenario).edca_sets[-1].reason.code) == ((), Code.DOWNLOADS)
    keep(scenario, 5)
    assert point(scenario).queues == SET
    assert [effect.generation for effect in point(scenario).edca_sets] == [1, 2, 3]


def test_a_cell_that_downloads_is_left_alone() -> None:
    scenario = scenario_of()
    keep(scenario, 10, dict.fromkeys(PHONES, 0.1), downloading=dict.fromkeys(PHONES, 6.0))
    assert cell(scenario).stations.active_senders == 3
    assert code(scenario) is Code.DOWNLOADS
    assert point(scenario).edca_sets == []


def test_one_sender_is_not_enough() -> None:
    scenario = scenario_of()
    keep(scenario, 5, {PHONES[0]: 20.0})
    assert cell(scenario).edca_reason == Reason(Code.FEW_SENDERS, after=1, limit=2)
    assert point(scenario).edca_sets == []
    scenario = scenario_of(Parameters(edca=shares(min_senders=1)))
    keep(scenario, 5, {PHONES[0]: 20.0})
    assert point(scenario).queues == SET


# Who must not, who cannot


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({"parameters": Parameters(edca=shares(enabled=False))}, Code.EDCA_OFF),
        ({"parameters": Parameters(edca=shares(aifsn_extra=0))}, Code.EDCA_OFF),
        ({"mode": "observe"}, Code.OBSERVE_MODE),
        ({"exempt": [CELL]}, Code.EXEMPT),
        ({"edca": replace(NO_WMM, can_set=False, refusal="no such driver")}, Code.CANNOT_SET_EDCA),
        ({"edca": replace(NO_WMM, own=())}, Code.CANNOT_SET_EDCA),
        ({"edca": None}, Code.CANNOT_SET_EDCA),
    ],
)
def test_whoever_must_not_or_cannot_is_sent_nothing(named: dict[str, Any], expected: Code) -> None:
    scenario = uploading(**named)
    keep(scenario, 5)
    assert code(scenario) is expected
    assert point(scenario).edca_sets == []
    assert cell(scenario).edca_traffic == Reason(Code.UPLOADS, after=1.0, limit=0.75)


def test_an_access_point_says_why_it_cannot() -> None:
    scenario = uploading(edca=replace(NO_WMM, can_set=False, refusal="no such driver"))
    assert cell(scenario).edca_reason == Reason(Code.CANNOT_SET_EDCA, "no such driver")
    scenario = uploading(edca=replace(NO_WMM, own=()))
    assert cell(scenario).edca_reason == Reason(
        Code.CANNOT_SET_EDCA, "it does not report the parameters of its best effort queue"
    )


CHANGES: dict[str, tuple[Event, Event, Code]] = {
    "mode": (ModeSet("observe"), ModeSet("control"), Code.OBSERVE_MODE),
    "exempt": (Exempted(CELL, exempt=True), Exempted(CELL, exempt=False), Code.EXEMPT),
    "off": (Reconfigured(Parameters(edca=shares(enabled=False))), Reconfigured(PARAMETERS), Code.EDCA_OFF),
    "own": (Reconfigured(Parameters(edca=shares(aifsn_extra=0))), Reconfigured(PARAMETERS), Code.EDCA_OFF),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_an_operator_changes_is_in_force_at_once_both_ways(what: str) -> None:
    scenario = uploading()
    off, on, expected = CHANGES[what]
    scenario.do(off)
    assert (point(scenario).queues, point(scenario).edca_sets[-1].reason) == ((), Reason(expected))
    keep(scenario, 5)
    assert len(point(scenario).edca_sets) == 2
    scenario.do(on)
    assert point(scenario).queues == SET
    assert [effect.generation for effect in point(scenario).edca_sets] == [1, 2, 3]


def test_another_configuration_replaces_the_set() -> None:
    scenario = uploading()
    scenario.do(Reconfigured(Parameters(edca=shares(aifsn_extra=4, cw_min=31, txop_limit=10))))
    assert point(scenario).queues == (Edca(Category.BEST_EFFORT, 6, 31, 1023, 10),)


def test_an_exempt_cells_phones_are_free_as_well_and_others_are_not() -> None:
    scenario = uploading()
    other = mac(9)
    for _ in range(2):
        scenario.advance(1)
        scenario.access_point(SENDING)
        scenario.access_point({other: 4.0}, bssid=OTHER_BSSID)
        for address in (*PHONES, other):
            scenario.terminal(address, upload())
    assert all(scenario.phones[address].range() for address in (*PHONES, other))
    scenario.do(Exempted(CELL, exempt=True))
    assert [scenario.phones[address].range() for address in PHONES] == [None] * 3
    assert {scenario.no_bounds(address) for address in PHONES} == {Code.EXEMPT}
    assert scenario.phones[other].range() is not None
    scenario.do(Exempted(CELL, exempt=False))
    assert all(scenario.phones[address].range() for address in (*PHONES, other))


def test_an_access_point_has_its_own_where_nothing_is_bounded_for_half_a_minute() -> None:
    scenario = scenario_of()
    scenario.access_point(SENDING)
    keep(scenario, 31)
    assert point(scenario).queues == SET
    keep(scenario, 1)
    assert point(scenario).queues == ()
    assert code(scenario) is Code.NOTHING_BOUNDED
    keep(scenario, 3, bounded=True)
    assert scenario.phones[PHONES[0]].range() is not None
    assert point(scenario).queues == SET
    keep(scenario, 60, bounded=True)
    assert point(scenario).queues == SET


def test_limits_of_windows_are_bounds_too() -> None:
    scenario = scenario_of()
    scenario.windows = CAN_SET
    keep(scenario, 60, destinations={PHONES[0]: (upload(),)})
    assert point(scenario).limits
    assert point(scenario).queues == SET


# What goes wrong


def test_a_set_that_is_not_in_force_is_sent_again_ever_more_rarely() -> None:
    scenario = scenario_of()
    scenario.access_point(SENDING)
    point(scenario).unresponsive = True
    keep(scenario, 30, bounded=True)
    sets = point(scenario).edca_sets
    assert [effect.generation for effect in sets] == [1, 2, 3, 4]  # after 3, 6 and 12 s
    assert [effect.reason.code for effect in sets] == [Code.UPLOADS, *[Code.REPEATED] * 3]
    assert {effect.queues for effect in sets} == {SET}
    point(scenario).unresponsive = False
    keep(scenario, 20, bounded=True)
    assert point(scenario).queues == SET
    assert len(sets) == 5
    keep(scenario, 60, bounded=True)
    assert len(sets) == 5


def test_a_release_that_is_not_in_force_is_sent_again() -> None:
    scenario = uploading(Parameters(safety=SafetyParameters(lease_ms=60_000)))
    point(scenario).unresponsive = True
    scenario.do(ModeSet("observe"))
    keep(scenario, 29)
    assert len(point(scenario).edca_sets) == 2
    keep(scenario, 2)
    [_, first, second] = point(scenario).edca_sets
    assert (first.reason.code, second.reason) == (Code.OBSERVE_MODE, Reason(Code.REPEATED, before=1))
    assert first.queues == second.queues == ()


def test_an_access_point_that_stops_reporting_is_released_without_any_event() -> None:
    scenario = uploading()
    scenario.advance(2.9)
    assert point(scenario).queues == SET
    scenario.advance(0.2)
    assert point(scenario).queues == ()
    assert point(scenario).edca_sets[-1].reason == Reason(Code.CELL_STALE, CELL, limit=3.0)
    ticks = scenario.ticks
    scenario.advance(100)
    assert scenario.ticks == ticks
    keep(scenario, 1)
    assert point(scenario).queues == SET


def test_when_the_stream_ends_nothing_is_sent_and_the_lease_ends_by_itself() -> None:
    scenario = uploading()
    sets, renewals = len(point(scenario).edca_sets), point(scenario).edca_renewals
    scenario.do(Disconnected(point(scenario).stream))
    scenario.advance(3.9)
    assert point(scenario).queues == SET
    scenario.advance(2.2)
    assert point(scenario).queues == ()
    assert (len(point(scenario).edca_sets), point(scenario).edca_renewals) == (sets, renewals)


def test_on_the_next_stream_the_set_goes_on_under_a_higher_generation() -> None:
    scenario = uploading()
    scenario.do(Disconnected(point(scenario).stream))
    scenario.advance(1)
    point(scenario).stream = scenario.new_stream("access-point", "ap0")
    scenario.access_point(SENDING)
    assert [(effect.generation, effect.queues) for effect in point(scenario).edca_sets] == [(1, SET), (2, SET)]


def test_after_a_lease_has_ended_the_next_controllers_first_set_is_taken_as_a_new_one() -> None:
    """It has the generation of the last controller's first set, on another stream."""
    scenario = uploading()
    first_stream = point(scenario).stream
    scenario.restart()
    scenario.advance(6.1)
    assert point(scenario).queues == ()
    keep(scenario, 3)
    sets = [effect for effect in point(scenario).edca_sets if effect.stream != first_stream]
    assert [(effect.generation, effect.queues) for effect in sets] == [(1, SET)]
    assert point(scenario).queues == SET


def test_a_closed_stream_is_sent_nothing() -> None:
    scenario = uploading()
    point(scenario).sequence = 0
    for _ in range(5):
        effects = scenario.access_point(SENDING)
        point(scenario).sequence = 0
    assert [effect for effect in effects if isinstance(effect, CloseStream)]
    sets, renewals = len(point(scenario).edca_sets), point(scenario).edca_renewals
    scenario.advance(3)
    scenario.do(ModeSet("observe"))
    assert (len(point(scenario).edca_sets), point(scenario).edca_renewals) == (sets, renewals)


def test_a_controller_that_restarts_lets_it_be_and_then_goes_on_without_a_gap() -> None:
    scenario = uploading()
    scenario.restart()
    scenario.advance(0.5)
    before = len(point(scenario).edca_sets)
    scenario.access_point(SENDING)
    assert code(scenario) is Code.CELL_LEARNING
    assert (len(point(scenario).edca_sets), point(scenario).queues) == (before, SET)
    keep(scenario, 1)
    [new] = point(scenario).edca_sets[before:]
    assert (new.generation, new.queues) == (2, SET)
    keep(scenario, 10)
    assert len(point(scenario).edca_sets) == before + 1


def test_a_new_process_keeps_what_the_one_before_set_where_it_would_not_begin_it() -> None:
    """Between the two shares, and in a pause."""
    scenario = uploading()
    scenario.restart()
    keep(scenario, 5, downloading=dict.fromkeys(PHONES, 2.0))
    assert 0.6 < cell(scenario).channel_access.share < 0.75
    assert {effect.queues for effect in point(scenario).edca_sets} == {SET}
    scenario = uploading()
    scenario.restart()
    keep(scenario, 3, {PHONES[0]: 1.0}, idle=PHONES[1:])
    keep(scenario, 2)
    assert {effect.queues for effect in point(scenario).edca_sets} == {SET}


def test_a_new_process_releases_what_the_one_before_set_if_it_must_not_be() -> None:
    scenario = uploading()
    scenario.restart()
    scenario.do(ModeSet("observe"))
    scenario.access_point(SENDING)
    assert point(scenario).queues == SET
    keep(scenario, 1)
    [_, release] = point(scenario).edca_sets
    assert (release.generation, release.queues, release.reason) == (2, (), Reason(Code.OBSERVE_MODE))


def test_another_access_point_of_the_cell_is_learned_anew() -> None:
    scenario = uploading()
    scenario.advance(3.5)
    point(scenario).stream = scenario.new_stream("access-point", "another")
    point(scenario).edca, point(scenario).queues = NO_WMM, ()
    point(scenario).edca_sets.clear()
    scenario.access_point(SENDING)
    assert code(scenario) is Code.CELL_LEARNING
    assert (cell(scenario).channel_access.share, point(scenario).edca_sets) == (0.0, [])
    keep(scenario, 1)
    assert [effect.generation for effect in point(scenario).edca_sets] == [1]


@pytest.mark.parametrize("broken", ["wanted_set", "_decide"])
def test_an_error_of_ours_frees_the_access_point_and_concerns_nobody_else(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    scenario = uploading()
    for address in PHONES:
        scenario.terminal(address, upload())

    def fail(*_: object) -> None:
        raise ZeroDivisionError("made up")

    with monkeypatch.context() as patch:
        patch.setattr(edca_decision, broken, fail)
        patch.setattr(cell(scenario), "edca_wanted", None)
        effects = list[Effect]()
        for _ in range(9):
            effects += keep(scenario, 1)
            for address in PHONES:
                scenario.terminal(address, upload())
        assert point(scenario).queues == ()
        assert all(scenario.phones[address].range() for address in PHONES)
        assert cell(scenario).edca_failures_total >= 9
        reason = cell(scenario).edca_reason
        assert reason is not None
        assert reason.code is Code.INTERNAL_ERROR
        assert reason.subject.startswith("ZeroDivisionError: made up, in fail, line ")
        assert (
            len(
                [
                    effect
                    for effect in effects
                    if isinstance(effect, Note) and effect.what == "failed" and effect.level == "warning"
                ]
            )
            <= 4
        )
        assert len(point(scenario).edca_sets) == 2
    counters = scenario.counts.totals
    assert counters["failures_total", Code.UNSPECIFIED] == cell(scenario).edca_failures_total
    keep(scenario, 1)
    assert point(scenario).queues == SET


def test_what_changed_is_shown_to_those_who_watch_also_without_a_report() -> None:
    scenario = uploading()
    shown, do = list[Effect](), scenario.do

    def watch(event: Event) -> list[Effect]:
        effects = do(event)
        shown.extend(effect for effect in effects if isinstance(effect, CellChanged))
        return effects

    scenario.do = watch  # type: ignore[method-assign]
    scenario.advance(2.5)
    assert shown == [CellChanged(BSSID)]  # its lease was renewed


def test_a_report_that_changes_nothing_makes_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """As nearly all do: what is made of each would be paid a thousand times a second."""
    scenario = uploading()
    made = list[str]()
    monkeypatch.setattr(commands, "next_set", lambda *_, **__: made.append("set"))
    monkeypatch.setattr(edca_decision, "wanted_set", lambda *_: made.append("wanted"))
    scenario.access_point(SENDING, seconds=0.5)
    assert made == []


# Whatever happens


class World(Scenario):
    """Access points on streams that end in any way; every effect is checked."""

    def __init__(self) -> None:
        super().__init__()
        self.edca = NO_WMM
        self.open: set[Stream] = set()
        self.last: dict[Stream, SetEdca] = {}

    def do(self, event: Event) -> list[Effect]:
        reported = {one.stream: one.edca.generation if one.edca else 0 for one in self.access_points.values()}
        effects = super().do(event)
        for effect in effects:
            if isinstance(effect, CloseStream):
                self.open.discard(effect.stream)
            if not isinstance(effect, SetEdca):
                continue
            assert effect.stream in self.open
            last = self.last.get(effect.stream)
            if last is not None and last.generation == effect.generation:
                assert effect.queues == last.queues != ()
            else:
                assert effect.generation > max(last.generation if last else 0, reported[effect.stream])
            assert effect.reason.code
            assert bool(effect.queues) is not effect.reason.releases or effect.reason.code is Code.REPEATED
            self.last[effect.stream] = effect
        self.check(event)
        return effects

    def check(self, event: Event) -> None:
        for cell in self.engine.cells.values():
            access_point = cell.access_point
            if access_point is None or access_point.closed:
                continue
            sent, last = access_point.edca_lease.sent, self.last.get(access_point.stream)
            assert (sent and (sent.generation, sent.entries)) == (last and (last.generation, last.queues))
            assert cell.due_us
            assert cell.due_us <= cell_due_at_us(cell)
            own_report = (  # that was not refused
                isinstance(event, AccessPointReported)
                and event.stream == access_point.stream
                and (access_point.sequence, access_point.reported_at_us) == (event.report.sequence, self.now_us)
            )
            if own_report or isinstance(event, ModeSet | Reconfigured) or event == Exempted(cell.name, exempt=True):
                queues = sent.entries if sent else ()
                if sent is None or access_point.edca_lease.in_force == (sent.generation if queues else 0):
                    assert decide_edca(cell, self.now_us) == []  # it was decided: deciding again gives the same
                assert cell.edca_reason is not None
                code = cell.edca_reason.code
                assert bool(queues) is (code is Code.UPLOADS) or code is Code.CELL_LEARNING

    def new_stream(self, *arguments: Any, **named: Any) -> Stream:
        stream = super().new_stream(*arguments, **named)
        self.open.add(stream)
        return stream

    # Steps

    def ap(self, number: int, value: int) -> None:
        bssid = OTHER_BSSID if value % 3 == 0 else BSSID
        point = self.access_points.get(bssid)
        if point is not None:
            if point.stream not in self.open or value % 13 == 0:
                if point.stream in self.open:
                    self.open.discard(point.stream)
                    self.do(Disconnected(point.stream))
                point.stream = self.new_stream("access-point", f"ap {value % 2}")
            point.unresponsive = value % 7 == 0
            if value % 11 == 0:
                point.sequence = max(0, point.sequence - 2)
        downloading = {mac(0): value / 10} if value % 5 == 0 else {}
        self.access_point({mac(one): 1.0 for one in range(number)}, idle=[mac(8)], bssid=bssid, downloading=downloading)

    def wait(self, _: int, value: int) -> None:
        self.advance(value / 30)

    def rounds(self, number: int, value: int) -> None:
        for _ in range(value % 4 + 2):
            self.advance(0.8)
            self.ap(number, value)

    def phone(self, number: int, value: int) -> None:
        self.terminal(mac(number), *[upload(connections=value % 2)])

    def mode(self, _: int, value: int) -> None:
        self.do(ModeSet("observe" if value % 2 else "control"))

    def exempt(self, _: int, value: int) -> None:
        self.do(Exempted(CELL, exempt=bool(value % 2)))

    def reload(self, _: int, value: int) -> None:
        table = shares(aifsn_extra=2 + value % 2, enabled=bool(value % 3), linger_s=float(value % 4))
        self.do(Reconfigured(Parameters(edca=table, safety=SafetyParameters(lease_ms=2_000 + value * 100))))

    def renew(self, _: int, __: int) -> None:
        self.restart()
        self.last.clear()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ("ap", "ap", "rounds", "rounds", "rounds", "wait", "phone", "mode", "exempt", "reload", "renew")
        ),
        st.integers(0, 4),
        st.integers(1, 100),
    ),
    max_size=40,
)


@settings(max_examples=200)
@given(STEPS)
def test_whatever_happens_generations_grow_and_nothing_outlives_its_lease(steps: list[tuple[str, int, int]]) -> None:
    world = World()
    for what, number, value in steps:
        getattr(world, what)(number, value)
    world.advance(65)
    for one in world.access_points.values():
        assert one.queues == ()
    ticks = world.ticks
    world.advance(60)
    assert world.ticks - ticks <= 2 * len(world.engine.cells)


def test_phones_bounds_go_on_beside_it() -> None:
    scenario = uploading()
    effects = list[Effect]()
    for address in PHONES:
        effects += scenario.terminal(address, upload())
    assert len([effect for effect in effects if isinstance(effect, SetBounds)]) == 3
