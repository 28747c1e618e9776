# SPDX-License-Identifier: Apache-2.0
"""A few handovers in one guest: TCP's silence is what its retransmission timer makes it, and runs are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airbound_lab.handover_study import execute, statements, table
from airbound_lab.handover_study.design import Design
from airbound_lab.handover_study.lanes import PROGRAM, Lane
from airbound_lab.run import host

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from airbound_lab.handover_study.observed import Observed

    Found = Mapping[Lane, Observed]

pytestmark = pytest.mark.uml

DESIGN = Design(rtts_ms=(50.0,), lost_s=(2.0, 5.0), before_s=(0.0,), seeds=(1,))


def run(store: Path, design: Design) -> Found:
    kernel = host.kernel(None, "6.12")
    setting = execute.Setting(kernel, host.REPOSITORY / "build" / PROGRAM, 1, store)
    wanted = [Lane(case, rival) for case in design.cases() for rival in design.rivals]
    return execute.run_all(wanted, execute.Runs(setting, ipv6=design.ipv6), 1, lambda _done, _wanted: None)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    return run(tmp_path_factory.mktemp("store"), DESIGN)


def test_every_record_arrives_but_those_that_udp_loses(found: Found) -> None:
    by_case = table.all_figures(DESIGN, found)
    for case, rivals in by_case.items():
        assert rivals.pop("udp").lost == pytest.approx(case.handover.lost_s * 10, abs=1)
        assert {
            name: (one.lost, 0 if name in ("connections", "library-newest") else one.late)
            for name, one in rivals.items()
        } == (dict.fromkeys(rivals, (0, 0)))


def test_statements_agree(found: Found) -> None:
    checked = statements.all_of(DESIGN, table.all_figures(DESIGN, found))
    assert not [each for each in checked if each.agrees is False]


def test_tcp_is_silent_for_its_timer_which_has_doubled(found: Found) -> None:
    silence_s = {
        (case.handover.lost_s, name): one.silence_s
        for case, rivals in table.all_figures(DESIGN, found).items()
        for name, one in rivals.items()
    }
    for lost_s in DESIGN.lost_s:
        assert silence_s[lost_s, "udp"] == pytest.approx(lost_s, abs=0.2)
        # The timer doubles: what is silent after an outage is at most as long again, and a timeout.
        assert lost_s + 0.2 < silence_s[lost_s, "tcp"] < 2 * lost_s + 1
        for name in ("connections", "library-event"):
            assert silence_s[lost_s, name] == pytest.approx(lost_s, abs=0.3)


def test_two_runs_are_equal(tmp_path: Path) -> None:
    alone = Design(rtts_ms=(50.0,), lost_s=(3.0,), before_s=(0.0,), seeds=(1,), rivals=("udp", "tcp"))
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    assert run(first, alone) == run(second, alone)
