# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab import scenario
from airbound_lab.errors import UsageError
from airbound_lab.scenario import Action, Scenario

if TYPE_CHECKING:
    from pathlib import Path

TRAFFIC = st.builds(
    Action,
    at_s=st.integers(0, 40_000).map(lambda ms: ms / 1000),
    do=st.sampled_from(["start-traffic", "stop-traffic"]),
    phone=st.integers(0, 3),
)


@given(st.lists(TRAFFIC, max_size=12), st.integers(1, 30), st.integers(0, 9))
def test_flows_of_a_phone_lie_within_the_run_and_never_overlap(actions: list[Action], seconds: int, seed: int) -> None:
    flows = Scenario("x", tuple(actions)).flows(3, seconds, seed)
    for phone in (1, 2, 3):
        mine = [flow for flow in flows if flow.phone == phone]
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
    ("data", "says"),
    [
        ([], "name and a list"),
        ({"name": "x"}, "name and a list"),
        ({"name": "x", "actions": [3]}, "action 1 is not an object"),
        ({"name": "x", "actions": [{"at_s": 0}]}, "'do' is missing"),
        ({"name": "x", "actions": [{"at_s": 0, "do": "kill", "what": 1}]}, "unknown key 'what'"),
    ],
)
def test_a_malformed_file_is_refused_by_place(data: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Scenario.from_json(data)


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (Action(-1, "start-traffic"), "not a time"),
        (Action(float("nan"), "start-traffic"), "not a time"),
        (Action(0, "start-traffic", phone=4), "no phone 4"),
        (Action(0, "kill", component="phone4"), "no component 'phone4'"),
        (Action(0, "dance"), "cannot do 'dance'"),  # type: ignore[arg-type]
        (Action(0, "start-traffic", protocol="sctp"), "neither tcp nor udp"),  # type: ignore[arg-type]
        (Action(0, "start-traffic", rate_mbps=1), "is for udp"),
        (Action(0, "start-traffic", protocol="udp", payload_bytes=1473), "payload_bytes"),
        (Action(0, "start-traffic", on_s=1), "belong together"),
    ],
)
def test_an_action_that_cannot_be_done_is_refused(action: Action, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Scenario("x", (Action(0, "start-traffic"), action)).check(terminals=3)


def test_a_scenario_in_which_nobody_sends_is_refused() -> None:
    with pytest.raises(UsageError, match="nobody"):
        Scenario("x", (Action(0, "kill", component="ap"),)).check(terminals=1)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(UsageError, match="uplink, saturation"):
        scenario.load("downlink")
