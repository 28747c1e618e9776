# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import TYPE_CHECKING

from airbound_lab.paper_study import plot, table
from airbound_lab.paper_study.design import Design, Point
from airbound_lab.report.plot import svg

if TYPE_CHECKING:
    from paper_study.conftest import MakeStudy

STUDY = Design(
    rate_controls=("aarf",), delays_ms=(4.0,), terminals=(1, 10), seeds=(1, 2, 3), seconds=6, warmup_seconds=2
)


def total(point: Point, seed: int) -> float:
    return 10.0 * point.terminals + seed


def test_an_entry_is_the_median_of_the_seeds_with_their_range(make_study: MakeStudy) -> None:
    rows = table.rows(STUDY, "aarf", make_study(STUDY, total))
    assert rows[0] == ["phones", "cubic", "paper", "airbound"]
    assert rows[1] == ["GB (Android 2.3), 4 ms", "", "", ""]
    assert [row[0] for row in rows[2:4]] == ["  1", "  10"]
    assert rows[3][1].startswith("102.0 [101.0 .. 103.0] / 10.20 / ")
    assert table.rows(STUDY, "aarf", {})[2] == ["  1", "-", "-", "-"]


def test_the_document_has_every_point_with_its_range(make_study: MakeStudy) -> None:
    data = json.loads(json.dumps(table.document(STUDY, make_study(STUDY, total)), allow_nan=False))
    found = {
        (point["generation"], point["delay_ms"], point["terminals"], point["control"]): point
        for point in data["points"]
    }
    assert len(found) == len(data["points"]) == 2 * 2 * 3 + 5 + 4
    assert found["gb", 4.0, 10, "paper"]["total_mbps"] == {"median": 102.0, "min": 101.0, "max": 103.0}
    assert (found["gb", 4.0, 10, "paper"]["mode"], found["gb", 4.0, 10, "paper"]["cwnd_clamp_segs"]) == ("paper-gb", 63)
    assert found["jb", 16.0, 10, "cubic"]["runs"] == 3
    assert {statement["rate_control"] for statement in data["statements"]} == {"aarf"}


def test_every_figure_is_drawn_and_the_same_every_time(make_study: MakeStudy) -> None:
    found = make_study(STUDY, total)
    pictures = plot.all_of(STUDY, found)
    names = ("5-6", "7-10", "11-12", "15-16", "17-18", "19-20")
    assert set(pictures) == {f"paper-figures-{name}-aarf" for name in names}
    again = plot.all_of(STUDY, found)
    assert all(svg(pictures[name]) == svg(again[name]) for name in pictures)


def test_what_was_not_run_is_not_drawn(make_study: MakeStudy) -> None:
    some = Design(
        rate_controls=("aarf",), terminals=(1,), controls=("cubic",), has_series=False, seconds=6, warmup_seconds=2
    )
    assert set(plot.all_of(some, make_study(some, total))) == {"paper-figures-5-6-aarf"}
