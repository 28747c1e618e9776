# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.applications_study.design import CLAMP_SEGS, SEND_BUFFER_BYTES
from airbound_lab.errors import UsageError
from airbound_lab.figures.application_results import ApplicationResult, Transfer
from airbound_lab.photos_study import table
from airbound_lab.photos_study.design import Case, Design
from airbound_lab.settings.application import Photos

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.figures.results import Results, Run

TWO = Photos(count=2)


def test_by_default_photos_and_a_file_go_alone_and_beside_seven_that_send_files() -> None:
    cases = Design(seeds=(1,), modes=("airbound",)).cases()
    assert [(case.terminals, case.what) for case in cases] == [
        (terminals, what)
        for what in (
            "10 photos, one connection, no pause",
            "10 photos, one connection, 1 s pause",
            "10 photos, a connection each, no pause",
            "10 photos, a connection each, 1 s pause",
            "file",
        )
        for terminals in (1, 8)
    ]
    for case in cases:
        own, *others = case.parameters.scenario.actions
        assert (own.at_s, own.phone, own.class_name()) == (10, 1, "bulk" if case.what == "file" else "burst")
        assert [(each.phone, each.protocol) for each in others] == [(n, "tcp") for n in range(2, case.terminals + 1)]
        assert (case.parameters.phy, case.parameters.wired_delays_ms) == ("11n-20", (256.0,))


def test_cells_are_those_of_live_video_and_80_mhz() -> None:
    design = Design(cells=("2013", "11g", "11ac"), terminals=(1,), parts=("file",), modes=("cubic",), seeds=(1,))
    old, g, ac = (case.parameters for case in design.cases())
    assert (old.cwnd_clamp_segs, g.cwnd_clamp_segs, ac.phy, ac.ap) == (CLAMP_SEGS, None, "11ac-80", "openwrt")
    [action] = old.scenario.application_actions()
    assert action.application is not None
    assert action.application.send_buffer_bytes == SEND_BUFFER_BYTES


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cells": ("11z",)}, "--cells: '11z' is none of"),
        ({"parts": ("video",)}, "--parts: 'video' is none of photos, file"),
        ({"connections": ("two",)}, "--connections: 'two' is none of one, each"),
        ({"seeds": ()}, "--seeds: at least one"),
        ({"pauses_s": (1.0, 1.0)}, "--pauses: at least one, and each only once"),
    ],
)
def test_a_wrong_request_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(Design(), **changes).check()


def case_of(mode: str, *, part: str = "photos", seed: int = 1) -> Case:
    design = Design(
        terminals=(3,), parts=(part,), connections=("one",), pauses_s=(0.0,), modes=(mode,), seeds=(seed,), seconds=30
    )
    [case] = design.cases()
    [own, *others] = case.parameters.scenario.actions
    if part == "photos":
        scenario = replace(case.parameters.scenario, actions=(replace(own, application=TWO), *others))
        return replace(case, parameters=replace(case.parameters, scenario=scenario))
    return case


def run_of(make_results: Callable[..., Results], *transfers: Transfer, kind: Any = "photos") -> Run:
    run = make_results(modes=("cubic",), seeds=(1,), terminals=3, seconds=30).runs[0]
    phones = tuple(
        replace(phone, series=replace(phone.series, goodput_mbps=(0.0,) * 11 + (rate_mbps,) * 19))
        for phone, rate_mbps in zip(run.phones, (0.0, 4.0, 6.0), strict=True)
    )
    return replace(run, phones=phones, applications=(ApplicationResult(1, kind, 10.0, "done", transfers=transfers),))


def test_photos_are_done_with_the_last_byte_of_the_last_one(make_results: Callable[..., Results]) -> None:
    slow = run_of(make_results, Transfer(10.0, 12.0, 12.1), Transfer(14.1, 16.0, 16.1))
    fast = run_of(make_results, Transfer(10.0, 11.0, 11.1), Transfer(12.1, 13.0, 13.1))
    every = table.gather([(case_of("cubic"), slow), (case_of("airbound"), fast)])
    heading, first, second = table.photo_rows(every)
    assert first[4:] == ["6.00", "1.00", "3.90", "1.00", "8.3"]
    assert second[4:] == ["3.00", "0.50", "1.90", "0.49", "6.7"]
    assert heading[:4] == ["cell", "phones", "what", "mode"]
    assert table.file_rows(every)[1:] == []


def test_what_is_not_done_takes_longer_than_all_that_is(make_results: Callable[..., Results]) -> None:
    done = run_of(make_results, Transfer(10.0, 12.0, 12.1), Transfer(12.1, 16.0, 16.1))
    never = run_of(make_results, Transfer(10.0, 12.0, 12.1), Transfer(12.1, None, None))
    runs = [(case_of("cubic", seed=seed), run) for seed, run in ((1, done), (2, never), (3, done))]
    [found] = table.gather(runs)
    _, row = table.photo_rows([found])
    assert row[4:6] == ["6.00 [6.00, not done]", "1.00"]
    [found] = table.gather(runs[1:2])
    _, row = table.photo_rows([found])
    assert row[4:] == ["not done", "-", "not done", "-", "-"]


def test_a_files_rate_is_compared_with_an_equal_part(make_results: Callable[..., Results]) -> None:
    run = run_of(make_results, Transfer(10.0, 20.0, 20.1), kind="file")
    case = case_of("airbound", part="file")
    [action] = case.parameters.scenario.application_actions()
    small = replace(action.application, size_bytes=5_000_000)  # type: ignore[type-var]
    scenario = replace(case.parameters.scenario, actions=(replace(action, application=small),))
    case = replace(case, parameters=replace(case.parameters, scenario=scenario))
    every = table.gather([(case, run)])
    [found] = every[0].trials
    assert (found.mbps, found.others_mbps) == (4.0, 9.0)
    _, row = table.file_rows(every)
    assert row == ["11n", "3", "airbound", "10.00", "4.00", "4.33", "0.92", "9.00"]
    assert table.photo_rows(every)[1:] == []


def test_the_document_has_every_figure(make_results: Callable[..., Results]) -> None:
    done = run_of(make_results, Transfer(10.0, 12.0, 12.1), Transfer(12.1, 16.0, 16.1))
    document = json.loads(json.dumps(table.document(table.gather([(case_of("cubic"), done)]))))
    [found] = document["found"]
    assert (found["cell"], found["terminals"], found["mode"]) == ("11n", 3, "cubic")
    assert found["trials"][0]["done_s"] == 6.0
