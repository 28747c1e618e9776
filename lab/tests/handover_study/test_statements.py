# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airbound_lab.handover_study import statements
from airbound_lab.handover_study.design import Case, Design, Handover
from airbound_lab.handover_study.measures import Figures

GOOD = Figures(
    silence_s=3.1, worst_delay_s=3.0, lost=0, later_than_udp_s=0.05, fresh_after_s=0.0, switched_after_s=0.1,
    switched_delay_s=0.5, udp_delay_s=0.03, again=0, late=0, packets=1, bytes=1,
)  # fmt: skip
TCP = replace(GOOD, worst_delay_s=17.0, switched_after_s=None, switched_delay_s=None, udp_delay_s=None)
CASE = Case(Handover(rtt_ms=50, before_s=0, lost_s=5, held_s=0, after_s=0, down_shift_s=0), 1)
SHORT = replace(CASE, handover=replace(CASE.handover, lost_s=2))


def case_of(case: Case, **changes: Any) -> dict[Case, dict[str, Figures]]:
    one = replace(GOOD, **changes)
    return {case: {"udp": GOOD, "tcp": TCP, "library-method": one, "library-event": one}}


def is_fresh(by_case: dict[Case, dict[str, Figures]]) -> statements.Statement:
    return statements.method_is_fresh(by_case, queued=False)


@pytest.mark.parametrize(
    ("check", "case", "good", "bad"),
    [
        (is_fresh, CASE, {"switched_delay_s": 0.72}, {"switched_delay_s": 0.74}),
        (is_fresh, CASE, {}, {"switched_delay_s": None}),
        (statements.method_against_tcp, CASE, {"switched_delay_s": 0.84}, {"switched_delay_s": 0.86}),
        (statements.method_rests, SHORT, {"switched_after_s": None}, {"switched_after_s": 1.0}),
        (statements.event_is_soon, CASE, {"later_than_udp_s": 0.19}, {"later_than_udp_s": 0.21}),
        (statements.event_is_soon, CASE, {}, {"later_than_udp_s": None}),
    ],
)
def test_agrees_up_to_its_limit(check: Any, case: Case, good: dict[str, Any], bad: dict[str, Any]) -> None:
    assert check(case_of(case, **good)).agrees is True
    assert check(case_of(case, **bad)).agrees is False


def test_each_concerns_its_own_outages() -> None:
    assert is_fresh(case_of(SHORT)).agrees is None
    assert statements.method_rests(case_of(CASE)).agrees is None
    quick = {CASE: case_of(CASE)[CASE] | {"tcp": replace(TCP, worst_delay_s=13.9)}}
    assert statements.method_against_tcp(quick).agrees is None


def test_a_queue_before_is_a_statement_of_its_own() -> None:
    queued = replace(CASE, handover=replace(CASE.handover, before_s=1))
    assert is_fresh(case_of(queued)).agrees is None
    assert statements.method_is_fresh(case_of(queued), queued=True).agrees is True
    assert statements.method_is_fresh(case_of(CASE), queued=True).agrees is None


def test_one_seed_of_twenty_may_differ() -> None:
    every: dict[Case, dict[str, Figures]] = {}
    for seed in range(1, 21):
        every |= case_of(replace(CASE, seed=seed), switched_delay_s=9.0 if seed == 7 else 0.5)
    assert is_fresh(every).agrees is True
    every |= case_of(replace(CASE, seed=8), switched_delay_s=9.0)
    assert is_fresh(every).agrees is False


def test_checks_what_there_are_rivals_for() -> None:
    few = statements.all_of(Design(rivals=("udp", "tcp")), case_of(CASE))
    assert {each.rival for each in few} == {"tcp"}
    every = statements.all_of(Design(rivals=("udp", "tcp", "library-method", "library-event")), case_of(CASE))
    assert [each.rival for each in every].count("library-method") == 6
