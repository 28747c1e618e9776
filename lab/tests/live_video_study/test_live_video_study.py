# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from airbound_lab.applications_study.design import CLAMP_SEGS, SEND_BUFFER_BYTES
from airbound_lab.errors import UsageError
from airbound_lab.figures.application_results import ApplicationResult, Connections, Interruption
from airbound_lab.figures.application_results import Video as VideoResult
from airbound_lab.figures.grants import Grants, Refusal
from airbound_lab.live_video_study import measures, table
from airbound_lab.live_video_study.design import CELLS, MODES, Case, Design

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.figures.results import Results, Run

SENT = Connections((0.1, 1.1), (0, 100_000), (10, 20), (4.0,) * 2, (0,) * 2, (1,) * 2)
WHOLE = ApplicationResult(1, "live", 0.0, "done", SENT, (), VideoResult((0.0, 0.04), (0.5, 0.6), 2.5, ()))
BROKEN = replace(WHOLE, video=VideoResult((0.0, 0.04), (0.5, 0.6), 2.5, (Interruption(5.0, 3.0, 2.5, "skipped"),)))


def test_by_default_one_video_is_beside_seven_that_saturate_in_every_cell() -> None:
    cases = Design().cases()
    assert len(cases) == len(CELLS) * len(MODES) * 3
    for case in cases:
        live, *others = case.parameters.scenario.actions
        assert (live.do, live.phone, live.class_name()) == ("start-application", 1, "live")
        assert [(each.phone, each.protocol, each.class_name(), each.marked) for each in others] == [
            (phone, "udp", "", False) for phone in range(2, 9)
        ]
        assert case.parameters.has_wmm
        assert case.parameters.seconds == 93


def test_only_phones_of_2013_have_a_small_window_and_buffer() -> None:
    for case in Design(seeds=(1,)).cases():
        clamp = CLAMP_SEGS if case.cell == "2013" else None
        assert case.parameters.cwnd_clamp_segs == clamp
        [live] = case.parameters.scenario.live()
        assert live.send_buffer_bytes == (SEND_BUFFER_BYTES if clamp else None)


def test_a_modes_settings_are_the_runs() -> None:
    cases = Design(seeds=(1,), cells=("11n",), agents=1).cases()
    assert [(case.mode, case.parameters.modes, case.parameters.classes, case.parameters.agents) for case in cases] == [
        ("cubic", ("cubic",), True, None),
        ("bbr", ("bbr",), True, None),
        ("cubic@live-marks", ("cubic",), True, None),
        ("cubic@live-marks@phones-cake-diffserv4", ("cubic",), True, None),
        ("airbound@no-classes", ("airbound",), False, 1),
        ("airbound", ("airbound",), True, 1),
    ]


def test_those_that_claim_and_those_that_mark_come_first_of_the_others() -> None:
    design = Design(cells=("11g",), terminals=(5,), videos=(2,), claim=1, mark=1, modes=("airbound",), seeds=(1,))
    [case] = design.cases()
    assert case.others == "udp, 1 claim, 1 mark"
    actions = case.parameters.scenario.actions
    assert [(each.phone, each.class_name(), each.protocol, each.marked) for each in actions] == [
        (1, "live", "tcp", False),
        (2, "live", "tcp", False),
        (3, "live", "tcp", False),  # of UDP an agent reports nothing
        (4, "", "udp", True),
        (5, "", "udp", False),
    ]
    assert actions[2].do == "start-traffic"


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Design(cells=("11z",)), "--cells: '11z' is none of"),
        (Design(protocols=("sctp",)), "--others: 'sctp' is none of"),  # type: ignore[arg-type]
        (Design(seeds=()), "--seeds: at least one"),
        (Design(terminals=(8, 8)), "--terminals: at least one, and each only once"),
        (Design(videos=(0, 1)), "--videos: 0, of 8 phones"),
        (Design(videos=(9,)), "--videos: 9, of 8 phones"),
        (Design(videos=(1, 1)), "--videos: at least one, and each only once"),
        (Design(videos=(1, 5), claim=2, mark=2), "--claim, --mark: 2 and 2 of 3 other phones"),
    ],
)
def test_a_wrong_request_is_refused(design: Design, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        design.check()


def test_a_case_has_its_name() -> None:
    [case] = Design(cells=("11g",), modes=("cubic",), seeds=(7,)).cases()
    assert str(case) == "11g, 8 phones, 1 video, others udp: cubic, seed 7"


def test_every_number_of_phones_is_run_with_every_number_of_videos_that_it_has_room_for() -> None:
    cases = Design(cells=("11g",), terminals=(1, 3), videos=(1, 3), modes=("cubic",), seeds=(7,)).cases()
    assert [(case.terminals, case.videos, len(case.parameters.scenario.live())) for case in cases] == [
        (1, 1, 1),
        (3, 1, 1),
        (3, 3, 3),
    ]


def test_marks_and_queues_of_the_phones_are_settings_of_a_mode() -> None:
    cases = Design(cells=("2013",), modes=MODES[:4], seeds=(1,)).cases()
    assert [(case.parameters.live_marks, case.parameters.qdisc) for case in cases] == [
        (False, None),
        (False, None),
        (True, None),
        (True, "cake-diffserv4"),
    ]


def runs(make_results: Callable[..., Results]) -> list[tuple[Case, Run]]:
    [case] = Design(cells=("11g",), modes=("cubic",), seeds=(7,)).cases()
    run = make_results(modes=("cubic",), seeds=(7,)).runs[0]
    whole, broken = (replace(run, applications=(each,)) for each in (WHOLE, BROKEN))
    return [(case, whole), (case, broken)]


def test_the_table_has_what_videos_lost_and_what_others_had(make_results: Callable[..., Results]) -> None:
    made = runs(make_results)
    [found] = measures.gather(made)
    others_mbps = sum(phone.goodput_mbps for phone in made[0][1].phones[1:])
    heading, row = table.rows([found])
    shown = dict(zip(heading, row, strict=True))
    assert (shown["cell"], shown["phones"], shown["others"], shown["mode"]) == ("11g", "8", "udp", "cubic")
    assert (shown["shown whole"], shown["never shown"], shown["interruptions"]) == ("1 of 2", "0", "1")
    assert (shown["still s"], shown["missing s"], shown["video Mb/s"]) == ("1.5", "1.2", "0.80")
    assert shown["others Mb/s"] == f"{others_mbps:.1f}"
    assert shown["total"] == f"{others_mbps + 0.8:.1f}"
    assert (shown["videos"], shown["of the first"]) == ("1", "1.00")
    assert [trial.interruptions for trial in found.trials] == [0, 1]


def test_what_others_lose_is_their_air_time_over_that_of_the_live_phones(make_results: Callable[..., Results]) -> None:
    cases = Design(cells=("11g",), terminals=(3,), modes=("cubic", "airbound"), seeds=(7,)).cases()
    run = make_results(modes=("cubic",), seeds=(7,), terminals=3, seconds=10).runs[0]
    counted = ((0.5, 3.0, 2.0), (1.0, 2.5, 2.0))
    made = [
        (
            case,
            replace(
                run,
                applications=(WHOLE,),
                phones=tuple(replace(p, air_s=s) for p, s in zip(run.phones, air, strict=True)),
            ),
        )
        for case, air in zip(cases, counted, strict=True)
    ]
    heading, first, second = table.rows(measures.gather(made))
    before, after = (dict(zip(heading, row, strict=True)) for row in (first, second))
    assert (before["live air"], before["others lose"]) == ("5.0%", "-")
    assert (after["live air"], after["others lose"]) == ("10.0%", "0.50 of that")
    uncounted = [(case, replace(each, phones=run.phones)) for case, each in made]
    _, _, row = table.rows(measures.gather(uncounted))
    assert dict(zip(heading, row, strict=True))["others lose"] == "-"


def test_the_table_has_how_many_were_refused(make_results: Callable[..., Results]) -> None:
    [case] = Design(cells=("11g",), videos=(2,), modes=("airbound",), seeds=(7,)).cases()
    run = make_results(modes=("airbound",), seeds=(7,)).runs[0]
    grants = Grants((1,), (Refusal(2, "live flows would need 50.0 % of the air"),))
    [found] = measures.gather([(case, replace(run, applications=(WHOLE, BROKEN), grants=grants))])
    heading, row = table.rows([found])
    assert dict(zip(heading, row, strict=True))["refused"] == "1"
    assert found.trials[0].refused == ("live flows would need 50.0 % of the air",)


def test_a_video_that_never_began_was_not_shown_whole(make_results: Callable[..., Results]) -> None:
    (case, run), _ = runs(make_results)
    never = replace(WHOLE, video=VideoResult((), (), None, ()))
    heading, row = table.rows(measures.gather([(case, replace(run, applications=(never,)))]))
    shown = dict(zip(heading, row, strict=True))
    assert (shown["shown whole"], shown["never shown"]) == ("0 of 1", "1")


def test_the_document_has_every_figure(make_results: Callable[..., Results]) -> None:
    document = json.loads(json.dumps(table.document(measures.gather(runs(make_results)))))
    [found] = document["found"]
    assert (found["cell"], found["videos"], document["limits"]) == ("11g", 1, [])
    assert [len(trial["videos"]) for trial in found["trials"]] == [1, 1]
    assert found["trials"][1]["videos"][0]["skipped"] == 1
