# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airbound_lab import cli
from airbound_lab.medium import attempts

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import MakeAttempt


@pytest.fixture
def trace(attempt: MakeAttempt, tmp_path: Path) -> Path:
    """The file of a run with a collision, a loss, and the access point."""
    path = tmp_path / "bdp@aifsn=4-1" / "medium.csv"
    path.parent.mkdir()
    found = [
        *(attempt(500 * number, number % 3) for number in range(100)),
        *(attempt(50_000, station, outcome="collision") for station in (1, 2)),
        attempt(52_000, outcome="loss"),
    ]
    path.write_text(attempts.to_csv(found), encoding="utf-8")
    return path


def test_a_panel_for_each_file_the_same_every_time(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = []
    for name in ("a.svg", "b.svg"):
        assert cli.main(["medium", str(trace), str(trace), "--milliseconds", "60", "--out", str(tmp_path / name)]) == 0
        drawn.append((tmp_path / name).read_text(encoding="utf-8"))
    assert drawn[0] == drawn[1]
    for text in (">AP<", ">phone 2<", "delivered", "collision", "loss", "waits for the air", "2 % of attempts collide"):
        assert text in drawn[0]
    assert drawn[0].count(">bdp@aifsn=4-1<") == 2
    assert "bdp@aifsn=4-1" in capsys.readouterr().out


def test_panels_may_have_titles(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["medium", str(trace), "--title", "with the wait", "--out", str(tmp_path / "a.png")]) == 0
    assert "with the wait" in capsys.readouterr().out
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_without_a_picture_there_are_the_figures(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["medium", str(trace)]) == 0
    assert "attempts that collide" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--title", "a", "--title", "b"], "--title: 2 titles for 1 files"),
        (["--milliseconds", "0"], "--milliseconds: 0 is not within"),
        (["--milliseconds", "nan"], "--milliseconds: nan is not within"),
        (["--milliseconds", "1001"], "--milliseconds: 1001 is not within"),
        (["--out", "picture"], "--out: picture ends neither in .svg nor in .png"),
        (["--out", "/dev/null/a.svg"], "cannot write to /dev/null"),
        (["/nowhere/medium.csv"], "cannot read /nowhere/medium.csv"),
    ],
)
def test_a_wrong_request_ends_with_status_2_and_the_reason(
    arguments: list[str], message: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["medium", str(trace), *arguments]) == 2
    assert message in capsys.readouterr().err
