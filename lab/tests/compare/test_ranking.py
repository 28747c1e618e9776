# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.compare import ranking
from airbound_lab.compare.ranking import JAIN, RPM, RTT, TOTAL, Measure, Shortfall, Spread, Verdict

if TYPE_CHECKING:
    from conftest import MakeRows


def test_a_figure_is_the_median_of_its_seeds_with_the_range(make_rows: MakeRows) -> None:
    _, [row] = make_rows({"cubic": [(10, 0.9, 100), (30, 0.5, 50), (20, None, 200)]})
    assert row.get("cubic", TOTAL) == Spread(20, 10, 30)
    assert row.get("cubic", JAIN) == Spread(pytest.approx(0.7), 0.5, 0.9)
    assert row.get("cubic", RTT) == Spread(100, 50, 200)
    # Of 100, 50 and 200 ms: 600, 1200 and 300 round trips a minute.
    assert row.get("cubic", RPM) == Spread(600, 300, 1200)
    assert row.runs == {"cubic": 3}


def test_who_is_best_and_how_far_the_others_are(make_rows: MakeRows) -> None:
    _, [row] = make_rows({"cubic": [(24, 0.9, 1000)], "bdp": [(18, 1.0, 20)], "vegas": [(24.01, 0.5, 30)]})
    assert (row.best(TOTAL), row.best(JAIN), row.best(RTT)) == ("vegas", "bdp", "bdp")
    assert row.best(RTT, but="bdp") == "vegas"
    # 24.0 and 24.01 are shown as the same.
    assert row.leaders(TOTAL) == ["cubic", "vegas"]
    assert row.leaders(RTT) == ["bdp"]
    assert row.worse_by("bdp", TOTAL) == pytest.approx(1 - 18 / 24.01)
    assert row.worse_by("cubic", RTT) == pytest.approx(49)
    assert row.worse_by("vegas", JAIN) == pytest.approx(0.5)
    assert row.worse_by("vegas", TOTAL) == 0


def test_what_was_not_run_is_not_best(make_rows: MakeRows) -> None:
    _, rows = make_rows({"cubic": [(24, 0.9, None)]}, {"bdp": [(1, 1, 1)]})
    assert rows[0].runs == {"cubic": 1, "bdp": 0}
    assert (rows[0].best(TOTAL), rows[0].best(RTT), rows[0].leaders(RTT)) == ("cubic", None, [])
    assert rows[0].get("bdp", TOTAL) is None
    assert rows[0].worse_by("bdp", TOTAL) is None
    assert rows[0].worse_by("cubic", RTT) is None


@pytest.mark.parametrize(
    ("measure", "mine", "other", "verdict"),
    [
        # Ranges apart: the medians decide, in the measure's own direction.
        (TOTAL, Spread(20, 19, 21), Spread(15, 14, 16), "win"),
        (TOTAL, Spread(15, 14, 16), Spread(20, 19, 21), "loss"),
        (RTT, Spread(20, 19, 21), Spread(15, 14, 16), "loss"),
        (JAIN, Spread(0.9, 0.9, 0.9), Spread(0.8, 0.8, 0.8), "win"),
        # Ranges that touch.
        (TOTAL, Spread(20, 16, 21), Spread(15, 14, 16), "tie"),
        (TOTAL, Spread(15, 14, 30), Spread(20, 19, 21), "tie"),
        # Ranges apart by less than 1 % of the larger median, and by just more.
        (TOTAL, Spread(100, 100, 100), Spread(99, 99, 99), "tie"),
        (TOTAL, Spread(100, 100, 100), Spread(98.9, 98.9, 98.9), "win"),
        (JAIN, Spread(0.5, 0.5, 0.5), Spread(0.508, 0.508, 0.508), "tie"),
        (JAIN, Spread(0.5, 0.5, 0.5), Spread(0.512, 0.512, 0.512), "loss"),
        (TOTAL, Spread(0, 0, 0), Spread(0, 0, 0), "tie"),
    ],
)
def test_the_noise_rule(measure: Measure, mine: Spread, other: Spread, verdict: Verdict) -> None:
    assert ranking.verdict(measure, mine, other) == verdict


SPREADS = st.lists(st.floats(0.001, 1e6), min_size=1, max_size=5).map(ranking.spread).filter(bool)


@given(SPREADS, SPREADS, st.sampled_from(ranking.MEASURES))
def test_what_one_wins_the_other_loses(mine: Spread, other: Spread, measure: Measure) -> None:
    opposite = {"win": "loss", "tie": "tie", "loss": "win"}
    assert ranking.verdict(measure, other, mine) == opposite[ranking.verdict(measure, mine, other)]
    assert ranking.verdict(measure, mine, mine) == "tie"


def test_verdicts_are_counted_over_the_conditions(make_rows: MakeRows) -> None:
    _, rows = make_rows(
        {"bdp": [(20, 1, 10)], "cubic": [(24, 1, 100)], "vegas": [(10, 1, 5)]},
        {"bdp": [(24, 1, 10)], "cubic": [(20, 1, 100)], "vegas": [(23.9, 1, 5)]},
        {"bdp": [(24, 1, 10)], "cubic": [(20, 1, 100)]},
        {"cubic": [(20, 1, 100)]},
    )
    assert ranking.against(rows, "bdp", TOTAL, "cubic") == {"win": 2, "tie": 0, "loss": 1}
    assert ranking.against(rows, "bdp", TOTAL, "vegas") == {"win": 1, "tie": 1, "loss": 0}
    # The best of the others is cubic, vegas, cubic.
    assert ranking.against(rows, "bdp", TOTAL) == {"win": 1, "tie": 1, "loss": 1}
    assert ranking.against(rows, "bdp", RTT) == {"win": 1, "tie": 0, "loss": 2}


def test_the_criterion_is_met_with_the_best_total_and_the_shortest_rtt(make_rows: MakeRows) -> None:
    # vegas has a shorter RTT, but only 94 % of the total.
    _, [row] = make_rows({"bdp": [(24, 1, 10)], "cubic": [(24.2, 1, 10)], "vegas": [(22.5, 1, 5)]})
    assert ranking.judge(row, "bdp").shortfalls == ()


def test_in_what_the_criterion_is_failed_and_by_how_much(make_rows: MakeRows) -> None:
    _, [row] = make_rows({"bdp": [(19, 1, 12)], "cubic": [(20, 1, 100)], "vegas": [(18.1, 1, 10)]})
    assert ranking.judge(row, "bdp").shortfalls == (
        Shortfall("total", 19, "cubic", 20, pytest.approx(0.05)),
        Shortfall("rtt", 12, "vegas", 10, pytest.approx(0.2)),
    )
    # bdp's 19 are just 0.95 of cubic's 20.
    assert ranking.judge(row, "cubic").shortfalls == (Shortfall("rtt", 100, "bdp", 12, pytest.approx(22 / 3)),)


def test_a_shortfall_within_the_noise_is_marked(make_rows: MakeRows) -> None:
    _, [row] = make_rows({"bdp": [(19, 1, 10), (21, 1, 10), (18, 1, 10)], "cubic": [(20, 1, 99), (20, 1, 99)]})
    assert ranking.judge(row, "bdp").shortfalls == (
        Shortfall("total", 19, "cubic", 20, pytest.approx(0.05), within_noise=True),
    )


def test_a_condition_without_a_result_of_the_subject_fails(make_rows: MakeRows) -> None:
    _, rows = make_rows({"bdp": [(1, 1, 1)], "cubic": [(1, 1, 1)]}, {"cubic": [(1, 1, 1)]}, {"bdp": [(1, 1, None)]})
    assert [ranking.judge(row, "bdp").shortfalls for row in rows] == [
        (),
        (Shortfall("missing"),),
        (Shortfall("missing"),),
    ]


def test_several_phones_must_have_the_total_of_each_rival_and_one_phone_nearly(make_rows: MakeRows) -> None:
    variants = {"bdp": [(98, 1, 10)], "cubic": [(100, 1, 99)], "vegas": [(99, 1, 99)], "bbr": [(97, 1, 99)]}
    _, (alone, several) = make_rows(variants, variants)
    assert ranking.judge(alone, "bdp").met
    judgement = ranking.judge(several, "bdp")
    assert not judgement.met
    assert [(found.what, found.rival) for found in judgement.shortfalls] == [("total", "cubic"), ("total", "vegas")]


def test_of_several_txop_limits_a_rival_has_the_better_one(make_rows: MakeRows) -> None:
    variants = {
        "airbound": [(90, 1, 10)],
        "cubic": [(80, 1, 50)],
        "cubic@txop=0": [(95, 1, 99)],
        "bbr@txop=0@queue=50": [(70, 1, 30)],
        "bbr@queue=50": [(75, 1, 30)],
    }
    _, (_, row) = make_rows({"cubic": [(1, 1, 1)]}, variants)
    assert ranking.rivals(row, "airbound") == {"cubic": "cubic@txop=0", "bbr@queue=50": "bbr@queue=50"}
    [found] = ranking.judge(row, "airbound").shortfalls
    assert (found.rival, found.rivals) == ("cubic@txop=0", 95)


@pytest.mark.parametrize(
    ("variant", "rival"),
    [
        ("cubic", "cubic"),
        ("cubic@txop=0", "cubic"),
        ("cubic@pacing=400@txop=62", "cubic@pacing=400"),
        ("cubic@sta-txop=0", "cubic@sta-txop=0"),
        ("airbound+cdg@txop=0", "airbound+cdg"),
    ],
)
def test_a_rival_s_name_has_no_txop_limit_of_the_access_point(variant: str, rival: str) -> None:
    assert ranking.rival_of(variant) == rival


@pytest.mark.parametrize(("rtt_ms", "met"), [(50, False), (50.1, True)])
def test_with_rts_a_rival_counts_by_its_rtt(make_rows: MakeRows, rtt_ms: float, *, met: bool) -> None:
    _, (_, plain) = make_rows({"cubic": [(1, 1, 1)]}, {"bdp": [(96, 1, 10)], "cubic": [(100, 1, rtt_ms)]})
    row = replace(plain, condition=replace(plain.condition, rts_bytes=1000))
    [found] = ranking.judge(row, "bdp").shortfalls
    assert (found.what, found.counts, ranking.judge(row, "bdp").met) == ("total", not met, met)
    # Without RTS it counts with any RTT.
    assert [found.counts for found in ranking.judge(plain, "bdp").shortfalls] == [True]


@pytest.mark.parametrize(
    ("mine", "theirs", "shortfalls"),
    [(0.99, 1.0, 0), (0.989, 1.0, 1), (0.7, 0.69, 0), (0.7, 0.71, 1), (None, 0.9, 0)],
)
def test_shares_are_equal_or_the_most_equal_ones(
    make_rows: MakeRows, mine: float | None, theirs: float, shortfalls: int
) -> None:
    _, [row] = make_rows({"bdp": [(100, mine, 10)], "cubic": [(50, theirs, 50)]})
    found = ranking.judge(row, "bdp").shortfalls
    assert [(each.what, each.rival) for each in found] == [("jain", "cubic")] * shortfalls
