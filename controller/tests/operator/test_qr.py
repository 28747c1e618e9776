# SPDX-License-Identifier: Apache-2.0
"""The QR code of a terminal, read back as a scanner would: by its modules."""

import io

import pytest
import segno

from airbound.operator import color, pki_commands, qr
from airbound.operator.printable import output

JOINING = "airbound1:controller.example:50051:50053:" + "A" * 66
MODULES = {" ": (0, 0), "▄": (0, 1), "▀": (1, 0), "█": (1, 1)}


def modules(code: str) -> list[list[int]]:
    """Dark modules are 1; the colours are gone."""
    rows: list[list[int]] = []
    for line in code.splitlines():
        pairs = [MODULES[char] for char in line if char in MODULES]
        rows += [[above for above, _ in pairs], [below for _, below in pairs]]
    return rows


@pytest.mark.parametrize("colours", [True, False])
def test_the_modules_are_those_of_the_code(colours: bool) -> None:  # noqa: FBT001
    found = modules(qr.text(JOINING, colours=colours))
    if not colours:
        found = [[1 - module for module in row] for row in found]
    margin = qr.QUIET_MODULES
    width = len(found[0])
    inner = [row[margin : width - margin] for row in found[margin : width - margin]]
    assert inner == [list(row) for row in segno.make(JOINING, error="l", micro=False).matrix]
    outside = [*found[:margin], *found[width - margin :]]
    assert sum(map(sum, outside)) == 0


def test_it_fits_a_terminal_of_80_columns_and_stays_as_it_is() -> None:
    code = qr.text(JOINING, colours=True)
    assert qr.columns(code) <= 80
    assert len(code.splitlines()) <= 26
    assert output(code) == code
    assert code.count(f"\x1b[{color.BLACK_ON_WHITE}m") == len(code.splitlines())


class Terminal(io.TextIOWrapper):
    """Standard output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """One of 80 columns that can show colours."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal(io.BytesIO(), encoding="utf-8")


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("COLUMNS", "40")])
def test_only_a_terminal_with_room_has_one(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    assert terminal.isatty()
    assert pki_commands._code(JOINING, terminal) == qr.text(JOINING, colours=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert pki_commands._code(JOINING, terminal) == qr.text(JOINING, colours=False)
    monkeypatch.setenv(name, value)
    assert pki_commands._code(JOINING, terminal) == ""


def test_a_file_has_none() -> None:
    assert pki_commands._code(JOINING, io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) == ""


def test_a_terminal_without_its_characters_has_none(terminal: Terminal) -> None:
    assert pki_commands._code(JOINING, terminal)
    terminal.reconfigure(encoding="ascii")
    assert pki_commands._code(JOINING, terminal) == ""
