# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airbound_lab.handover_study.measures import SWITCHED, figures, first_through
from airbound_lab.handover_study.observed import Note

if TYPE_CHECKING:
    from collections.abc import Callable

    from airbound_lab.handover_study.design import Case
    from airbound_lab.handover_study.observed import Observed

    Observe = Callable[..., Observed]


@pytest.fixture
def udp(case: Case, observe: Observe) -> Observed:
    """Lost for 5 s, held for 2 s, then 25 ms."""
    loss_s, complete_s = case.handover.loss_at_s(1), case.handover.complete_s(1)

    def delay_s(due_s: float) -> float | None:
        if loss_s <= due_s < loss_s + 5:
            return None
        return 0.025 + (max(0.0, complete_s - due_s) if due_s >= loss_s else 0.0)

    return observe(delay_s)


def test_udp_against_itself(case: Case, udp: Observed) -> None:
    found = figures(case, udp, udp)
    assert found.later_than_udp_s == 0
    assert found.fresh_after_s == 0
    assert found.lost == 50
    assert found.silence_s == pytest.approx(7, abs=0.11)
    assert found.worst_delay_s == pytest.approx(2.025, abs=0.1)
    assert (found.packets, found.bytes) == (900, 620_000)


def test_all_records_wait_for_the_first_that_was_lost(case: Case, observe: Observe, udp: Observed) -> None:
    loss_s, complete_s = case.handover.loss_at_s(1), case.handover.complete_s(1)
    back_s = complete_s + 4  # TCP's timer
    tcp = observe(lambda due_s: 0.025 if due_s < loss_s else max(0.025, back_s - due_s))
    found = figures(case, tcp, udp)
    first = udp.lane.records[first_through(case, udp)]
    assert first.due_s == pytest.approx(loss_s + 5, abs=0.1)
    assert found.later_than_udp_s == pytest.approx(back_s - complete_s - 0.025, abs=0.001)
    assert found.silence_s == pytest.approx(11, abs=0.11)
    assert found.worst_delay_s == pytest.approx(11, abs=0.11)
    assert found.lost == 0
    # Fresh from 0.725 s before the timer on, which is so long after UDP's first record:
    assert found.fresh_after_s == pytest.approx(back_s - 0.725 - first.due_s, abs=0.11)


def test_a_rival_that_never_comes_back(case: Case, observe: Observe, udp: Observed) -> None:
    gone = observe(lambda due_s: 0.025 if due_s < case.handover.loss_at_s(1) else None)
    found = figures(case, gone, udp)
    assert found.later_than_udp_s is None
    assert found.fresh_after_s is None


def test_only_silence_that_ends_after_the_losses_began_counts(case: Case, observe: Observe, udp: Observed) -> None:
    early = observe(lambda due_s: None if 5 < due_s < 19 else 0.025)
    assert figures(case, early, udp).silence_s == pytest.approx(0.1)


def test_udp_must_come_back(case: Case, observe: Observe) -> None:
    gone = observe(lambda due_s: 0.025 if due_s < case.handover.loss_at_s(1) else None)
    with pytest.raises(ValueError, match="no record arrives by UDP"):
        figures(case, gone, gone)


def test_the_first_switch_after_the_losses_began_counts(case: Case, observe: Observe, udp: Observed) -> None:
    complete_s = case.handover.complete_s(1)
    notes = tuple(
        Note(round(at_s * 1e6), text)
        for at_s, text in (
            (5, f"{SWITCHED}lost"),
            (complete_s, "has another connection"),
            (complete_s + 0.25, f"{SWITCHED}notice"),
            (complete_s + 3, f"{SWITCHED}notice"),
        )
    )
    found = figures(case, observe(lambda due_s: 0.1 if due_s > complete_s + 0.25 else 3.0, notes), udp)
    assert found.switched_after_s == pytest.approx(0.25, abs=1e-5)
    assert found.switched_delay_s == pytest.approx(0.1)
    assert found.udp_delay_s == pytest.approx(0.025)


def test_without_a_switch_there_is_no_record_after_it(case: Case, udp: Observed) -> None:
    found = figures(case, udp, udp)
    assert (found.switched_after_s, found.switched_delay_s, found.udp_delay_s) == (None, None, None)
