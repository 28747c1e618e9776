# SPDX-License-Identifier: Apache-2.0
"""Modes that no table of colours names, and the radio, in the pictures of results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from airbound_lab.report import plot
from airbound_lab.settings.modes import NAMED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from airbound_lab.figures.results import Results


def test_each_mode_has_a_colour_and_policies_from_outside_have_different_ones() -> None:
    modes = (*NAMED, "mine:decide", "bdp@aifsn=4", "yours:decide+bbr", "mine:decide@tls")
    colours = {mode: plot._mode_colour(mode, modes) for mode in modes}
    assert colours["bdp@aifsn=4"] == colours["bdp"]
    assert colours["mine:decide@tls"] == colours["mine:decide"]
    assert len({colours[mode] for mode in (*NAMED, "mine:decide", "yours:decide+bbr")}) == len(NAMED) + 2


def test_a_mode_of_ours_has_a_colour_of_its_own() -> None:
    assert set(NAMED) - plot.MODE_COLOURS.keys() == set(), "add its colour to lab/airbound_lab/report/plot.py"


def test_pictures_name_the_mode_and_the_radio(make_results: Callable[..., Results], tmp_path: Path) -> None:
    own = "mine:decide@config=a/b.toml"
    made = make_results(modes=("cubic", "mine:decide"))
    parameters = replace(made.parameters, modes=("cubic", own))
    results = replace(made, parameters=parameters, runs=(made.runs[0], replace(made.runs[1], mode=own)))
    paths = plot.write_all(results, tmp_path / "out", "svg")
    assert [path.name for path in paths] == [
        "totals.svg",
        "phones-cubic.svg",
        "phones-mine:decide@config=a_b.toml.svg",
    ]
    for path in paths:
        assert "802.11g" in path.read_text(encoding="utf-8"), path
