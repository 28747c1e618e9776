# SPDX-License-Identifier: Apache-2.0
"""How soon the controller knows of associations, disassociations and roams, in a cell of User Mode Linux: with a
hostapd that lists its stations, with one that does not, and without one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.plan import guest_plan
from airbound_lab.run import host
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Cell, ProgramsBeside

pytestmark = pytest.mark.uml

TERMINALS = 3
SOON_MS = 100.0
FIRST, SECOND = "02:00:00:00:00:00", "42:00:00:00:00:00"
SECOND_BSS = f"""bss=wlan0b
bssid={SECOND}
bridge=br0
ctrl_interface=/run/hostapd
ssid=airbound
auth_algs=1
"""


def latencies_ms(notes: list[dict[str, Any]]) -> dict[str, list[float]]:
    """From each event of hostapd to the change of the controller's list that it led to."""
    found: dict[str, list[float]] = {"joined": [], "left": []}
    pairs = {"joined": "listed", "left": "not listed"}
    for index, note in enumerate(notes):
        if note["what"] not in pairs:
            continue
        for later in notes[index + 1 :]:
            if (later["bss"], later["mac"]) != (note["bss"], note["mac"]):
                continue
            if later["what"] == pairs[note["what"]]:
                found[note["what"]].append(later["at_ms"] - note["at_ms"])
                break
            if later["what"] in pairs:
                found[note["what"]].append(float("inf"))  # it was never seen
                break
    return found


@pytest.fixture
def boot_with(
    boot_cell: Callable[..., Cell],
    programs_beside: type[ProgramsBeside],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., dict[str, list[float]]]:
    """Boots a cell whose access point's agent finds such a hostapd; `roams`: one with two BSSs."""

    def boot(kind: str, *, roams: bool = False) -> dict[str, list[float]]:
        control = {"full": "/run/hostapd", "basic": "/run/lab/basic", "none": "/run/lab/no-hostapd"}[kind]
        bsss, more = (f"{FIRST} {SECOND}", "--interface wlan0b") if roams else (FIRST, "")
        if roams:
            plain = guest_plan._hostapd
            monkeypatch.setattr(guest_plan, "_hostapd", lambda *arguments: plain(*arguments) + SECOND_BSS)
        beside = programs_beside(tmp_path, monkeypatch)
        guest = beside.add(host.REPOSITORY / "lab" / "tests" / "associations_guest.py")
        commands = f"""{guest} relay /run/lab/basic >/run/result/log/relay.log 2>&1 &
{beside.AT_CONTROLLER} {guest} observe {bsss} >/run/result/log/observer.log 2>&1 &"""
        beside.start(commands, f"{more} --hostapd-control {control}")
        scenario = Scenario(f"associations, {kind}{', roams' * roams}", (Action(0, "start-traffic"),))
        cell = boot_cell("airbound", scenario=scenario, terminals=TERMINALS, wired_delays_ms=(16.0,), seconds=24)
        notes = json.loads((cell.logs / "associations.json").read_text(encoding="utf-8"))
        found = latencies_ms(notes)
        for what, values in found.items():
            shown = ", ".join(f"{each:.0f}" for each in values)
            print(f"hostapd {kind}{', two BSSs' if roams else ''}: {what}: {len(values)}, after ms: {shown}")  # noqa: T201  (with -s: for the docs)
        return found

    return boot


@pytest.mark.parametrize("kind", ["full", "basic", "none"])
def test_the_controller_knows_of_stations_soon(kind: str, boot_with: Callable[..., dict[str, list[float]]]) -> None:
    for values in boot_with(kind).values():
        assert len(values) == 2 * TERMINALS
        assert max(values) <= SOON_MS


@pytest.mark.parametrize("kind", ["full", "basic", "none"])
def test_the_controller_knows_of_roams_soon(kind: str, boot_with: Callable[..., dict[str, list[float]]]) -> None:
    for values in boot_with(kind, roams=True).values():
        assert len(values) >= 2 * TERMINALS  # to the other BSS and back
        assert max(values) <= SOON_MS
