# SPDX-License-Identifier: Apache-2.0
"""`airbound check` in a cell whose phones upload: it finds that Airbound makes round trips shorter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Cell, ProgramsBeside

pytestmark = pytest.mark.uml

ASKED_AT_S, LENGTH_S = 12, 620


def test_a_check_finds_what_is_there(boot_cell: Callable[..., Cell]) -> None:
    cell = boot_cell(
        "airbound", phy="11g", ap="openwrt", kernel_line="6.12", terminals=3, wired_delays_ms=(16.0,),
        check_minutes=5, seconds=320,
    )  # fmt: skip
    found = cell.run.check
    assert found is not None
    assert found.pairs == 3
    assert found.rtt is not None
    assert found.rtt.sign == -1
    assert found.carried.sign >= 0


def test_an_access_point_asks_for_a_check_and_shows_what_it_found(
    boot_cell: Callable[..., Cell],
    programs_beside: type[ProgramsBeside],
    tmp_path: Path,
) -> None:
    """`airbound-ap check` beside a real agent and a real controller: the controller's course, the agent's status."""
    with pytest.MonkeyPatch.context() as patch:
        beside = programs_beside(tmp_path, patch)
        state, log = "--state-dir /run/lab/ap", "/run/result/log"
        beside.start(f"""(
            sleep {ASKED_AT_S}
            {beside.AGENT} check {state} >{log}/asked.log 2>&1
            sleep 60
            {beside.AGENT} check {state} >{log}/again.log 2>&1
            {beside.AGENT} status {state} >{log}/during.log 2>&1
            sleep {LENGTH_S - 60}
            {beside.AGENT} status {state} >{log}/after.log 2>&1
            {beside.AGENT} check {state} >{log}/too-soon.log 2>&1
            sleep 3
            {beside.AGENT} status {state} >{log}/end.log 2>&1
        ) &""")
        cell = boot_cell(
            "airbound", phy="11g", ap="openwrt", kernel_line="6.12", terminals=3, wired_delays_ms=(16.0,),
            seconds=ASKED_AT_S + LENGTH_S + 10,
        )  # fmt: skip

    def said(name: str) -> str:
        return (cell.logs / "log" / f"{name}.log").read_text(encoding="utf-8")

    assert "wlan0: asked for" in said("asked")
    assert "a check runs already" in said("again")
    assert "check        turn 2 of 12\n" in said("during")
    verdict = r"It is worth it here: .*, and round trips are shorter\.\n"
    assert re.search(rf"^check        {verdict}", said("after"), re.MULTILINE)
    assert re.search(rf"^last check   {verdict}", said("end"), re.MULTILINE)
    assert "check        none: the last check began" in said("end")
    for name in ("after", "end"):
        assert ", 3.0 senders of 3 stations, 6 pairs of turns of 50 s" in said(name)
        assert "mode         control:" in said(name)
    modes = re.findall(r" info mode 02:00:00:00:00:00 (\w+)\n", said("controller"))
    turns = ["observe", "control", "control", "observe"] * 3
    assert modes[: len(turns)] == turns
    assert set(modes[len(turns) :]) <= {"configured", "observe", "control"}
