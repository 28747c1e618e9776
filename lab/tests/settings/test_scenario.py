# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.errors import UsageError
from airbound_lab.settings import scenario
from airbound_lab.settings.application import File, Live, Photos
from airbound_lab.settings.scenario import Action, Scenario
from airbound_lab.settings.validation import usage_errors

if TYPE_CHECKING:
    from pathlib import Path

TRAFFIC = st.builds(
    Action,
    at_s=st.integers(0, 40_000).map(lambda ms: ms / 1000),
    do=st.sampled_from(["start-traffic", "stop-traffic"]),
    phone=st.integers(0, 3),
    direction=st.sampled_from(["up", "down"]),
)


def walk(phone: int, *, at_s: float = 0, access_point: int = 0) -> Action:
    """From 2 m to 42 m within 10 s."""
    return Action(at_s, "walk", phone=phone, access_point=access_point, from_m=2.0, to_m=42.0, over_s=10.0)


@given(st.lists(TRAFFIC, max_size=12), st.integers(1, 30), st.integers(0, 9))
def test_flows_of_a_phone_lie_within_the_run_and_never_overlap(actions: list[Action], seconds: int, seed: int) -> None:
    flows = Scenario("x", tuple(actions)).flows(3, seconds, seed)
    for phone, direction in itertools.product((1, 2, 3), ("up", "down")):
        mine = [flow for flow in flows if (flow.phone, flow.direction) == (phone, direction)]
        ends = [0, *(moment for flow in mine for moment in (flow.start_ms, flow.stop_ms))]
        assert ends == sorted(ends)
        assert all(flow.start_ms < flow.stop_ms <= seconds * 1000 for flow in mine)


def test_a_common_start_is_spread_by_the_seed_and_by_nothing_else() -> None:
    uplink = scenario.built_in("uplink")
    starts = [[flow.start_ms for flow in uplink.flows(10, 30, seed)] for seed in (1, 1, 2)]
    assert starts[0] == starts[1] != starts[2]
    assert len(set(starts[0])) > 5
    assert all(0 <= start <= 500 for start in starts[0])


def test_a_single_phone_starts_and_stops_at_its_moment() -> None:
    actions = (
        Action(2, "start-traffic", phone=2),
        Action(5.5, "stop-traffic", phone=2),
        Action(7, "start-traffic", phone=2),
    )
    flows = Scenario("x", actions).flows(2, 9, seed=1)
    assert [(flow.phone, flow.start_ms, flow.stop_ms) for flow in flows] == [(2, 2000, 5500), (2, 7000, 9000)]


def test_files_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    written = Scenario(
        "kill",
        (Action(0, "start-traffic"), Action(9, "kill", component="controller"), Action(3, "stop-traffic", phone=1)),
    )
    (tmp_path / "kill.json").write_text(json.dumps(written.to_json()), encoding="utf-8")
    assert scenario.load(str(tmp_path / "kill.json")) == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "input should be an object"),
        ('{"name": "x"}', "'actions' is missing"),
        ('{"name": "x", "actions": {}}', "actions: input should be a valid"),
        ('{"name": "x", "actions": [3]}', "actions[0]: 3: input should be an object"),
        ('{"name": "x", "actions": [{"at_s": 0}]}', "actions[0]: 'do' is missing"),
        ('{"name": "x", "actions": [{"at_s": 0, "do": "kill", "what": 1}]}', "actions[0]: unknown key 'what'"),
        ('{"name": "x", "actions": [{"at_s": NaN, "do": "kill"}]}', "actions[0].at_s: nan: input should be a finite"),
        ('{"name": "x", "actions": [{"at_s": 0, "do": "dance"}]}', "actions[0].do: 'dance': input should be"),
    ],
)
def test_a_malformed_file_is_refused_with_file_key_and_value(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        scenario.load(str(path))
    assert str(raised.value).startswith(f"scenario: {path}: {message}")


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UsageError, match=r"cannot read /nowhere\.json: No such file"):
        scenario.load("/nowhere.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"at_s": -1}, "at_s: -1: "),
        ({"at_s": float("nan")}, "at_s: nan: "),
        ({"do": "dance"}, "do: 'dance': "),
        ({"phone": -1}, "phone: -1: "),
        ({"protocol": "sctp"}, "protocol: 'sctp': "),
        ({"rate_mbps": 1001.0}, "rate_mbps: 1001.0: "),
        ({"protocol": "udp", "rate_mbps": 0.0}, "rate_mbps: 0.0: "),
        ({"protocol": "udp", "payload_bytes": 1473}, "payload_bytes: 1473: "),
        ({"on_s": 1.0}, "on_s and off_s belong together"),
        ({"on_s": 0.0, "off_s": 1.0}, "on_s: 0.0: "),
        ({"deaf_ms": -1}, "deaf_ms: -1: "),
        ({"deaf_ms": 60_001}, "deaf_ms: 60001: "),
        ({"do": "walk", "from_m": 0, "to_m": 1.0, "over_s": 1.0}, "from_m: 0: "),
        ({"do": "walk", "from_m": 1.0, "to_m": 1001, "over_s": 1.0}, "to_m: 1001: "),
        ({"do": "walk", "from_m": 1.0, "to_m": 2.0, "over_s": 0}, "over_s: 0: "),
        ({"do": "walk", "from_m": 1.0, "to_m": 2.0}, "from_m, to_m and over_s belong together, and to a walk"),
        ({"do": "walk"}, "from_m, to_m and over_s belong together, and to a walk"),
        ({"from_m": 1.0, "to_m": 2.0, "over_s": 1.0}, "from_m, to_m and over_s belong together, and to a walk"),
        ({"direction": "left"}, "direction: 'left': "),
        ({"direction": "down", "protocol": "udp"}, "udp that goes down needs rate_mbps"),
        ({"direction": "down", "protocol": "quic"}, "quic is of what a phone sends up"),
        ({"protocol": "quic", "rate_mbps": 1.0}, "quic is of what a phone sends up, without a rate"),
        ({"protocol": "quic", "on_s": 1.0, "off_s": 1.0}, "quic is of what a phone sends up, without a rate, pauses"),
        ({"protocol": "quic", "phone": 1, "marked": True}, "quic is of what a phone sends up"),
    ],
)
def test_an_action_with_a_wrong_field_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised, usage_errors():
        Action(**({"at_s": 0, "do": "start-traffic"} | changes))
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (Action(0, "start-traffic", phone=4), "there is no phone 4 of 3"),
        (Action(0, "kill", component="phone4"), "there is no component 'phone4'"),
        (Action(0, "pause"), "there is no component ''"),
        (Action(0, "reload-hostapd", component="ap"), "reload-hostapd: has no component"),
        (Action(0, "revoke"), "there is no component ''"),
        (Action(0, "revoke", component="controller"), "revoke: a controller's certificate"),
        (Action(0, "revoke", component="switch"), "revoke: switch has no certificate"),
        (Action(0, "kill", component="ap3"), "there is no component 'ap3'"),
        (Action(0, "roam", access_point=1), "roam: there is no phone 0 of 3"),
        (Action(0, "roam", phone=4, access_point=1), "roam: there is no phone 4 of 3"),
        (Action(0, "roam", phone=1), "roam: there is no access point 0 of 2"),
        (Action(0, "roam", phone=1, access_point=3), "roam: there is no access point 3 of 2"),
        (walk(0), "walk: there is no phone 0 of 3"),
        (walk(4), "walk: there is no phone 4 of 3"),
        (walk(1, access_point=3), "walk: there is no access point 3 of 2"),
    ],
)
def test_an_action_of_a_phone_that_is_not_there_is_refused(action: Action, message: str) -> None:
    with pytest.raises(ValueError, match=rf"scenario x: actions\[1\]: .*{message}"):
        Scenario("x", (Action(0, "start-traffic"), action)).check(terminals=3, access_points=2)


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        (walk(1), walk(1, at_s=9.9), True),
        (walk(1, at_s=9.9), walk(1), True),
        (walk(1), walk(1, at_s=10), False),
        (walk(1), walk(2), False),
        (walk(1, access_point=1), walk(1, access_point=2), False),
        (walk(1, access_point=1), walk(1, access_point=1, at_s=5), True),
        (walk(1), walk(1, access_point=2, at_s=5), True),
    ],
)
def test_a_phone_is_at_one_distance_at_a_time(first: Action, second: Action, *, refused: bool) -> None:
    chosen = Scenario("x", (Action(0, "start-traffic"), first, second))
    if not refused:
        chosen.check(terminals=3, access_points=2)
        return
    with pytest.raises(ValueError, match=r"scenario x: phone 1 walks twice at (5|9\.9) s"):
        chosen.check(terminals=3, access_points=2)


def test_a_walk_is_at_constant_speed_and_then_over() -> None:
    assert [walk(1).distance_m(after_s) for after_s in (0, 2.5, 10, 11)] == [2.0, 12.0, 42.0, 42.0]
    with pytest.raises(ValueError, match="roam is not a walk"):
        Action(0, "roam", phone=1, access_point=1).distance_m(0)


def test_each_access_point_has_an_agent() -> None:
    actions = (Action(0, "start-traffic"), Action(1, "kill", component="ap"), Action(1, "kill", component="ap2"))
    Scenario("x", actions).check(terminals=1, access_points=2)
    with pytest.raises(ValueError, match="there is no component 'ap2'"):
        Scenario("x", actions).check(terminals=1)


def test_a_file_says_how_many_phones_have_an_agent(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    text = {"name": "x", "agents": 1, "actions": [{"at_s": 0.0, "do": "start-traffic"}]}
    path.write_text(json.dumps(text), encoding="utf-8")
    found = scenario.load(str(path))
    assert (found.agents, found.to_json()) == (1, text)
    found.check(terminals=1)
    with pytest.raises(ValueError, match="scenario x: agents: 4, but there are 3 phones"):
        replace(found, agents=4).check(terminals=3)


def test_a_scenario_in_which_no_phone_sends_is_refused() -> None:
    with pytest.raises(ValueError, match="no phone ever starts to send"):
        Scenario("x", (Action(0, "kill", component="ap"),)).check(terminals=1)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(UsageError, match=f"none of {', '.join(scenario.BUILT_IN)}, nor"):
        scenario.load("sideways")


def test_a_download_beside_an_upload_does_not_change_when_the_upload_starts() -> None:
    both = Scenario("x", (Action(0, "start-traffic"), Action(0, "start-traffic", direction="down")))
    flows = both.flows(5, 30, seed=3)
    alone = scenario.built_in("uplink").flows(5, 30, seed=3)
    assert [flow for flow in flows if flow.direction == "up"] == alone
    assert len({flow.start_ms for flow in flows}) == 10


def test_stopping_one_direction_leaves_the_other() -> None:
    actions = (
        Action(1, "start-traffic", phone=1),
        Action(2, "start-traffic", phone=1, direction="down"),
        Action(5, "stop-traffic", phone=1, direction="down"),
    )
    flows = Scenario("x", actions).flows(1, 9, seed=1)
    assert [(flow.direction, flow.start_ms, flow.stop_ms) for flow in flows] == [
        ("up", 1000, 9000),
        ("down", 2000, 5000),
    ]


def test_a_component_whose_first_action_is_start_is_late() -> None:
    actions = (
        Action(0, "start-traffic"),
        Action(9, "start", component="phones"),
        Action(2, "start", component="ap"),
        Action(3, "kill", component="controller"),
        Action(4, "start", component="controller"),
    )
    assert Scenario("x", actions).late_components(2) == {"ap": 2, "phone1": 9, "phone2": 9}
    assert [(action.at_s, action.component) for action in Scenario("x", actions).process_actions(2)] == [
        (2, "ap"),
        (3, "controller"),
        (4, "controller"),
        (9, "phone1"),
        (9, "phone2"),
    ]


def test_hostapd_is_not_a_component() -> None:
    actions = (
        Action(0, "start-traffic"),
        Action(7, "continue", component="ap"),
        Action(5, "reload-hostapd"),
        Action(3, "pause", component="ap"),
        Action(8, "restart-radio"),
        Action(9, "stop", component="phones"),
    )
    scenario_ = Scenario("x", actions)
    scenario_.check(terminals=2)
    assert scenario_.late_components(2) == {}
    assert [(action.do, action.component) for action in scenario_.process_actions(2)] == [
        ("pause", "ap"),
        ("reload-hostapd", ""),
        ("continue", "ap"),
        ("restart-radio", ""),
        ("stop", "phone1"),
        ("stop", "phone2"),
    ]


@pytest.mark.parametrize(("name", "terminals"), [(name, 8) for name in scenario.BUILT_IN])
def test_a_built_in_scenario_can_be_run_and_read_back(name: str, terminals: int, tmp_path: Path) -> None:
    built_in = scenario.built_in(name)
    built_in.check(terminals, access_points=2)
    assert scenario.is_built_in(built_in)
    assert not scenario.is_built_in(Scenario(name, (Action(1, "start-traffic"),)))
    (tmp_path / "x.json").write_text(json.dumps(built_in.to_json()), encoding="utf-8")
    assert scenario.load(str(tmp_path / "x.json")) == built_in


def flows_of(name: str, terminals: int) -> dict[tuple[int, str], list[tuple[str, float | None]]]:
    flows: dict[tuple[int, str], list[tuple[str, float | None]]] = {}
    for flow in scenario.built_in(name).flows(terminals, 30, seed=1):
        flows.setdefault((flow.phone, flow.direction), []).append((flow.action.protocol, flow.action.rate_mbps))
    return flows


def test_what_the_built_in_scenarios_are() -> None:
    assert flows_of("downlink", 2) == {(1, "down"): [("tcp", None)], (2, "down"): [("tcp", None)]}
    assert set(flows_of("both-ways", 5)) == {*((i, "up") for i in range(1, 6)), *((i, "down") for i in (1, 2, 3))}
    assert flows_of("udp-neighbours", 3) == {
        (1, "up"): [("tcp", None)],
        (2, "up"): [("udp", 2.0)],
        (3, "up"): [("udp", 2.0)],
    }
    come_and_go = {phone: len(flows) for (phone, _), flows in flows_of("joins-leaves", 8).items()}
    assert come_and_go == {1: 2, 2: 2, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1}
    starts = [
        (action.phone, action.at_s, action.on_s, action.off_s) for action in scenario.built_in("come-and-go").actions
    ]
    assert starts == [(1, 0.0, 3, 5), (2, 1.6, 3, 5), (3, 3.2, 3, 5), (4, 4.8, 3, 5), (5, 6.4, 3, 5)]
    with pytest.raises(ValueError, match="there is no phone 3 of 2"):
        scenario.built_in("both-ways").check(2)


@pytest.mark.parametrize(
    "application", [Live(sender="wait"), File(size_bytes=5), Photos(connections="each", pause_s=0.5)]
)
def test_an_application_is_written_and_read(application: Live | File | Photos, tmp_path: Path) -> None:
    written = Scenario("x", (Action(1, "start-application", phone=2, application=application),))
    (tmp_path / "x.json").write_text(json.dumps(written.to_json()), encoding="utf-8")
    assert scenario.load(str(tmp_path / "x.json")) == written
    written.check(2)
    with pytest.raises(ValueError, match=r"start-application: there is no phone 2 of 1"):
        written.check(1)
    assert written.live() == ([application] if isinstance(application, Live) else [])


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"do": "start-application", "phone": 1}, "application and start-application belong together"),
        ({"do": "start-traffic", "application": {"kind": "file"}}, "application and start-application belong together"),
        ({"do": "start-application", "phone": 1, "application": {"kind": "mail"}}, "application"),
        ({"do": "start-application", "phone": 1, "application": {"kind": "file", "count": 3}}, "unknown key 'count'"),
        ({"do": "start-application", "phone": 1, "application": {"kind": "live", "rate_kbps": 9}}, "rate_kbps: 9: "),
    ],
)
def test_another_application_is_refused(action: dict[str, Any], message: str, tmp_path: Path) -> None:
    text = json.dumps({"name": "x", "actions": [{"at_s": 0} | action]})
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        scenario.load(str(tmp_path / "x.json"))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"do": "start-traffic", "app_class": "live"}, "app_class is of what one phone sends up"),
        ({"do": "start-traffic", "phone": 1, "direction": "down", "app_class": "live"}, "app_class is of what one"),
        ({"do": "stop-traffic", "phone": 1, "app_class": "live"}, "app_class is of what one phone sends up"),
        ({"do": "start-traffic", "phone": 1, "app_class": "game"}, "app_class"),
        ({"do": "start-traffic", "phone": 1, "direction": "down", "marked": True}, "marked is of traffic"),
        ({"do": "stop-traffic", "marked": True}, "marked is of traffic that a phone sends up"),
    ],
)
def test_a_class_or_a_mark_of_something_else_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Action(at_s=0, **given)


def test_the_class_of_what_is_sent() -> None:
    photos = Action(0, "start-application", phone=1, application=Photos())
    assert photos.class_name() == "burst"
    assert replace(photos, app_class="live").class_name() == "live"
    assert replace(photos, app_class="none").class_name() == ""
    assert Action(0, "start-traffic", phone=1).class_name() == ""
    assert Action(0, "start-traffic", phone=1, app_class="bulk").class_name() == "bulk"


def test_an_application_is_of_one_phone() -> None:
    with pytest.raises(ValueError, match=r"start-application: there is no phone 0 of 2"):
        Scenario("x", (Action(1, "start-application", application=File()),)).check(2)
