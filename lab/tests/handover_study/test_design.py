# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airbound_lab.errors import UsageError
from airbound_lab.handover_study.design import LOSS_FROM_S, LOSS_WITHIN_S, Case, Design, Handover

PLAIN = Handover(rtt_ms=50, before_s=1, lost_s=3, held_s=4, after_s=2, down_shift_s=0)


def test_every_combination_once() -> None:
    design = Design(rtts_ms=(50, 256), lost_s=(1, 3), before_s=(0, 4), held_s=(0, 3), seeds=(1, 2, 3))
    cases = design.cases()
    assert len(cases) == len(set(cases)) == 2 * 2 * 2 * 2 * 3


def test_seeds_move_the_losses_and_the_completion_follows() -> None:
    moments_s = {PLAIN.loss_at_s(seed) for seed in range(1, 21)}
    assert len(moments_s) == 20
    assert all(LOSS_FROM_S <= moment_s < LOSS_FROM_S + LOSS_WITHIN_S for moment_s in moments_s)
    assert PLAIN.complete_s(1) == PLAIN.loss_at_s(1) + 7
    assert PLAIN.loss_at_s(1) == replace(PLAIN, lost_s=10).loss_at_s(1)  # the same moment in every handover


def test_names_are_different() -> None:
    names = {str(case) for case in Design(held_s=(0, 3), after_s=(0, 6), down_shifts_s=(-1, 0, 1)).cases()}
    assert len(names) == len(Design(held_s=(0, 3), after_s=(0, 6), down_shifts_s=(-1, 0, 1)).cases())
    assert str(Case(PLAIN, 4)).endswith("seed 4")


@pytest.mark.parametrize(
    ("changes", "option"),
    [
        ({"seeds": (1, 1)}, "--seeds"),
        ({"rivals": ("udp", "tcp", "pigeon")}, "--rivals: 'pigeon'"),
        ({"rivals": ("tcp",)}, "--rivals: udp is needed"),
        ({"rivals": ("udp",)}, "--rivals: tcp is needed"),
        ({"lost_s": (-1,)}, "--lost"),
        ({"before_s": (6,)}, "--before"),
        ({"lost_s": (1, 3), "down_shifts_s": (2,)}, "--down-shifts"),
    ],
)
def test_says_what_is_wrong(changes: dict[str, Any], option: str) -> None:
    with pytest.raises(UsageError, match=option):
        replace(Design(), **changes).check()


def test_what_it_does_by_default_is_possible() -> None:
    Design().check()
