# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

from airbound_lab import tables
from airbound_lab.trace import PhoneTrace

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.results import Results


def test_a_figure_over_seeds_is_median_and_range() -> None:
    assert tables.cell([3.0], 2) == "3.00"
    assert tables.cell([3.0, 1.0, 2.5], 1) == "2.5 [1.0 .. 3.0]"
    assert tables.cell([3.0, 1.0, 2.5], 1, spread=False) == "2.5"
    assert tables.cell([None, None], 1) == "-"
    assert tables.cell([None, 2.0], 1) == "2.0"


def test_columns_line_up() -> None:
    lines = tables.text([["mode", "x"], ["bdp", "10.5"]]).splitlines()
    assert lines == ["mode     x", "bdp   10.5"]


def test_a_row_per_mode_in_the_order_asked_for(make_results: Callable[..., Results]) -> None:
    rows = tables.rows(make_results(modes=("bdp", "cubic")))
    assert [row[0] for row in rows] == ["mode", "bdp", "cubic"]
    assert {len(row) for row in rows} == {7}


def test_findings_are_computed_from_the_results(make_results: Callable[..., Results]) -> None:
    results = make_results(modes=("cubic", "bdp"))
    results.runs[0].total_goodput_mbps, results.runs[0].rtt_mean_ms, results.runs[0].jain = 20.0, 1000.0, 0.9
    results.runs[1].total_goodput_mbps, results.runs[1].rtt_mean_ms, results.runs[1].jain = 15.0, 100.0, 0.99
    assert tables.findings(results) == [
        "bdp: total 15.0 Mb/s, 25 % below cubic's 20.0; mean RTT 100 ms, 10.0 times below 1000; Jain 0.990 (0.900)."
    ]
    results.runs[1].total_goodput_mbps, results.runs[1].rtt_mean_ms = 20.05, 1010.0
    assert (
        "total 20.1 Mb/s, as much as cubic's 20.0; mean RTT 1010 ms, about the same as 1000"
        in tables.findings(results)[0]
    )


def test_without_a_mode_to_compare_with_nothing_is_claimed(make_results: Callable[..., Results]) -> None:
    assert tables.findings(make_results(modes=("bdp", "paper-jb"))) == []


def test_a_trace_with_missing_records_is_reported(make_results: Callable[..., Results]) -> None:
    results = make_results(modes=("cubic", "bdp"), terminals=2)
    results.runs[0].phones[1].trace = PhoneTrace()
    results.runs[1].phones[1].trace = PhoneTrace(lost=12)
    [sentence] = tables.missing_records(results)
    assert sentence.startswith(f"bdp, seed {results.runs[1].seed}, phone 2: 12 records of its history are lost")
