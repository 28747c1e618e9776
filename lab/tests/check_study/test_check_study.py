# SPDX-License-Identifier: Apache-2.0

import json
from typing import Any

import pytest

from airbound_lab import cli
from airbound_lab.check_study import table
from airbound_lab.check_study.design import CELLS, Case, Design
from airbound_lab.errors import UsageError
from airbound_lab.figures.checked import Change, Checked
from airbound_lab.figures.results import Run


def run(case: Case, mbps: float, rtt_ms: float, check: Checked | None = None) -> Run:
    nothing: dict[str, Any] = dict.fromkeys(("jain", "rtt_p95_ms", "rtt_ratio"))
    [seed] = case.parameters.seeds
    return Run(
        case.mode, seed, total_goodput_mbps=mbps, rtt_mean_ms=rtt_ms, retransmits=0, phones=(), wall_seconds=1.0,
        check=check, **nothing,
    )  # fmt: skip


def of_first_cell(check: Checked | None) -> list[tuple[Case, Run]]:
    """Its three runs: 10 % more is carried, and the RTT is half, with Airbound."""
    checks, without, with_ = Design().cases()[:3]
    return [(checks, run(checks, 105, 30, check)), (without, run(without, 100, 40)), (with_, run(with_, 110, 20))]


def test_20_cells_each_with_a_check_and_both_truths() -> None:
    cases = Design().cases()
    assert [sum(cell.kind == kind for cell in CELLS) for kind in ("gain", "lose", "neither")] == [8, 6, 6]
    assert len(cases) == 60
    assert len({case.parameters.seeds for case in cases}) == 20
    for check, without, with_ in zip(cases[::3], cases[1::3], cases[2::3], strict=True):
        assert [case.part for case in (check, without, with_)] == ["check", "without", "with"]
        assert check.parameters.check_minutes == 10
        assert check.parameters.seconds == 620
        assert (without.parameters.modes, with_.parameters.modes) == (("cubic",), ("airbound",))
        assert without.parameters.controller_config is None
        assert (with_.parameters.controller_config is not None) == (with_.cell.kind == "lose")
        assert check.parameters.controller_config == with_.parameters.controller_config
    assert {case.cell.kind for case in Design(kinds=("lose",)).cases()} == {"lose"}


def test_a_check_is_right_if_its_interval_has_what_is_so() -> None:
    said = Checked(6, carried=Change(0.12, 0.08, 0.16), rtt=Change(-0.4, -0.45, -0.35))
    found = table.gather(of_first_cell(said))
    assert [(each.carried.is_right, each.rtt.is_right) for each in found] == [(True, False)]
    assert table.rows(found)[1][1:] == [
        "+10.0%", "+8.0% to +16.0%", "", "-50.0%", "-45.0% to -35.0%", "not in it"
    ]  # fmt: skip
    assert table.summary(found).splitlines() == [
        "carried: the interval has what is so in 1 of 1, 0 of wrong sign",
        "rtt: the interval has what is so in 0 of 1, 0 of wrong sign",
    ]
    assert table.complaints(found * 20) == ["rtt: right in 0, expected 19"]
    assert json.loads(json.dumps(table.document(found)))["cells"][0]["right"] == {"carried": True, "rtt": False}


def test_the_opposite_is_a_wrong_sign_and_no_result_is_not_right() -> None:
    said = Checked(6, carried=Change(-0.1, -0.2, -0.01), rtt=None)
    found = table.gather(of_first_cell(said))
    assert table.rows(found)[1][3:] == ["wrong sign", "-50.0%", "no result", "no"]
    assert table.complaints(found * 20) == [
        "carried: right in 0, expected 19", "carried: of wrong sign", "rtt: right in 0, expected 19"
    ]  # fmt: skip
    assert table.rows(table.gather(of_first_cell(None)))[1][2] == "no result"


def test_19_of_20_are_enough() -> None:
    right = table.gather(of_first_cell(Checked(6, Change(0.1, 0.0, 0.2), Change(-0.5, -0.6, -0.4))))
    wide = table.gather(of_first_cell(Checked(6, Change(0.1, 0.11, 0.2), Change(-0.5, -0.6, -0.4))))
    assert table.complaints([*right * 19, *wide]) == []
    assert table.complaints([*right * 18, *wide * 2]) == ["carried: right in 18, expected 19"]


def test_a_cell_whose_runs_are_not_all_there_is_left_out() -> None:
    assert table.gather(of_first_cell(None)[:2]) == []
    assert table.summary([]).startswith("carried: the interval has what is so in 0 of 0")


def test_what_is_asked_wrongly_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="count from 1"):
        Design(seeds=(0,)).check()
    assert cli.main(["study", "check", "--kinds", "win", "--list"]) == 2
    assert "'win'" in capsys.readouterr().err
    assert cli.main(["study", "check", "--minutes", "4", "--list"]) == 2
    assert "check-minutes" in capsys.readouterr().err
