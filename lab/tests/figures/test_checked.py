# SPDX-License-Identifier: Apache-2.0

import pytest

from airbound.core.check import figures
from airbound.core.check.figures import Turn
from airbound.operator.check import text
from airbound_lab.errors import LabError
from airbound_lab.figures import checked
from airbound_lab.figures.checked import Change

TURNS = [Turn(controlled, 1e6 * (2 + controlled), 1e5 * (3 - controlled), 2.0) for controlled in figures.plan(6)]


def test_what_the_command_writes_is_read() -> None:
    found = checked.parse(text.as_json(figures.result(TURNS)))
    assert found is not None
    assert (found.pairs, found.carried.mean) == (3, pytest.approx(0.5))
    assert found.rtt is not None
    assert found.rtt.mean == pytest.approx(-1 / 3)
    assert (found.carried.sign, found.rtt.sign) == (1, -1)


def test_a_check_without_a_result_and_one_without_round_trips() -> None:
    assert checked.parse(text.as_json(figures.result(TURNS[:2]))) is None
    found = checked.parse(text.as_json(figures.result([turn and _without_rtt(turn) for turn in TURNS])))
    assert found is not None
    assert found.rtt is None


def _without_rtt(turn: Turn) -> Turn:
    return Turn(turn.controlled, turn.carried_bps, 0.0, turn.senders)


@pytest.mark.parametrize("output", ["", "{", "[]", '{"pairs": 3}', '{"pairs": 3, "carried": [1], "rtt": null}'])
def test_what_is_no_result_is_an_error(output: str) -> None:
    with pytest.raises(LabError, match="no output of `airbound check --json`"):
        checked.parse(output)


def test_an_interval_has_what_is_within_it() -> None:
    change = Change(0.1, -0.1, 0.3)
    assert [change.has(truth) for truth in (-0.2, -0.1, 0.3, 0.4)] == [False, True, True, False]
    assert change.sign == 0
