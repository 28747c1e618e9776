# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from airbound_lab.applications_study import measures, published, statements, table
from airbound_lab.applications_study.design import Case, Design
from airbound_lab.applications_study.measures import Alone, Video
from airbound_lab.figures.application_results import (
    ApplicationResult,
    Connections,
    Interruption,
    Transfer,
)
from airbound_lab.figures.application_results import Video as VideoResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.figures.results import Results, Run

STEADY = Connections(
    (0.1, 0.2, 0.3, 0.4), (0, 100_000, 200_000, 300_000), (10, 60, 63, 63), (4.0,) * 4, (0,) * 4, (1,) * 4
)
FALLING = replace(STEADY, cwnd_segs=(63, 9, 40, 10))
VIDEO = VideoResult(
    (0.0, 0.04),
    (0.5, 0.6),
    2.5,
    (Interruption(5.0, 3.0, 2.5, "skipped"), Interruption(20.0, 1.0, 0.0, "continued")),
)
LIVE = ApplicationResult(1, "live", 0.0, "done", FALLING, (), VIDEO)
TRIAL = Video(7, 1, 1, (3.0,), (1.0,), 4.0, 2.5, 8.0, 63, settled=False)


@pytest.fixture
def run(make_results: Callable[..., Results]) -> Run:
    return replace(make_results(modes=("cubic",), seeds=(7,)).runs[0], applications=(LIVE,))


def test_a_trial_counts_each_kind(run: Run) -> None:
    found = measures.video(run)
    assert replace(found, mbps=0.0) == replace(TRIAL, mbps=0.0)
    assert found.mbps == pytest.approx(8.0)
    assert found.total == 2


def test_an_application_alone_is_done_with_its_last_answer(run: Run) -> None:
    transfers = (Transfer(1.0, 1.4, 1.5), Transfer(1.5, 1.9, 2.0))
    photos = ApplicationResult(1, "photos", 1.0, "done", STEADY, transfers)
    found = measures.alone(replace(run, applications=(photos,)))
    assert found.mbps == pytest.approx(8.0)
    assert replace(found, mbps=8.0) == Alone("done", 1.0, 8.0, 63, settled=True, falls=0)
    late = replace(photos, status="running", transfers=(Transfer(1.0, None, None),))
    assert measures.alone(replace(run, applications=(late,))).seconds is None
    assert measures.alone(replace(run, applications=(LIVE,))).seconds == 0.6
    assert measures.alone(replace(run, applications=(LIVE,))).falls == 2


def test_another_connection_begins_with_the_initial_window_even_if_nobody_saw_it() -> None:
    assert measures.falls(STEADY) == 0
    assert measures.falls(replace(STEADY, made=(1, 1, 2, 4))) == 2
    assert measures.falls(replace(FALLING, made=(1, 2, 2, 3))) == 2


def test_a_window_that_moves_in_the_second_half_has_not_settled() -> None:
    assert measures.settled(STEADY)
    assert not measures.settled(FALLING)
    assert not measures.settled(Connections())
    assert measures.mbps(Connections()) == 0.0


def test_the_papers_table_is_beside_the_trials() -> None:
    rows = table.trial_rows("drop", [TRIAL, replace(TRIAL, seed=8, skipped=3, skipped_s=(1.0, 1.0, 1.0))])
    assert rows[1] == ["7", "1", "1", "2", "3.0", "4.0", "2.5", "2", "4", "6"]
    assert rows[2][:5] == ["8", "3", "1", "4", "1.0 1.0 1.0"]
    assert rows[-1] == ["mean", "2.0", "1.0", "3.0", "1.5", "4.0", "2.5", "2.4", "3.3", "5.7; 3.9 s a skip"]
    assert {len(row) for row in rows} == {10}


def test_what_was_printed_is_consistent() -> None:
    assert [len(lengths) for lengths in published.SKIPPED_S][6] == published.SKIPPED[6]
    assert len(published.SKIPPED) == len(published.CONTINUED) == len(published.SKIPPED_S) == 10


def test_figures_are_gathered_by_cell_and_a_phone_alone_has_no_background(run: Run) -> None:
    cases = Design(cells=("paper", "11n"), terminals=(1, 3), seeds=(7,), senders=("drop",), video_s=5).cases()
    every = table.gather([(case, run) for case in cases])
    assert [found.cell for found in every] == ["paper", "11n"]
    assert {background: set(found) for background, found in every[0].throughput.items()} == {
        "tcp": {1, 3},
        "udp": {1, 3},
    }
    assert [row[0] for row in table.throughput_rows(every[0])[1:]] == ["beside tcp", "beside udp"]
    assert len(table.alone_rows(every[0])) == 5
    assert table.number_rows(every[0])[1][:2] == ["drop", "8"]
    written = json.loads(json.dumps(table.document(every), allow_nan=False))
    assert [cell["cell"] for cell in written["cells"]] == ["paper", "11n"]
    assert written["cells"][0]["video"][0]["trials"][0]["skipped"] == 1


def test_fig_8_is_flat_beside_tcp_and_falls_beside_udp_to_what_video_needs() -> None:
    tcp, udp = {1: 9.0, 3: 2.8, 5: 2.8, 8: 2.4}, {3: 2.0, 5: 0.9, 8: 0.5}
    assert [each.agrees for each in statements.of_throughput(tcp, udp)] == [True, True, True]
    assert [each.agrees for each in statements.of_throughput(tcp | {8: 0.8}, udp | {8: 1.0})] == [False, False, False]
    assert statements.of_throughput({}, {}) == []


def test_table_2_needs_most_trials_within_the_papers() -> None:
    many = replace(TRIAL, skipped=3, continued=3)
    assert [each.agrees for each in statements.of_video("drop", [many, many, TRIAL])] == [True, True]
    still = replace(TRIAL, settled=True)
    assert [each.agrees for each in statements.of_video("drop", [still, still, many])] == [False, False]
    assert statements.of_video("drop", []) == []


def test_windows_alone_are_the_papers_if_they_settle_or_fall_after_each_photo() -> None:
    one = Alone("done", 1.0, 8.0, 63, settled=True, falls=9)
    found = {"live": one, "file": replace(one, settled=False), "photos, one connection": replace(one, falls=2)}
    assert [each.agrees for each in statements.of_alone(found)] == [True, False, False]
    rows = statements.rows(statements.of_alone(found))
    assert rows[1] == ["Fig 4", "live: the window rises soon, then stays", "settles, at most 63", "yes"]


def test_pictures_are_of_what_was_run(run: Run) -> None:
    from airbound_lab.applications_study import plot  # noqa: PLC0415  (matplotlib is slow to import)

    case = next(case for case in Design(parts=("video",), seeds=(7,), senders=("drop",)).cases())
    alone: list[tuple[Case, Run]] = [(each, run) for each in Design(parts=("alone",)).cases()]
    runs = [(case, run), *alone]
    names = set(plot.all_of(table.gather(runs), runs))
    assert names == {"applications-video-paper", "applications-windows-paper"}
