# SPDX-License-Identifier: Apache-2.0
"""When an access point's own TXOP limit ends bounds, and when they return."""

import pytest

from airbound.core.cell.kept_txop import TRIED_US, KeptTxop
from airbound.core.cell.unlimited import RAISED_US
from airbound.core.edca import Category, Edca
from airbound.core.reports import EdcaState

SECOND_US = 1_000_000
REFUSAL = "not permitted"


def state(txop_limit: int = 62, *, can_set: bool = False, generation: int = 0) -> EdcaState:
    own = Edca(Category.BEST_EFFORT, 3, 15, 63, txop_limit)
    return EdcaState(can_set=can_set, refusal="" if can_set else REFUSAL, generation=generation, own=(own,))


def kept(*, bounded: bool = False) -> KeptTxop:
    txop = KeptTxop()
    assert txop.observe(state(), SECOND_US, concerned=True, bounded=bounded)
    return txop


def test_where_nothing_is_bounded_there_are_no_bounds_from_the_first_report_on() -> None:
    txop = kept()
    assert (txop.limit_us, txop.refusal, txop.ended, txop.raises) == (1984, REFUSAL, True, False)
    assert not txop.observe(state(), 2 * SECOND_US, concerned=True, bounded=False)


def test_bounds_in_force_are_raised_before_they_end() -> None:
    txop = kept(bounded=True)
    assert txop.raises
    before_us = SECOND_US + RAISED_US - 1
    assert not txop.observe(state(), before_us, concerned=True, bounded=True)
    assert txop.raises
    assert txop.observe(state(), before_us + 1, concerned=True, bounded=True)
    assert txop.ended


def test_bounds_that_ended_by_themselves_are_not_waited_for() -> None:
    txop = kept(bounded=True)
    assert txop.observe(state(), 2 * SECOND_US, concerned=True, bounded=False)
    assert txop.ended


@pytest.mark.parametrize(
    ("reported", "concerned"),
    [(None, True), (state(0), True), (state(), False), (EdcaState(), True), (state(can_set=True), True)],
)
def test_otherwise_bounds_stay(reported: EdcaState | None, concerned: bool) -> None:  # noqa: FBT001
    txop = KeptTxop()
    assert not txop.observe(reported, TRIED_US, concerned=concerned, bounded=False)
    assert (txop.limit_us, txop.ended, txop.raises) == (0, False, False)


@pytest.mark.parametrize(
    ("reported", "concerned"),
    [(None, True), (state(0), True), (state(), False), (state(can_set=True, generation=1), True)],
)
def test_bounds_return_at_once_without_the_limit(reported: EdcaState | None, concerned: bool) -> None:  # noqa: FBT001
    txop = kept()
    assert txop.observe(reported, 2 * SECOND_US, concerned=concerned, bounded=False)
    assert (txop.limit_us, txop.refusal, txop.ended) == (0, "", False)


def test_a_driver_that_is_asked_again_and_refuses_again_has_no_bounds_in_between() -> None:
    txop, now_us = kept(), SECOND_US
    for _ in range(5):
        now_us += 2 * SECOND_US
        assert not txop.observe(state(can_set=True), now_us, concerned=True, bounded=False)
        now_us += SECOND_US
        assert not txop.observe(state(), now_us, concerned=True, bounded=False)
    assert txop.ended


def test_where_nothing_was_set_for_some_time_though_it_could_be_bounds_return() -> None:
    txop = kept()
    assert not txop.observe(state(can_set=True), SECOND_US + TRIED_US - 1, concerned=True, bounded=False)
    assert txop.observe(state(can_set=True), SECOND_US + TRIED_US, concerned=True, bounded=False)
    assert not txop.limit_us
