# SPDX-License-Identifier: Apache-2.0
"""Which mode a cell is in, by all who may say something."""

import itertools

import pytest

from airbound.core.modes import Modes
from airbound.core.overrides import CellOverride, Match
from airbound.core.parameters import Mode, Parameters
from airbound_testing.scenario import BSSID, OTHER_BSSID

MODES: tuple[Mode, Mode] = ("observe", "control")
OR_NONE: tuple[Mode | None, ...] = (*MODES, None)


def match(mode: Mode | None) -> Match:
    return Match(CellOverride(name="cell.0", mode=mode, parameters=Parameters()), "")


@pytest.mark.parametrize(
    ("configured", "chosen", "of_cell", "of_override"), [*itertools.product(MODES, OR_NONE, OR_NONE, OR_NONE)]
)
def test_every_combination(
    configured: Mode, chosen: Mode | None, of_cell: Mode | None, of_override: Mode | None
) -> None:
    modes = Modes(configured)
    modes.choose(chosen)
    modes.choose_for_cell(BSSID, of_cell)
    if of_cell:
        expected = of_cell
    elif chosen == "observe":
        expected = "observe"
    else:
        expected = of_override or chosen or configured
    assert modes.of_cell(BSSID, match(of_override)) == expected
    assert modes.of_cell(OTHER_BSSID, None) == modes.controller == (chosen or configured)


def test_observe_for_all_ends_control_of_single_cells_and_nothing_else() -> None:
    modes = Modes("control")
    modes.choose_for_cell(BSSID, "control")
    modes.choose_for_cell(OTHER_BSSID, "observe")
    modes.choose("observe")
    assert modes.of_cell(BSSID, match("control")) == "observe"
    modes.choose("control")
    assert modes.of_cell(BSSID, match("observe")) == "observe"
    assert modes.of_cell(BSSID, None) == "control"
    assert modes.of_cell(OTHER_BSSID, match("control")) == "observe"
    modes.choose_for_cell(OTHER_BSSID, None)
    modes.choose_for_cell(OTHER_BSSID, None)
    assert modes.of_cells == {}


def test_another_configured_mode_ends_a_choice_for_all_and_none_for_a_cell() -> None:
    modes = Modes("control")
    modes.choose("observe")
    modes.choose_for_cell(BSSID, "control")
    modes.configure("observe")
    assert (modes.chosen, modes.controller) == (None, "observe")
    assert modes.of_cell(OTHER_BSSID, match("control")) == "control"
    assert modes.of_cell(BSSID, None) == "control"
