# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab import cli
from airbound_lab.errors import UsageError
from airbound_lab.figures import results
from airbound_lab.records import trace
from airbound_lab.two_phone_study import design as two_phone_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import EachPhone, TraceLines

    from airbound_lab.figures.results import PhoneResult, Results, Run

REDUCTION = ("fast_retransmit", {"cwnd_segs": 7})


@pytest.fixture
def two(
    make_results: Callable[..., Results], trace_lines: TraceLines, each_phone: Callable[[Run, EachPhone], Run]
) -> Callable[..., Results]:
    """Two phones whose windows are reduced at these seconds, and which get these Mb/s."""

    def make(
        reductions: tuple[list[float], list[float]], rates: tuple[float, float] = (3, 3), **changes: Any
    ) -> Results:
        def phone_of(index: int, phone: PhoneResult) -> PhoneResult:
            reduced = ((t_s, *REDUCTION) for t_s in reductions[index])
            lines = trace_lines((0.5, "window", {"cwnd_segs": 10}), *reduced)
            return replace(phone, trace=trace.parse(lines, 5_000_000, 6), goodput_mbps=rates[index])

        found = make_results(terminals=2, **changes)
        return replace(found, runs=tuple(each_phone(run, phone_of) for run in found.runs))

    return make


@pytest.mark.parametrize(
    ("reductions", "rates", "label"),
    [
        (([], []), (3.0, 2.8), "both steady, equal"),
        (([], []), (3.0, 2.6), "both steady, unequal"),
        (([3.0], []), (3.0, 3.0), "one steady"),
        (([3.0], [3.0, 4.0]), (3.0, 3.0), "none steady"),
        (([1.0, 2.0], [6.000001]), (3.0, 3.0), "both steady, equal"),
    ],
    ids=["equal", "unequal", "one", "none", "outside of the measured time"],
)
def test_a_run_is_classified_by_its_reductions(
    two: Callable[..., Results], reductions: tuple[list[float], list[float]], rates: tuple[float, float], label: str
) -> None:
    found = two(reductions, rates, modes=("cubic",))
    assert two_phone_study.classify(found.runs[0], found.parameters)[0] == label


def test_the_variation_of_cwnd_is_by_time(two: Callable[..., Results]) -> None:
    found = two(([5.0], []), modes=("cubic",))
    steady = two_phone_study.classify(found.runs[0], found.parameters)[1]
    # 10 segments from the end of the warm-up at 2 s to 5 s, then 7 until 6 s.
    assert steady[0].cwnd_cv == pytest.approx(statistics.pstdev([10, 10, 10, 7]) / statistics.mean([10, 10, 10, 7]))
    assert steady[1].cwnd_cv == 0


@given(st.lists(st.tuples(st.floats(0.1, 1e3), st.integers(1, 5)), min_size=1, max_size=20))
def test_variation_agrees_with_the_standard_library(weighted: list[tuple[float, int]]) -> None:
    values = [value for value, times in weighted for _ in range(times)]
    expected = statistics.pstdev(values) / statistics.fmean(values)
    assert two_phone_study.variation([(value, float(times)) for value, times in weighted]) == pytest.approx(
        expected, abs=1e-9
    )


def test_nothing_has_no_variation() -> None:
    assert two_phone_study.variation([]) == 0
    assert two_phone_study.variation([(0.0, 1.0)]) == 0


@given(st.lists(st.floats(0, 10), min_size=1, unique=True), st.floats(0, 10), st.floats(0, 10))
def test_spans_cover_the_time_from_the_first_value_on(moments: list[float], one: float, other: float) -> None:
    from_s, to_s = sorted((one, other))
    track = trace.Track(tuple(sorted(moments)), tuple(range(len(moments))))
    covered = sum(seconds for _, seconds in two_phone_study.spans(track, from_s, to_s))
    assert covered == pytest.approx(max(0.0, to_s - max(from_s, min(moments))), abs=1e-9)


def test_an_untraced_run_and_one_with_missing_records_are_refused(
    make_results: Callable[..., Results],
    two: Callable[..., Results],
    each_phone: Callable[[Run, EachPhone], Run],
) -> None:
    untraced = make_results(terminals=2, modes=("cubic",))
    with pytest.raises(UsageError, match="needs traced runs"):
        two_phone_study.rows(untraced)
    found = two(([], []), modes=("cubic",))
    run = each_phone(found.runs[0], lambda _, phone: replace(phone, trace=trace.PhoneTrace(3, phone.trace.connections)))
    found = replace(found, runs=(run,))
    with pytest.raises(UsageError, match="3 records of a trace are missing"):
        two_phone_study.rows(found)


def test_the_examples_are_one_of_each_class_and_the_last_with_bounds(two: Callable[..., Results]) -> None:
    found = two(([], []), modes=("cubic", "bdp"), seeds=(1, 2, 3))
    reduced = two(([3.0], []), modes=("cubic", "bdp"), seeds=(1, 2, 3))
    found = replace(found, runs=(found.runs[0], *reduced.runs[1:3], *found.runs[3:]))
    assert [(run.mode, run.seed) for run in two_phone_study.examples(found)] == [("cubic", 1), ("cubic", 2), ("bdp", 2)]
    assert [row[1:5] for row in two_phone_study.summary(found)[1:]] == [["1", "0", "2", "0"], ["3", "0", "0", "0"]]


def test_the_command_draws_what_was_measured(
    two: Callable[..., Results], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results.save(two(([3.0], []), modes=("cubic", "bdp")), tmp_path / "two.json")
    arguments = ["study", "two-phones", "--results", str(tmp_path / "two.json"), "--directory", str(tmp_path)]
    assert cli.main(arguments) == 0
    assert "one steady" in capsys.readouterr().out
    first = (tmp_path / "two-phones.svg").read_text(encoding="utf-8")
    assert "cubic, seed 1:" in first
    assert "fast retransmit" in first
    assert cli.main(arguments) == 0
    assert (tmp_path / "two-phones.svg").read_text(encoding="utf-8") == first


def test_a_cell_of_other_than_two_phones_is_refused(
    make_results: Callable[..., Results], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results.save(make_results(terminals=3), tmp_path / "three.json")
    assert cli.main(["study", "two-phones", "--results", str(tmp_path / "three.json")]) == 2
    assert capsys.readouterr().err.endswith("three.json has 3 phones, not two\n")
