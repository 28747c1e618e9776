# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.errors import UsageError
from airbound_lab.figures.application_results import ApplicationResult, Transactions
from airbound_lab.http_study import plot, table
from airbound_lab.http_study.design import Case, Design
from airbound_lab.settings.application import Http

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.figures.results import Results, Run


def test_one_phone_fetches_in_every_way_while_the_others_upload() -> None:
    cases = Design(seeds=(1,)).cases()
    assert len(cases) == 2 * 4 * 3
    case = cases[-1]
    *fetches, first, second = case.parameters.scenario.actions[:6]
    assert [(each.phone, each.at_s, each.application) for each in fetches] == [
        (1, 10, Http(clients=1, connections="each", length_s=20)),
        (1, 30, Http(clients=1, connections="one", length_s=20)),
        (1, 50, Http(clients=8, connections="each", length_s=20)),
        (1, 70, Http(clients=8, connections="one", length_s=20)),
    ]
    assert [(each.phone, each.do) for each in (first, second)] == [(2, "start-traffic"), (3, "start-traffic")]
    assert (case.parameters.terminals, case.parameters.seconds) == (10, 90)
    assert str(case) == "11g, 256 ms, 9 uploads: airbound, seed 1"


def test_alone_nobody_uploads() -> None:
    case = Design(uploads=(0,)).cases()[0]
    assert {action.do for action in case.parameters.scenario.actions} == {"start-application"}
    assert case.parameters.terminals == 1


def test_fq_codel_is_at_the_phones_and_at_the_access_point() -> None:
    cases = Design(delays_ms=(4.0,), uploads=(9,), seeds=(1,)).cases()
    queues = [(case.parameters.modes, case.parameters.qdisc, case.parameters.ap_qdisc) for case in cases]
    assert queues == [
        (("cubic",), None, "pfifo"), (("cubic",), "fq_codel", "fq_codel"), (("airbound",), None, "pfifo")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Design(cells=("11z",)), "--cells: '11z' is none of"),
        (Design(transactions=("new-9",)), "--transactions: 'new-9' is none of"),
        (Design(uploads=()), "--uploads: at least one"),
        (Design(delays_ms=(4.0, 4.0)), "--delays: at least one, and each only once"),
        (Design(cells=("11g", "11ac-80")), r"--cells: of Linux 6\.1 and 6\.12; a command boots one kernel"),
        (Design(each_s=0), "--each-s: 0 is below 1"),
    ],
)
def test_a_wrong_request_is_refused(design: Design, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        design.check()


def made(make_results: Callable[..., Results], mode: str, seed: int, found: Transactions) -> tuple[Case, Run]:
    """A run of ten phones in which phone 1 fetches from 10 to 30 s."""
    asked = Design(delays_ms=(4.0,), uploads=(9,), transactions=("new-1",), modes=(mode,), seeds=(seed,))
    [case] = asked.cases()
    run = make_results(modes=("cubic",), seconds=30, warmup_seconds=10, terminals=10).runs[0]
    return case, replace(run, seed=seed, applications=(ApplicationResult(1, "http", 10.0, "done", transactions=found),))


def shown(rows: list[list[str]]) -> list[dict[str, str]]:
    heading, *rest = rows
    return [dict(zip(heading, row, strict=True)) for row in rest]


def test_rates_are_compared_with_the_first_modes(make_results: Callable[..., Results]) -> None:
    runs = [
        made(make_results, "cubic", 1, Transactions((7000.0, 9000.0), (4000.0,))),
        made(make_results, "cubic", 2, Transactions((5000.0,), (15_000.0,))),
        made(make_results, "airbound", 1, Transactions((20.0,) * 900, (11.0,))),
        made(make_results, "airbound", 2, Transactions((30.0,) * 600, (1.0,))),
    ]
    cubic, airbound = shown(table.rows(table.gather(runs)))
    assert cubic["a second"] == "0.075 (0.050 to 0.100)"
    assert airbound["a second"] == "37.5 (30.0 to 45.0)"
    assert (cubic["of the first"], airbound["of the first"]) == ("1.00", "500.00")
    assert (cubic["ended"], airbound["ended"]) == ("3", "1500")
    assert (cubic["median ms"], cubic["p99 ms"]) == ("7000.0", "9000.0")
    assert (airbound["median ms"], airbound["p99 ms"]) == ("20.0", "30.0")
    # One that had not ended has lasted longer than all that had.
    assert (cubic["longest ms"], airbound["longest ms"]) == ("15000.0", "30.0")


def test_modes_stand_below_each_other(make_results: Callable[..., Results]) -> None:
    def twice(mode: str) -> tuple[Case, Run]:
        case, run = made(make_results, mode, 1, Transactions((1.0,), (1.0,)))
        [action, *uploads] = case.parameters.scenario.actions
        actions = (action, replace(action, at_s=20), *uploads)
        parameters = replace(case.parameters, scenario=replace(case.parameters.scenario, actions=actions))
        case = replace(case, transactions=("new-1", "kept-1"), parameters=parameters)
        return case, replace(run, applications=(run.applications or ()) * 2)

    found = table.gather(map(twice, ("cubic", "airbound")))
    assert [(one.condition.transactions, one.mode) for one in found] == [
        ("new-1", "cubic"), ("new-1", "airbound"), ("kept-1", "cubic"), ("kept-1", "airbound")
    ]  # fmt: skip


def test_uploads_are_counted_while_the_phone_fetches(make_results: Callable[..., Results]) -> None:
    case, run = made(make_results, "cubic", 1, Transactions((1.0,), (1.0,)))
    [row] = shown(table.rows(table.gather([(case, run)])))
    total = sum(statistics.fmean(phone.series.goodput_mbps[10:30]) for phone in run.phones[1:])
    assert row["uploads Mb/s"] == f"{total:.1f}"
    assert row["their RTT ms"] != "-"


def test_where_nothing_ended_there_is_no_ratio_and_no_median(make_results: Callable[..., Results]) -> None:
    runs = [
        made(make_results, "cubic", 1, Transactions((), (20_000.0,))),
        made(make_results, "airbound", 1, Transactions((20.0,), (11.0,))),
    ]
    cubic, airbound = shown(table.rows(table.gather(runs)))
    assert (cubic["a second"], cubic["median ms"], cubic["longest ms"]) == ("0.000", "-", "20000.0")
    assert airbound["of the first"] == "-"


@pytest.mark.parametrize(("part", "expected"), [(0.5, 2.0), (0.51, 3.0), (0.99, 4.0), (0.01, 1.0)])
def test_a_quantile_is_one_of_the_values(part: float, expected: float) -> None:
    assert table.quantile([1.0, 2.0, 3.0, 4.0], part) == expected


def test_a_picture_has_a_panel_for_each_way_and_a_line_for_each_mode(make_results: Callable[..., Results]) -> None:
    runs = [
        made(make_results, "cubic", 1, Transactions((), (20_000.0,))),
        made(make_results, "airbound", 1, Transactions((20.0,) * 100, (11.0,))),
    ]
    [(name, figure)] = plot.all_of(table.gather(runs)).items()
    assert name == "http-11g-4ms"
    [axes] = figure.axes
    assert axes.get_title(loc="left") == "new-1"
    # A rate of 0 has no place on a logarithmic axis.
    assert [(line.get_label(), list(line.get_ydata())) for line in axes.lines] == [("cubic", []), ("airbound", [5.0])]


def test_the_document_has_every_figure(make_results: Callable[..., Results]) -> None:
    run = made(make_results, "cubic", 3, Transactions((7.0, 9.0), (4.0,)))
    [found] = json.loads(json.dumps(table.document(table.gather([run])), allow_nan=False))["found"]
    expected: dict[str, Any] = {"cell": "11g", "uploads": 9, "transactions": "new-1", "mode": "cubic", "seeds": [3]}
    assert {key: found[key] for key in expected} == expected
    assert (found["per_s"], found["ended"], found["median_ms"], found["p99_ms"]) == ([0.1], [2], 7.0, 9.0)
