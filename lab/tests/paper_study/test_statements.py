# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from airbound_lab.paper_study import statements
from airbound_lab.paper_study.design import GENERATIONS, Design, Point

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import EachPhone
    from paper_study.conftest import MakeStudy

    from airbound_lab.figures.results import PhoneResult, Run
    from airbound_lab.paper_study.statements import Statement

STUDY = Design(rate_controls=("aarf",), terminals=(1, 2, 7, 10), seconds=6, warmup_seconds=2)


def as_published(point: Point, _seed: int) -> float:
    """Totals with which each of the paper's statements is so."""
    left = {"gb": 0.04, "jb": 0.06}[point.generation]
    capacity = 20.0
    if point.control == "paper":
        return capacity if point.generation == "jb" or point.delay_ms > 4 or point.terminals < 7 else 4.0
    if point.generation == "gb" and point.delay_ms > 100 and point.terminals < 7:
        return 0.9 * capacity
    if point.terminals == 1:
        return 0.95 * capacity
    if point.generation == "gb" and point.delay_ms > 100:
        return capacity * (1.0 if point.terminals == 7 else 0.4)
    return capacity * 10 * left


def contrary(point: Point, _seed: int) -> float:
    """Totals with which none is so: they grow with the phones, and shrink with bounds."""
    return (10.0 + point.terminals) / (2 if point.control == "paper" else 1) - (point.generation == "jb")


@pytest.fixture(scope="module")
def over_time(each_phone: Callable[[Run, EachPhone], Run]) -> Callable[..., Callable[[Point, Run], Run]]:
    """Changes the series of runs to what the paper shows over time, or to its contrary."""

    def changed(*, agrees: bool) -> Callable[[Point, Run], Run]:
        def change(point: Point, run: Run) -> Run:
            clamp_segs = GENERATIONS[point.generation].cwnd_clamp_segs
            bounded = point.control != "cubic"
            cwnd_segs = 5 if bounded else (clamp_segs or 400)
            rates = tuple(float(second) for second in range(1, 7))
            rtts = tuple(point.delay_ms * (10 - second if agrees else 1 + second / 10) for second in range(1, 7))

            def phone_of(_: int, phone: PhoneResult) -> PhoneResult:
                series = replace(
                    phone.series, goodput_mbps=rates, srtt_ms=rtts,
                    cwnd_segs=(cwnd_segs if agrees else 30,) * 6,
                )  # fmt: skip
                return replace(phone, series=series)

            rtt_ms = point.delay_ms * (1.1 if bounded or not agrees else 10)
            return replace(each_phone(run, phone_of), rtt_mean_ms=rtt_ms)

        return change

    return changed


def verdicts(found: list[Statement]) -> dict[str, bool]:
    return {f"{statement.figure} {statement.stated}": statement.agrees for statement in found}


def test_each_statement_can_be_so(make_study: MakeStudy, over_time: Callable[..., Callable[[Point, Run], Run]]) -> None:
    found = statements.all_of(STUDY, "aarf", make_study(STUDY, as_published, over_time(agrees=True)))
    assert len(found) == len(statements.STATEMENTS)
    assert [name for name, agrees in verdicts(found).items() if not agrees] == []


def test_each_statement_can_be_wrong(
    make_study: MakeStudy, over_time: Callable[..., Callable[[Point, Run], Run]]
) -> None:
    found = statements.all_of(STUDY, "aarf", make_study(STUDY, contrary, over_time(agrees=False)))
    assert len(found) == len(statements.STATEMENTS)
    assert [name for name, agrees in verdicts(found).items() if agrees] == []


def test_what_was_not_run_is_left_out(make_study: MakeStudy) -> None:
    for changes in ({"controls": ("cubic",)}, {"generations": ("jb",)}, {"has_series": False}, {"terminals": (1, 2)}):
        some = replace(STUDY, **changes)
        found = statements.all_of(some, "aarf", make_study(some, as_published))
        assert 0 < len(found) < len(statements.STATEMENTS), changes
    assert statements.all_of(STUDY, "aarf", {}) == []


def test_the_measured_figures_are_named(make_study: MakeStudy) -> None:
    found = statements.all_of(STUDY, "aarf", make_study(STUDY, as_published))
    assert found[0].measured == "19.0 Mb/s with 1 phone, 8.0 with 10"
    assert statements.rows(found)[1:3] == [
        ["GB, 4 ms: with more phones the total falls considerably", "5", "yes"],
        [f"  {found[0].measured}", "", ""],
    ]
