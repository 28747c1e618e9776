# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from airbound_lab import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def study(tmp_path: Path, made: list[str]) -> Callable[..., int]:
    """Runs a small study; of the kernel only the version and the hash are asked."""
    assert made == []
    kernel = tmp_path / "linux"
    kernel.write_text("#!/bin/sh\necho 6.1.192\n", encoding="utf-8")
    kernel.chmod(0o755)
    fixed = ["study", "paper", "--kernel", str(kernel), "--directory", str(tmp_path / "out"), "--jobs", "1", "--quick"]
    fixed += ["--terminals", "1,2", "--delays", "4", "--seconds", "4", "--warmup-seconds", "2"]

    def run(*arguments: str) -> int:
        return cli.main([*fixed, *arguments])

    return run


def test_what_is_stored_is_not_made_again(
    study: Callable[..., int], made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ("--modes", "cubic,paper", "--without-series")
    assert study(*only, "--json", str(tmp_path / "study.json")) == 0
    assert made == [f"{mode}, seed 1: {phones} phones" for phones in (1, 2)
                    for mode in ("cubic", "paper-gb", "cubic", "paper-jb")]  # fmt: skip
    shown = capsys.readouterr()
    assert "aarf (radios of 2013): total Mb/s" in shown.out
    assert "GB (Android 2.3), 4 ms" in shown.out
    assert "[8/8]" in shown.err
    assert len(json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))["points"]) == 8
    assert {path.name for path in (tmp_path / "out").glob("*.svg")} == {
        "paper-figures-5-6-aarf.svg", "paper-figures-15-16-aarf.svg",
    }  # fmt: skip

    del made[:]
    assert study(*only, "--seeds", "1..2", "--pictures", str(tmp_path / "pictures"), "--format", "png") == 0
    assert len(made) == 8
    assert all("seed 2" in run for run in made)
    assert len(list((tmp_path / "pictures").glob("*.png"))) == 2


def test_list_shows_what_would_be_run(
    study: Callable[..., int], made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study("--list") == 0
    assert "uplink, 802.11g, aarf (2013), 9 phones, 256 ms" in capsys.readouterr().out
    assert made == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["paper", "--generations", "ics"], "--generations: 'ics' is none of gb, jb"),
        (["paper", "--seconds", "0"], "--seconds: 0: "),
        (["paper", "--json", "/nowhere/study.json", "--modes", "bbr"], "--modes: 'bbr' is none of"),
    ],
)
def test_a_wrong_request_ends_with_status_2_and_the_reason(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["study", *arguments]) == 2
    assert message in capsys.readouterr().err
