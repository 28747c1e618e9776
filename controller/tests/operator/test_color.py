# SPDX-License-Identifier: Apache-2.0

import io

import pytest

from airbound.operator.color import BOLD, is_wanted, paint


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("when", "terminal", "environment", "expected"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),  # as no-color.org has it
        ("auto", True, {"TERM": "dumb"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {}, False),
    ],
)
def test_colours_are_for_terminals(
    monkeypatch: pytest.MonkeyPatch, when: str, *, terminal: bool, environment: dict[str, str], expected: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert is_wanted(when, Terminal() if terminal else io.StringIO()) == expected  # type: ignore[arg-type]


def test_nothing_is_painted_without_text_or_style() -> None:
    assert paint("x", BOLD) == "\x1b[1mx\x1b[0m"
    assert paint("x", "") == "x"
    assert paint("", BOLD) == ""
