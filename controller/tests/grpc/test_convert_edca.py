# SPDX-License-Identifier: Apache-2.0
"""What an access point's agent reports of EDCA parameters."""

from typing import Any

import pytest

from airbound.core.edca import Category, Edca
from airbound.core.reasons import Code, Reason
from airbound.core.reports import (
    COUNTER_MAX,
    EdcaState,
)
from airbound.grpc import convert
from airbound.v1 import access_point_pb2
from airbound_testing.messages import (
    BEST_EFFORT,
    cell_report,
    seen,
)


def edca_of(**fields: Any) -> tuple[EdcaState | None, list[Reason]]:
    report, refusals = convert.access_point_report(cell_report(edca=access_point_pb2.EdcaState(**fields)))
    assert report is not None
    return report.edca, refusals


def queue(**fields: Any) -> access_point_pb2.Edca:
    return access_point_pb2.Edca(**{"category": BEST_EFFORT, "aifsn": 2, "cw_min": 15, "cw_max": 1023, **fields})


def test_an_agent_that_knows_nothing_of_edca_reports_none() -> None:
    report, refusals = convert.access_point_report(cell_report())
    assert report is not None
    assert (report.edca, refusals) == (None, [])
    assert edca_of() == (EdcaState(), [])


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({}, None),
        ({"aifsn": 1}, None),
        ({"aifsn": 15}, None),
        ({"aifsn": 0}, Reason(Code.OUT_OF_RANGE, "aifsn", after=0, limit=1)),
        ({"aifsn": 16}, Reason(Code.OUT_OF_RANGE, "aifsn", after=16, limit=15)),
        ({"cw_min": 0, "cw_max": 0}, None),
        ({"cw_min": 1023}, None),
        ({"cw_min": 2}, Reason(Code.MALFORMED, "cw_min")),
        ({"cw_min": 2047, "cw_max": 2047}, Reason(Code.OUT_OF_RANGE, "cw_min", after=2047, limit=1023)),
        ({"cw_max": 1022}, Reason(Code.MALFORMED, "cw_max")),
        ({"cw_max": 1024}, Reason(Code.OUT_OF_RANGE, "cw_max", after=1024, limit=1023)),
        ({"cw_max": 7}, Reason(Code.OUT_OF_RANGE, "cw_max", after=7, limit=15)),
        ({"txop_limit": 65_535}, None),
        ({"txop_limit": 65_536}, Reason(Code.OUT_OF_RANGE, "txop_limit", after=65_536, limit=65_535)),
        ({"category": 0}, Reason(Code.OUT_OF_RANGE, "category", after=0, limit=4)),
        ({"category": 5}, Reason(Code.OUT_OF_RANGE, "category", after=5, limit=4)),
        ({"category": -1}, Reason(Code.OUT_OF_RANGE, "category", after=-1, limit=4)),
    ],
)
@pytest.mark.parametrize("field", ["own", "stations"])
def test_a_queue_at_each_limit_and_beyond(field: str, fields: dict[str, int], refused: Reason | None) -> None:
    voice = queue(category=access_point_pb2.ACCESS_CATEGORY_VOICE)
    state, refusals = edca_of(**{field: [voice, queue(**fields)], "can_set": True})
    assert state is not None
    assert state.can_set
    queues = getattr(state, field)
    assert queues[0] == Edca(Category.VOICE, 2, 15, 1023, 0)
    if refused is None:
        assert refusals == []
        assert [queues[1].aifsn, queues[1].cw_min] == [fields.get("aifsn", 2), fields.get("cw_min", 15)]
    else:
        assert len(queues) == 1
        assert refusals == [refused._replace(subject=f"edca.{field}[1].{refused.subject}")]


def test_of_a_category_that_is_listed_twice_the_first_counts() -> None:
    state, refusals = edca_of(own=[queue(), queue(aifsn=7)])
    assert state is not None
    assert [entry.aifsn for entry in state.own] == [2]
    assert seen(refusals) == [(Code.DUPLICATE_ENTRY, "edca.own[1].category")]


@pytest.mark.parametrize("count", [5, 1000])
def test_an_endless_list_of_queues_is_cut(count: int) -> None:
    state, refusals = edca_of(stations=[queue(category=category % 4 + 1) for category in range(count)])
    assert state is not None
    assert len(state.stations) == 4
    assert refusals == [Reason(Code.TOO_MANY_ENTRIES, "edca.stations", after=count, limit=4)]


@pytest.mark.parametrize(
    ("refusal", "right"), [("x" * 200, True), ("x" * 201, False), ("no\nline", False), ("\x1b[2J", False)]
)
def test_the_words_of_an_access_point(refusal: str, right: bool) -> None:  # noqa: FBT001
    state, refusals = edca_of(refusal=refusal, own=[queue()])
    assert state is not None
    assert (state.refusal, len(state.own)) == (refusal if right else "", 1)
    assert seen(refusals) == ([] if right else [(Code.MALFORMED, "edca.refusal")])
    state, refusals = edca_of(stations_refusal=refusal, can_set_stations=True)
    assert state is not None
    assert (state.stations_refusal, state.can_set_stations) == (refusal if right else "", True)
    assert seen(refusals) == ([] if right else [(Code.MALFORMED, "edca.stations_refusal")])


def test_a_generation_that_none_can_follow_is_refused_with_all_of_it() -> None:
    state, refusals = edca_of(generation=COUNTER_MAX)
    assert (state, refusals) == (EdcaState(generation=COUNTER_MAX), [])
    state, refusals = edca_of(generation=COUNTER_MAX + 1)
    assert state is None
    assert refusals == [Reason(Code.OUT_OF_RANGE, "edca.generation", after=COUNTER_MAX + 1, limit=COUNTER_MAX)]


def test_the_same_parameters_are_converted_once_and_refused_each_time() -> None:
    first, _ = edca_of(own=[queue()], generation=3)
    assert edca_of(own=[queue()], generation=3)[0] is first
    assert edca_of(own=[queue()], generation=4)[0] != first
    for _ in range(2):
        assert len(edca_of(own=[queue(aifsn=0)])[1]) == 1
