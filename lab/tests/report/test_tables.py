# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.figures.results import DirectionTotal
from airbound_lab.records.trace import PhoneTrace
from airbound_lab.report import tables
from airbound_lab.settings.parameters import Parameters
from airbound_lab.settings.scenario import built_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import EachPhone

    from airbound_lab.figures.results import Results, Run


def test_a_figure_over_seeds_is_median_and_range() -> None:
    assert tables.cell([3.0], 2) == "3.00"
    assert tables.cell([3.0, 1.0, 2.5], 1) == "2.5 [1.0 .. 3.0]"
    assert tables.cell([3.0, 1.0, 2.5], 1, spread=False) == "2.5"
    assert tables.cell([None, None], 1) == "-"
    assert tables.cell([None, 2.0], 1) == "2.0"


def test_the_description_names_tls() -> None:
    plain, tls = (tables.describe(Parameters(tls=tls)) for tls in (False, True))
    assert tls == plain.replace("minstrel;", "minstrel, mutual TLS;")
    assert tls != plain


def test_the_description_names_who_has_an_agent_and_the_switch() -> None:
    plain = tables.describe(Parameters(terminals=5, agents=5))
    mixed = tables.describe(Parameters(terminals=5, agents=3, switch="ovs"))
    assert mixed == plain.replace("5 phones", "5 phones, 3 with an agent").replace("minstrel", "minstrel, Open vSwitch")


def test_the_description_names_another_kernel_than_the_usual_one() -> None:
    plain, other = (tables.describe(Parameters(kernel_line=line)) for line in ("6.1", "6.12"))
    assert other == plain.replace("minstrel;", "minstrel, Linux 6.12;")
    assert other != plain
    without_aql = tables.describe(Parameters(kernel_line="6.12", aql=False))
    assert without_aql == other.replace("Linux 6.12;", "Linux 6.12, without AQL;")


def test_the_description_names_several_access_points() -> None:
    plain, two, apart = (
        tables.describe(Parameters(**changes))
        for changes in ({}, {"access_points": 2}, {"access_points": 2, "ap_channels": "different", "deaf_ms": 20})
    )
    assert two == plain.replace("minstrel;", "minstrel, 2 access points;")
    assert apart == plain.replace("minstrel;", "minstrel, 2 access points, on different channels, deaf for 20 ms;")


def test_columns_line_up() -> None:
    lines = tables.text([["mode", "x"], ["bdp", "10.5"]]).splitlines()
    assert lines == ["mode     x", "bdp   10.5"]


def test_a_row_per_mode_in_the_order_asked_for(make_results: Callable[..., Results]) -> None:
    rows = tables.rows(make_results(modes=("bdp", "cubic")))
    assert [row[0] for row in rows] == ["mode", "bdp", "cubic"]
    assert {len(row) for row in rows} == {7}


def test_each_figure_has_its_unit_and_its_decimals(make_results: Callable[..., Results]) -> None:
    figures = {"total_goodput_mbps": 20.126, "jain": 0.98765, "rtt_mean_ms": 100.6, "rtt_p95_ms": 200.4}
    results = of_figures(make_results(modes=("cubic",)), figures | {"rtt_ratio": 3.26, "retransmits": 12})
    assert tables.rows(results) == [
        ["mode", "total Mb/s", "Jain", "RTT mean ms", "RTT p95 ms", "RTT ratio", "retransmits"],
        ["cubic", "20.13", "0.988", "101", "200", "3.3", "12"],
    ]


def test_each_phone_has_the_median_of_its_goodputs(
    make_results: Callable[..., Results], each_phone: Callable[[Run, EachPhone], Run]
) -> None:
    results = make_results(modes=("cubic",), terminals=2, seeds=(1, 2, 3))
    runs = tuple(
        each_phone(run, lambda i, phone, run=run: replace(phone, goodput_mbps=run.seed + i / 8)) for run in results.runs
    )
    assert tables.phone_rows(replace(results, runs=runs)) == [["Mb/s of phone", "1", "2"], ["cubic", "2.00", "2.12"]]


def of_figures(results: Results, *figures: dict[str, Any]) -> Results:
    runs = tuple(replace(run, **changes) for run, changes in zip(results.runs, figures, strict=True))
    return replace(results, runs=runs)


def test_air_times_have_a_column_where_phones_may_differ_in_their_rates(make_results: Callable[..., Results]) -> None:
    aggregating = make_results(modes=("cubic",), phy="11ac-80", ap="openwrt", kernel_line="6.12")
    heading, cubic = tables.rows(of_figures(aggregating, {"air_jain": 0.9125}))
    assert (heading[-1], cubic[-1]) == ("Jain of air", "0.912")
    assert "Jain of air" not in tables.rows(aggregating)[0]
    assert "Jain of air" not in tables.rows(of_figures(make_results(modes=("cubic",)), {"air_jain": 0.9}))[0]


def test_findings_are_computed_from_the_results(make_results: Callable[..., Results]) -> None:
    cubic = {"total_goodput_mbps": 20.0, "rtt_mean_ms": 1000.0, "jain": 0.9}
    bdp = {"total_goodput_mbps": 15.0, "rtt_mean_ms": 100.0, "jain": 0.99}
    results = make_results(modes=("cubic", "bdp"))
    assert tables.findings(of_figures(results, cubic, bdp)) == [
        "bdp: total 15.0 Mb/s, 25 % below cubic's 20.0; mean RTT 100 ms, 10.0 times below 1000; Jain 0.990 (0.900)."
    ]
    bdp |= {"total_goodput_mbps": 20.05, "rtt_mean_ms": 1010.0}
    assert tables.findings(of_figures(results, cubic, bdp)) == [
        "bdp: total 20.1 Mb/s, as much as cubic's 20.0; mean RTT 1010 ms, about the same as 1000; Jain 0.990 (0.900)."
    ]


@pytest.mark.parametrize(
    ("mbps", "words"),
    [
        (100.4, "as much as"),
        (99.6, "as much as"),
        (100.8, "1 % above"),
        (99.2, "1 % below"),
        (200.0, "100 % above"),
    ],
)
def test_what_rounds_to_no_change_is_none(make_results: Callable[..., Results], mbps: float, words: str) -> None:
    figures = {"rtt_mean_ms": None, "jain": None}
    results = of_figures(
        make_results(modes=("cubic", "bdp")),
        {"total_goodput_mbps": 100.0, **figures},
        {"total_goodput_mbps": mbps, **figures},
    )
    assert tables.findings(results) == [f"bdp: total {mbps:.1f} Mb/s, {words} cubic's 100.0."]


@pytest.mark.parametrize(
    ("bdp_ms", "words"),
    [
        (104.0, "about the same as"),
        (96.0, "about the same as"),
        (105.0, "1.1 times above"),
        (200.0, "2.0 times above"),
        (95.0, "1.1 times below"),
        (50.0, "2.0 times below"),
    ],
)
def test_what_rounds_to_once_is_about_the_same(make_results: Callable[..., Results], bdp_ms: float, words: str) -> None:
    figures = {"total_goodput_mbps": 20.0, "jain": None}
    results = of_figures(
        make_results(modes=("cubic", "bdp")), {"rtt_mean_ms": 100.0, **figures}, {"rtt_mean_ms": bdp_ms, **figures}
    )
    assert tables.findings(results) == [
        f"bdp: total 20.0 Mb/s, as much as cubic's 20.0; mean RTT {bdp_ms:.0f} ms, {words} 100."
    ]


@pytest.mark.parametrize(("cubic_ms", "bdp_ms"), [(None, 100.0), (100.0, None), (None, None)])
def test_without_an_rtt_on_both_sides_no_rtt_is_compared(
    make_results: Callable[..., Results], cubic_ms: float | None, bdp_ms: float | None
) -> None:
    results = of_figures(
        make_results(modes=("cubic", "bdp")),
        {"total_goodput_mbps": 20.0, "rtt_mean_ms": cubic_ms, "jain": None},
        {"total_goodput_mbps": 30.0, "rtt_mean_ms": bdp_ms, "jain": 0.5},
    )
    assert tables.findings(results) == ["bdp: total 30.0 Mb/s, 50 % above cubic's 20.0."]


def test_with_a_mode_in_which_nothing_was_carried_nothing_is_compared(make_results: Callable[..., Results]) -> None:
    results = make_results(modes=("cubic", "bdp"))
    assert tables.findings(of_figures(results, {"total_goodput_mbps": 0.0}, {"total_goodput_mbps": 5.0})) == []
    cubic, bdp = ({"total_goodput_mbps": mbps, "rtt_mean_ms": None, "jain": None} for mbps in (5.0, 0.0))
    assert tables.findings(of_figures(results, cubic, bdp)) == ["bdp: total 0.0 Mb/s, 100 % below cubic's 5.0."]


def test_findings_are_of_the_medians_of_the_seeds(make_results: Callable[..., Results]) -> None:
    results = make_results(modes=("cubic", "bdp"), seeds=(1, 2, 3))
    cubic = [{"total_goodput_mbps": mbps, "rtt_mean_ms": 50.0, "jain": 0.5} for mbps in (10.0, 90.0, 20.0)]
    bdp = [
        {"total_goodput_mbps": 40.0, "rtt_mean_ms": ms, "jain": j} for ms, j in ((25.0, 0.9), (None, None), (5.0, 0.8))
    ]
    assert tables.findings(of_figures(results, *cubic, *bdp)) == [
        "bdp: total 40.0 Mb/s, 100 % above cubic's 20.0; mean RTT 15 ms, 3.3 times below 50; Jain 0.850 (0.500)."
    ]


def test_a_mode_with_settings_is_named_with_them(make_results: Callable[..., Results]) -> None:
    results = make_results(modes=("cubic", "cubic@fq_codel", "bdp@aifsn=4"))
    assert [row[0] for row in tables.rows(results)[1:]] == ["cubic", "cubic@fq_codel", "bdp@aifsn=4"]
    assert [sentence.partition(":")[0] for sentence in tables.findings(results)] == ["cubic@fq_codel", "bdp@aifsn=4"]


def test_without_agents_the_reference_may_have_settings(make_results: Callable[..., Results]) -> None:
    (sentence,) = tables.findings(make_results(modes=("bdp@aifsn=4", "cubic@fq_codel")))
    assert "cubic@fq_codel's" in sentence


def test_without_a_mode_to_compare_with_nothing_is_claimed(make_results: Callable[..., Results]) -> None:
    assert tables.findings(make_results(modes=("bdp", "paper-jb"))) == []


def test_a_set_of_runs_is_described_in_one_line() -> None:
    one = Parameters(terminals=1, seeds=(7,), seconds=12, warmup_seconds=2, rate_control="aarf")
    assert tables.describe(one) == "uplink: 1 phone, 4 ms on the wire, 802.11g, aarf; seed 7; 10 s measured after 2 s"
    several = Parameters(terminals=2, seeds=(1, 2, 5), wired_delays_ms=(4.0, 64.5))
    assert tables.describe(several) == (
        "uplink: 2 phones, 4, 64.5 ms on the wire, 802.11g, minstrel; 3 seeds: median [range]; 25 s measured after 5 s"
    )


def test_a_trace_with_missing_records_is_reported(
    make_results: Callable[..., Results], each_phone: Callable[[Run, EachPhone], Run]
) -> None:
    results = make_results(modes=("cubic", "bdp"), terminals=2)
    runs = (
        each_phone(results.runs[0], lambda i, phone: replace(phone, trace=PhoneTrace(0, ()) if i else None)),
        each_phone(results.runs[1], lambda i, phone: replace(phone, trace=PhoneTrace(12, ()) if i else None)),
    )
    [sentence] = tables.missing_records(replace(results, runs=runs))
    assert sentence.startswith(f"bdp, seed {results.runs[1].seed}, phone 2: 12 records")


def test_with_downloads_there_is_a_row_for_each_direction(make_results: Callable[..., Results]) -> None:
    results = make_results(modes=("cubic",), scenario=built_in("both-ways"))
    total = DirectionTotal(12.345, 0.5, 30.4, 40.6, 7)
    run = replace(results.runs[0], uplink=total, downlink=replace(total, total_goodput_mbps=1.0, jain=None))
    rows = tables.rows(replace(results, runs=(run,)))
    assert [row[0] for row in rows] == ["mode", "cubic", "  up", "  down"]
    assert rows[2] == ["  up", "12.35", "0.500", "30", "41", "", "7"]
    assert rows[3] == ["  down", "1.00", "-", "30", "41", "", "7"]
    # The synthetic samples have no downloads: each phone has one, of nothing.
    assert tables.phone_rows(results)[2] == ["  down", "0.00", "0.00", "0.00"]


def test_a_time_to_recover_has_a_column(make_results: Callable[..., Results]) -> None:
    results = make_results(modes=("cubic", "bdp"))
    found = tables.rows(of_figures(results, {"recovery_s": None}, {"recovery_s": 3.0}))
    assert [row[-1] for row in found] == ["recovery s", "-", "3"]
    assert tables.rows(results)[0][-1] == "retransmits"


def test_flows_that_never_connected_have_a_column_once_there_are_some(make_results: Callable[..., Results]) -> None:
    results = make_results(modes=("cubic", "bdp"))
    assert "unconnected flows" not in tables.rows(of_figures(results, {"unconnected": None}, {"unconnected": None}))[0]
    found = tables.rows(of_figures(results, {"unconnected": None}, {"unconnected": 3}))
    assert [row[-1] for row in found] == ["unconnected flows", "0", "3"]
