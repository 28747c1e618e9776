# SPDX-License-Identifier: Apache-2.0
"""What the steps of a run of the tests share: a cell that was booted for one is not booted for another."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def boot(tmp_path: Path, booted: Any) -> Callable[[str], tuple[str, Path]]:
    """Ask for a cell; each boot leaves a line in `boots`, and one of its logs."""

    def run(logs: Path) -> str:
        with (tmp_path / "boots").open("a", encoding="utf-8") as file:
            file.write("booted\n")
        logs.mkdir()
        (logs / "console.log").write_text("ready", encoding="utf-8")
        return "figures"

    def ask(request: str) -> tuple[str, Path]:
        found: tuple[str, Path] = booted(tmp_path / "cells").once(request, run)
        return found

    return ask


def boots(tmp_path: Path) -> int:
    return (tmp_path / "boots").read_text(encoding="utf-8").count("booted")


def test_equal_requests_are_booted_once(tmp_path: Path, boot: Callable[[str], tuple[str, Path]]) -> None:
    run, logs = boot("five phones")
    assert run == "figures"
    assert (logs / "console.log").read_text(encoding="utf-8") == "ready"
    assert boot("five phones") == (run, logs)
    assert boots(tmp_path) == 1
    assert boot("six phones")[1] != logs
    assert boots(tmp_path) == 2


def test_processes_that_ask_at_the_same_time_boot_once(tmp_path: Path, boot: Callable[[str], tuple[str, Path]]) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=boot, args=("five phones",)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert boots(tmp_path) == 1


def test_a_boot_that_failed_is_tried_again(tmp_path: Path, boot: Callable[[str], Any], booted: Any) -> None:
    def fail(logs: Path) -> str:
        logs.mkdir()
        raise LabError("the guest ended early")

    with pytest.raises(LabError):
        booted(tmp_path / "cells").once("five phones", fail)
    assert boot("five phones")[0] == "figures"
