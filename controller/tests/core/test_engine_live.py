# SPDX-License-Identifier: Apache-2.0
"""Live flows in a cell: their category up and down, that nobody else has it, leases, and all that ends it."""

from dataclasses import replace

import pytest

from airbound.core.addresses import mac_text
from airbound.core.cell.priorities import REMEMBERED_US
from airbound.core.cell.stations_window import LINGERS_US, SHORT_US
from airbound.core.edca import Category, Edca
from airbound.core.effects import Effect, Flow, Note, StationFlow
from airbound.core.events import ClassSet, Exempted, ModeSet, Reconfigured
from airbound.core.parameters import EdcaParameters, LiveParameters, Parameters
from airbound.core.reasons import Code
from airbound.core.reports import AppPart, EdcaState, FlowAbilities, StationFlowState
from airbound_testing.scenario import BSSID, OTHER_BSSID, SERVER, Scenario, mac, name, upload

DEFAULT, LIVE, BULK = 0, 1, 3
UID = 10073
ABLE = FlowAbilities(can_mark=True, can_admit=True, can_pace=True, flows_max=64)
MARKS_ONLY = replace(ABLE, can_admit=False, refusal="the driver has no admission")
PHONES = [mac(number) for number in range(4)]
BEST_EFFORT = Edca(Category.BEST_EFFORT, 3, 15, 1023, 0)
VIDEO, VOICE = Edca(Category.VIDEO, 2, 7, 15, 94), Edca(Category.VOICE, 2, 3, 7, 47)
ANNOUNCED = VIDEO._replace(announced=True, admission=True)
EDCA = EdcaState(
    can_set=True,
    own=(BEST_EFFORT,),
    stations=(BEST_EFFORT, VIDEO, VOICE),
    wmm=True,
    can_set_stations=True,
    takes_priorities=True,
)
MARKS_DOWN = StationFlowState(can_set=True, flows_max=64)


class Cell:
    """A cell of four phones that send, of which some have live flows."""

    def __init__(self, edca: EdcaState = EDCA, station_flows: StationFlowState | None = MARKS_DOWN) -> None:
        self.scenario = Scenario(Parameters())
        self.scenario.edca, self.scenario.station_flows = edca, station_flows
        self.live = {PHONES[0]}
        self.abilities = dict.fromkeys(PHONES, ABLE)
        self.application_class = LIVE
        self.uids = (UID,)
        self.delivered = 0
        self.rate_mbps, self.queued_bytes = 0.704, 2000
        self.present = list(PHONES)

    def run(self, seconds: float) -> list[Effect]:
        effects = list[Effect]()
        for _ in range(round(2 * seconds)):
            self.scenario.advance(0.5)
            effects += self.scenario.access_point(dict.fromkeys(self.present, 5.0), seconds=0.5)
            effects += self.report()
        return effects

    def report(self) -> list[Effect]:
        effects = list[Effect]()
        self.delivered += round(self.rate_mbps * 62_500)
        for phone in self.present:
            live = phone in self.live
            app = AppPart(SERVER, self.application_class, 1, self.delivered, self.queued_bytes, self.uids)
            apps, rest = ((app,), ()) if live and self.application_class else ((), (app,) if live else ())
            known = phone in self.scenario.phones and self.scenario.phones[phone].described
            effects += self.scenario.terminal(
                phone, upload(), apps=apps, unclassed=rest, abilities=None if known else self.abilities[phone]
            )
        return effects

    def flows(self, number: int = 0) -> tuple[Flow, ...]:
        return self.scenario.phones[PHONES[number]].flows

    @property
    def point_flows(self) -> tuple[StationFlow, ...]:
        return self.scenario.access_points[BSSID].flows

    @property
    def announced(self) -> list[Edca]:
        """Of video and voice, what is announced to the stations."""
        queues = self.scenario.access_points[BSSID].queues
        return [queue for queue in queues if queue.announced and queue.category in {Category.VIDEO, Category.VOICE}]

    def why_not(self, number: int = 0) -> Code | None:
        """Why a phone's live flows have no grant, or its last set is empty; none if it has flows."""
        for key, flow in self.scenario.engine.cells[BSSID].live.flows.items():
            if key.mac == PHONES[number]:
                return flow.refused.code if flow.refused is not None else None
        return self.scenario.phones[PHONES[number]].flow_sets[-1].reason.code


def test_a_live_flow_has_its_category_up_and_down_and_others_are_closed_out() -> None:
    cell = Cell()
    effects = cell.run(3)
    [flow] = cell.flows()
    assert (flow.uid, flow.address, flow.category, flow.udp_bps) == (UID, SERVER, Category.VIDEO, 0)
    assert 20_000 < flow.admitted_us_per_s < 200_000
    assert [cell.flows(number) for number in (1, 2, 3)] == [(), (), ()]
    assert cell.point_flows == (StationFlow(PHONES[0], SERVER, Category.VIDEO),)
    assert cell.announced == [ANNOUNCED]
    assert cell.why_not() is None
    [note] = [effect for effect in effects if isinstance(effect, Note) and effect.kind == "flows"]
    assert (note.subject, note.flows, note.reasons[0].code) == (name(PHONES[0]), (flow,), Code.LIVE_FLOWS)


def test_it_has_it_with_its_first_report() -> None:
    cell = Cell()
    cell.live = set()
    cell.run(3)
    assert not cell.flows()
    cell.live = {PHONES[0]}
    cell.report()
    assert cell.flows()
    assert cell.point_flows
    assert cell.announced == [ANNOUNCED]


def test_its_leases_are_renewed_and_it_keeps_all_for_a_minute() -> None:
    cell = Cell()
    cell.run(2)
    phone, point = cell.scenario.phones[PHONES[0]], cell.scenario.access_points[BSSID]
    for _ in range(60):
        cell.run(1)
        assert cell.flows()
        assert cell.point_flows
        assert cell.announced
    assert len(phone.flow_sets) == len(point.flow_sets) == 1
    assert 20 <= phone.flow_renewals <= 40


def test_all_ends_when_the_flow_does() -> None:
    cell = Cell()
    cell.run(3)
    cell.live = set()
    cell.run(1)
    assert cell.flows()  # a pause
    effects = cell.run(4)
    assert (cell.flows(), cell.point_flows, cell.announced) == ((), (), [])
    assert cell.why_not() is Code.NO_LIVE_FLOW
    assert [effect.reasons[0].code for effect in effects if isinstance(effect, Note) and effect.kind == "flows"] == [
        Code.NO_LIVE_FLOW
    ]
    assert not cell.scenario.engine.cells[BSSID].live.flows


def test_without_live_flows_nothing_is_sent() -> None:
    cell = Cell()
    cell.live = set()
    cell.run(10)
    assert not any(phone.flow_sets for phone in cell.scenario.phones.values())
    assert not cell.scenario.access_points[BSSID].flow_sets
    assert cell.announced == []


@pytest.mark.parametrize("application_class", [2, 3, 4])
def test_other_classes_have_no_grant(application_class: int) -> None:
    cell = Cell()
    cell.application_class = application_class
    cell.run(3)
    assert not any(flow.category for flow in cell.flows())


@pytest.mark.parametrize(
    ("abilities", "edca", "code"),
    [
        (FlowAbilities(refusal="no WMM"), EDCA, Code.CANNOT_MARK),
        (ABLE, replace(EDCA, wmm=False), Code.NO_WMM),
    ],
)
def test_why_there_is_no_grant(abilities: FlowAbilities, edca: EdcaState, code: Code) -> None:
    cell = Cell(edca)
    cell.abilities = dict.fromkeys(PHONES, abilities)
    cell.run(3)
    assert not cell.flows()
    assert cell.why_not() is code
    assert cell.announced == []


def test_where_a_phone_cannot_be_admitted_marks_are_all_there_is() -> None:
    cell = Cell()
    cell.live = {PHONES[0], PHONES[1]}
    cell.abilities[PHONES[1]] = MARKS_ONLY
    cell.run(3)
    assert [flow.admitted_us_per_s > 0 for number in (0, 1) for flow in cell.flows(number)] == [True, False]
    assert cell.announced == []


@pytest.mark.parametrize("edca", [replace(EDCA, takes_priorities=False), replace(EDCA, can_set_stations=False)])
def test_an_access_point_that_cannot_close_the_category_is_not_asked_to(edca: EdcaState) -> None:
    cell = Cell(edca, station_flows=None)
    cell.run(3)
    assert cell.flows()
    assert cell.announced == []
    assert cell.point_flows == ()


def test_the_categories_have_no_advantage_while_somebody_uses_them_without_a_grant() -> None:
    cell = Cell()
    cell.run(4)
    for _ in range(6):
        cell.scenario.phones[PHONES[2]].video_packets += 100
        cell.run(0.5)
    same = BEST_EFFORT._replace(announced=True)
    assert cell.announced == [same._replace(category=category) for category in (Category.VIDEO, Category.VOICE)]
    cell.run(REMEMBERED_US / 1e6 + 1)
    assert cell.announced == [ANNOUNCED]


@pytest.mark.parametrize("category", ["video", "voice"])
def test_categories_that_crowd_out_the_rest_are_closed_before_anybody_can_say_that_he_is_live(category: str) -> None:
    cell = Cell()
    cell.live = set()
    for _ in range(6):
        for phone in PHONES[1:]:
            sender = cell.scenario.phones.get(phone)
            if sender is not None:
                sender.video_packets += 300 * (category == "video")
                sender.voice_packets += 300 * (category == "voice")
        cell.run(0.5)
    voice = [VOICE._replace(announced=True, admission=True)] if category == "voice" else []
    assert cell.announced == [ANNOUNCED, *voice]
    reason = cell.scenario.engine.cells[BSSID].edca_reason
    assert reason is not None
    assert cell.point_flows == ()
    cell.live = {PHONES[0]}
    cell.report()
    assert cell.flows()
    assert cell.announced == [ANNOUNCED, *voice]


def test_where_a_granted_phone_cannot_be_admitted_a_crowd_has_no_advantage() -> None:
    cell = Cell()
    cell.abilities = dict.fromkeys(PHONES, MARKS_ONLY)
    cell.run(1)
    for _ in range(6):
        cell.scenario.phones[PHONES[2]].video_packets += 1500
        cell.run(0.5)
    same = BEST_EFFORT._replace(announced=True)
    assert cell.announced == [same._replace(category=category) for category in (Category.VIDEO, Category.VOICE)]


@pytest.mark.parametrize("how", ["off", "observe"])
def test_a_crowd_is_left_alone_where_nothing_is_to_be_done(how: str) -> None:
    cell = Cell()
    cell.live = set()
    cell.run(1)
    cell.scenario.do(
        ModeSet("observe") if how == "observe" else Reconfigured(Parameters(live=LiveParameters(enabled=False)))
    )
    for _ in range(6):
        cell.scenario.phones[PHONES[2]].video_packets += 1500
        cell.run(0.5)
    assert cell.announced == []


def test_a_flow_that_is_not_live_loses_its_grant() -> None:
    cell = Cell()
    cell.run(3)
    for _ in range(60):
        cell.delivered += 100_000
        cell.scenario.advance(0.5)
        cell.scenario.access_point(dict.fromkeys(PHONES, 5.0), seconds=0.5)
        app = AppPart(SERVER, LIVE, 1, cell.delivered, 2_000_000, (UID,))
        cell.scenario.terminal(PHONES[0], upload(), apps=(app,))
    assert cell.flows() == ()
    assert cell.why_not() is Code.TAKES_ALL
    assert cell.announced == []


def test_more_flows_than_there_is_air_for_are_refused_and_others_keep_theirs() -> None:
    cell = Cell()
    cell.scenario.access_point(dict.fromkeys(PHONES, 5.0), seconds=0.5, bitrate_kbps=11_000)
    cell.live = set(PHONES)
    for _ in range(20):
        cell.scenario.advance(0.5)
        cell.scenario.access_point(dict.fromkeys(PHONES, 1.0), seconds=0.5, bitrate_kbps=11_000)
        cell.report()
    assert [bool(cell.flows(number)) for number in range(4)] == [True, True, False, False]
    assert cell.why_not(3) is Code.LIVE_AIR


def test_a_refusal_is_an_event_once_and_again_when_the_flow_had_a_grant_meanwhile() -> None:
    cell = Cell()
    cell.scenario.access_point(dict.fromkeys(PHONES, 5.0), seconds=0.5, bitrate_kbps=11_000)
    cell.live = set(PHONES)

    def refused(seconds: float) -> list[tuple[str, Code]]:
        notes = list[Note]()
        for _ in range(round(2 * seconds)):
            cell.scenario.advance(0.5)
            effects = cell.scenario.access_point(dict.fromkeys(PHONES, 1.0), seconds=0.5, bitrate_kbps=11_000)
            effects += cell.report()
            notes += [effect for effect in effects if isinstance(effect, Note) and effect.kind == "flows"]
        assert all(note.level == "info" for note in notes)
        return [(note.subject, note.reasons[0].code) for note in notes if not note.flows]

    assert refused(10) == [(name(PHONES[number]), Code.LIVE_AIR) for number in (2, 3)]
    cell.live = {PHONES[2], PHONES[3]}
    assert (refused(10), bool(cell.flows(3))) == (
        [(name(PHONES[number]), Code.NO_LIVE_FLOW) for number in (0, 1)],
        True,
    )
    cell.live = set(PHONES)
    assert refused(10) == [(name(PHONES[number]), Code.LIVE_AIR) for number in (0, 1)]


def test_flows_that_an_operator_leaves_alone_are_no_refusals() -> None:
    cell = Cell()
    cell.scenario.do(ModeSet("observe"))
    assert [effect for effect in cell.run(5) if isinstance(effect, Note) and effect.kind == "flows"] == []


@pytest.mark.parametrize("how", ["observe", "exempt", "exempt cell", "off"])
def test_an_operator_ends_it_at_once(how: str) -> None:
    cell = Cell()
    cell.run(3)
    if how == "observe":
        cell.scenario.do(ModeSet("observe"))
    elif how == "off":
        parameters = Parameters(live=LiveParameters(enabled=False))
        cell.scenario.do(Reconfigured(parameters))
    else:
        cell.scenario.do(Exempted(name(PHONES[0]) if how == "exempt" else mac_text(BSSID), exempt=True))
    cell.run(1)
    assert (cell.flows(), cell.point_flows, cell.announced) == ((), (), [])


@pytest.mark.parametrize("uid", [None, UID])
@pytest.mark.parametrize("by", ["name", "mac"])
def test_an_operator_has_what_the_phone_has_no_class_for_as_live(uid: int | None, by: str) -> None:
    cell = Cell()
    cell.application_class = DEFAULT
    cell.run(3)
    assert cell.flows() == ()
    who = name(PHONES[0]) if by == "name" else mac_text(PHONES[0])
    word = "live" if uid is None else f"uid {uid} live"
    (note,) = cell.scenario.do(ClassSet(who, uid, LIVE))
    assert note == Note("info", "class", f"{who} {word}", terminal=name(PHONES[0]), cell=BSSID)
    cell.run(1)
    assert [flow.uid for flow in cell.flows()] == [UID]
    assert cell.point_flows == (StationFlow(PHONES[0], SERVER, Category.VIDEO),)
    cell.scenario.do(ClassSet(who, uid, None))
    cell.run(6)
    assert (cell.flows(), cell.point_flows) == ((), ())


def test_an_operator_takes_the_class_live_from_an_application_and_gives_it_back() -> None:
    cell = Cell()
    cell.run(3)
    cell.scenario.do(ClassSet(name(PHONES[0]), UID, BULK))
    cell.run(6)
    assert (cell.flows(), cell.point_flows) == ((), ())
    cell.scenario.do(ClassSet(name(PHONES[0]), UID, None))
    cell.run(1)
    assert cell.flows()
    cell.scenario.do(ClassSet(name(PHONES[0]), UID + 1, BULK))  # another application
    cell.scenario.do(ClassSet(name(PHONES[1]), None, BULK))  # another phone
    cell.run(6)
    assert cell.flows()


def test_a_choice_counts_for_a_phone_that_comes_later() -> None:
    cell = Cell()
    cell.application_class = DEFAULT
    (note,) = cell.scenario.do(ClassSet(name(PHONES[0]), None, LIVE))
    assert note == Note("info", "class", f"{name(PHONES[0])} live", terminal=name(PHONES[0]))
    cell.run(3)
    assert cell.flows()


def test_a_phone_that_leaves_its_cell_loses_it_and_has_it_in_the_next_one() -> None:
    cell = Cell()
    cell.run(3)
    cell.scenario.access_point(dict.fromkeys(PHONES[1:], 5.0), seconds=0.5)
    cell.present = PHONES[1:]
    assert cell.flows() == ()
    cell.run(1)
    assert cell.point_flows == ()
    scenario = cell.scenario
    for _ in range(3):
        scenario.advance(0.5)
        scenario.access_point({PHONES[0]: 5.0}, seconds=0.5, bssid=OTHER_BSSID)
        cell.delivered += 44_000
        app = AppPart(SERVER, LIVE, 1, cell.delivered, 2000, (UID,))
        scenario.terminal(PHONES[0], upload(), apps=(app,))
    assert cell.flows()
    assert scenario.access_points[OTHER_BSSID].flows


def test_a_phone_that_comes_to_a_cell_that_grants_nothing_loses_it() -> None:
    cell = Cell()
    cell.run(3)
    assert cell.flows()
    scenario = cell.scenario
    scenario.edca = replace(EDCA, wmm=False)
    app = AppPart(SERVER, LIVE, 1, cell.delivered, 2000, (UID,))
    for _ in range(8):  # it is in the other cell once nothing is heard of the first, and in one of them at any moment
        scenario.advance(0.5)
        scenario.access_point({PHONES[0]: 5.0}, seconds=0.5, bssid=OTHER_BSSID)
        scenario.terminal(PHONES[0], upload(), apps=(app,))
    assert cell.flows() == ()
    assert scenario.phones[PHONES[0]].flow_sets[-1].reason.code is Code.NO_WMM


def test_an_agent_that_describes_itself_anew_is_sent_what_it_can_do_then() -> None:
    cell = Cell()
    cell.run(3)
    [flow] = cell.flows()
    assert flow.admitted_us_per_s
    app = AppPart(SERVER, LIVE, 1, cell.delivered, 2000, (UID,))
    cell.scenario.terminal(PHONES[0], upload(), apps=(app,), abilities=MARKS_ONLY)
    cell.run(1)
    assert cell.flows() == (flow._replace(admitted_us_per_s=0),)


def test_it_ends_by_its_lease_if_the_access_point_is_silent() -> None:
    cell = Cell()
    cell.run(3)
    for _ in range(8):
        cell.scenario.advance(1)
        cell.report()
    assert (cell.flows(), cell.point_flows) == ((), ())


def test_a_phone_that_does_not_apply_it_is_sent_it_again() -> None:
    cell = Cell()
    cell.run(1)
    cell.live = set()
    cell.scenario.phones[PHONES[0]].unresponsive = True
    cell.run(4)
    cell.live = {PHONES[0]}
    cell.run(10)
    phone = cell.scenario.phones[PHONES[0]]
    assert len(phone.flow_sets) >= 3
    assert phone.flow_sets[-1].reason.code is Code.REPEATED


def test_an_application_more_of_the_same_class_is_in_the_next_set() -> None:
    cell = Cell()
    cell.run(3)
    cell.uids = (UID, UID + 1)
    cell.run(0.5)
    flows = cell.flows()
    assert [flow.uid for flow in flows] == [UID, UID + 1]
    assert [flow.admitted_us_per_s > 0 for flow in flows] == [True, False]


def test_an_error_frees_the_cells_live_flows_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell()
    cell.run(3)

    def fail(*_: object, **__: object) -> bool:
        raise ZeroDivisionError("test")

    monkeypatch.setattr("airbound.core.cell.live.LiveFlows.choose", fail)
    effects = cell.run(1)
    assert cell.flows() == ()
    assert cell.why_not() in {Code.INTERNAL_ERROR, Code.NO_LIVE_FLOW}
    assert cell.scenario.phones[PHONES[0]].range() is not None
    codes = [effect.reasons[0].code for effect in effects if isinstance(effect, Note)]
    assert Code.INTERNAL_ERROR in codes


def test_another_controller_goes_on_with_it() -> None:
    cell = Cell()
    cell.run(3)
    cell.scenario.restart()
    for phone in cell.scenario.phones.values():
        phone.flow_sets.clear()
    for point in cell.scenario.access_points.values():
        point.flow_sets.clear()
        point.edca_sets.clear()
    for _ in range(5):
        cell.run(1)
        assert cell.flows()


def best_effort(cell: Cell) -> list[Edca]:
    """What is announced to the stations for best effort."""
    queues = cell.scenario.access_points[BSSID].queues
    return [queue for queue in queues if queue.announced and queue.category is Category.BEST_EFFORT]


def short(cell: Cell) -> None:
    cell.rate_mbps, cell.queued_bytes = 0.2, 400_000


CANNOT_MARK = FlowAbilities(refusal="no BPF")


def test_stations_wait_longer_while_a_live_flow_without_a_grant_is_short() -> None:
    cell = Cell()
    cell.abilities[PHONES[0]] = CANNOT_MARK
    short(cell)
    cell.run(SHORT_US / 1e6 - 1)
    assert best_effort(cell) == []
    cell.run(4)
    assert best_effort(cell) == [BEST_EFFORT._replace(announced=True, cw_min=63)]
    # Having its need now, it would be short again without.
    cell.rate_mbps, cell.queued_bytes = 0.7, 2000
    cell.run(10)
    assert [queue.cw_min for queue in best_effort(cell)] == [63]
    cell.live = set()
    cell.run(10)
    assert [queue.cw_min for queue in best_effort(cell)] == [63]
    cell.run(LINGERS_US / 1e6)
    assert best_effort(cell) == []


def test_of_a_live_flow_with_a_grant_or_one_that_is_not_short_nothing_is_announced_for_best_effort() -> None:
    cell = Cell()
    short(cell)
    cell.run(15)
    assert cell.why_not() is None
    assert best_effort(cell) == []
    cell = Cell()
    cell.abilities[PHONES[0]] = CANNOT_MARK
    cell.run(15)
    assert best_effort(cell) == []


@pytest.mark.parametrize("edca", [replace(EDCA, can_set_stations=False), replace(EDCA, wmm=False)])
def test_an_access_point_that_cannot_announces_no_window(edca: EdcaState) -> None:
    cell = Cell(edca)
    cell.abilities[PHONES[0]] = CANNOT_MARK
    short(cell)
    cell.run(15)
    assert best_effort(cell) == []


def test_what_an_operator_announces_comes_first() -> None:
    cell = Cell()
    cell.scenario.do(Reconfigured(Parameters(edca=EdcaParameters(stations_cw_min=31))))
    cell.abilities[PHONES[0]] = CANNOT_MARK
    short(cell)
    cell.run(15)
    assert [queue.cw_min for queue in best_effort(cell)] == [31]
