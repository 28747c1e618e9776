# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import tomllib

import pytest

from airbound_lab.errors import UsageError
from airbound_lab.settings import modes
from airbound_lab.settings.modes import Mode

BDP = ("--policy", "bdp")
JB = ("--policy", "paper", "--table", "jelly-bean")


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("cubic", Mode("cubic")),
        ("reno", Mode("reno")),
        ("bbr", Mode("bbr")),
        ("bdp", Mode("cubic", BDP, edca=False)),
        ("bdp+vegas", Mode("vegas", BDP, edca=False)),
        ("paper-jb+vegas", Mode("vegas", JB, edca=False)),
        ("bdp+edca", Mode("cubic", BDP, edca=True)),
        ("paper-jb+bbr+edca", Mode("bbr", JB, edca=True)),
        ("airbound", Mode("cubic", ())),
        ("airbound+westwood", Mode("westwood", ())),
        ("airbound+stock", Mode("cubic", (), stock=True)),
        ("mine:decide", Mode("cubic", ("--policy", "mine:decide"), edca=False, policy="mine:decide")),
        ("a.b:C+bbr+edca", Mode("bbr", ("--policy", "a.b:C"), edca=True, policy="a.b:C")),
        ("bdp+vegas+edca+stock", Mode("vegas", BDP, edca=True, stock=True)),
    ],
)
def test_a_name_is_a_mode(name: str, mode: Mode) -> None:
    assert modes.parse(name) == mode


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "none of cubic, reno"),
        ("newreno", "none of cubic, reno"),
        ("bdpp", "did you mean bdp?"),
        ("airbond+vegas", "did you mean airbound?"),
        ("Cubic", "none of cubic, reno"),
        ("cubic+vegas", "only a controller's mode can have a +"),
        ("bdp+", "'' is not one of cubic, reno"),
        ("bdp+newreno", "'newreno' is not one of cubic"),
        ("bdp+cubic", "bdp has cubic already"),
        ("bdp+vegas+bbr", r"'vegas\+bbr' is not one of"),
        ("bdp+edca+vegas", r"'edca\+vegas' is not one of"),
        ("bdp+edca+edca", "'edca' is not one of"),
        ("bdp+stock+edca", r"'stock\+edca' is not one of|'stock' is not one of"),
        ("bdp+stock+stock", "'stock' is not one of"),
        ("cubic+stock", "only a controller's mode can have a +"),
        ("airbound+edca", "airbound sets EDCA parameters already"),
        ("edca", "none of cubic, reno"),
        ("mine:", "nor MODULE:NAME of a policy"),
        (":decide", "nor MODULE:NAME of a policy"),
        ("mine.py:decide:it", "nor MODULE:NAME of a policy"),
        ("../mine:decide", "nor MODULE:NAME of a policy"),
    ],
)
def test_each_mode_has_one_name_and_no_other(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        modes.parse(name)


def test_only_a_congestion_control_alone_runs_without_agents() -> None:
    assert [name for name in modes.NAMED if not modes.parse(name).has_agents] == list(modes.CONGESTION_CONTROLS)
    assert modes.parse("bdp+bbr").qdisc == modes.parse("bbr").qdisc == "fq"


@pytest.mark.parametrize(
    ("mode", "given", "merged"),
    [
        ("airbound", None, None),
        ("airbound", "a = 1\n", "a = 1\n"),
        ("bdp", None, "[edca]\nenabled = false\n"),
        ("bdp", "", "[edca]\nenabled = false\n"),
        ("bdp+edca", None, "[edca]\nenabled = true\n"),
        ("bdp", "a = 1", "a = 1\n[edca]\nenabled = false\n"),
        ("bdp", "[bdp]\ngain = 1.0\n", "[bdp]\ngain = 1.0\n\n[edca]\nenabled = false\n"),
        ("bdp", "edca = {enabled = false}\n", "edca = {enabled = false}\n"),
        ("bdp", "[edca] # x\naifsn = 5\n[bdp]\n", "[edca] # x\nenabled = false\naifsn = 5\n[bdp]\n"),
    ],
)
def test_a_mode_without_edca_says_so_to_the_controller(mode: str, given: str | None, merged: str | None) -> None:
    assert modes.controller_config(modes.parse(mode), given) == merged
    if merged is not None:
        tomllib.loads(merged)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("a = ", "--controller-config: not TOML: "),
        ("[edca]\nenabled = true\n", "the mode decides edca.enabled"),
        ("edca.enabled = true\n", "the mode decides edca.enabled"),
        ("edca = {enabled = true}\n", "the mode decides edca.enabled"),
        ("edca = 3\n", "the mode decides edca.enabled"),
        ('a = """\n[edca]\n"""\nedca.aifsn = 5\n', "the mode decides edca.enabled"),
    ],
)
def test_a_configuration_that_cannot_be_merged_is_refused(given: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        modes.controller_config(modes.parse("bdp"), given)


def test_an_entry_point_is_a_mode_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "entry_points", lambda: {"ours": "mine:decide", "bdp": "mine:other"})
    ours = Mode("vegas", ("--policy", "mine:decide"), edca=False, policy="mine:decide")
    assert modes.parse("ours+vegas") == ours
    assert modes.parse("bdp") == Mode("cubic", BDP, edca=False)  # no entry point takes the place of ours
