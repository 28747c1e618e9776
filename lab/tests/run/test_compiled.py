# SPDX-License-Identifier: Apache-2.0
"""Compiled Python for the guest: which modules, and that a process takes them from there and from nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from airbound_lab.errors import LabError
from airbound_lab.run import compiled

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> None:
    compiled.directory.cache_clear()


@pytest.fixture
def sources(tmp_path: Path) -> frozenset[tuple[str, str]]:
    """A controller, and packages of which it needs one. In the guest they are where they are here."""
    controller, packages = tmp_path / "controller", tmp_path / "packages"
    write(controller / "airbound" / "core.py", "VALUE = 'first'\n")
    write(controller / "tests" / "test_core.py", "VALUE = 'of no use'\n")
    distribution(packages, "airbound", "Needed_One>=1.2,<2", 'os-ken>=4; extra == "openflow"', 'other; extra == "more"')
    distribution(packages, "needed-one", "deeper")
    distribution(packages, "deeper", "airbound")
    distribution(packages, "os-ken")
    distribution(packages, "other")
    return frozenset((str(path), str(path)) for path in (controller, packages))


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def distribution(packages: Path, name: str, *requires: str) -> None:
    """Install a distribution with one module."""
    module = name.replace("-", "_")
    if name != "airbound":
        write(packages / f"{module}.py", "VALUE = 1\n")
    folder = packages / f"{module}-1.3.dist-info"
    lines = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    write(folder / "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.3\n{lines}")
    write(folder / "RECORD", "" if name == "airbound" else f"{module}.py,,\n../../../bin/{module}.py,,\n")


def made(tmp_path: Path, sources: frozenset[tuple[str, str]]) -> Path:
    compiled.directory.cache_clear()
    return compiled.directory(sys.executable, sources, tmp_path / "cache")


def names(directory: Path, tmp_path: Path) -> set[str]:
    below = directory / tmp_path.relative_to("/")
    return {str(file.relative_to(below)).split(".")[0] for file in directory.rglob("*.pyc")}


def test_the_controller_and_what_it_needs_are_compiled(tmp_path: Path, sources: frozenset[tuple[str, str]]) -> None:
    wanted = {"controller/airbound/core", "packages/needed_one", "packages/deeper", "packages/os_ken"}
    assert names(made(tmp_path, sources), tmp_path) == wanted


def test_a_process_takes_modules_from_there_and_does_not_look_at_the_source(
    tmp_path: Path, sources: frozenset[tuple[str, str]]
) -> None:
    prefix = made(tmp_path, sources)
    core = tmp_path / "controller" / "airbound" / "core.py"
    write(core, "VALUE = 'second, of another length'\n")

    def value(prefix: Path) -> str:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": str(prefix), "PYTHONPATH": str(tmp_path / "controller")}
        command = [sys.executable, "-S", "-c", "import airbound.core; print(airbound.core.VALUE)"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert value(prefix) == "first"
    assert value(made(tmp_path, sources)) == "second, of another length"


def test_equal_sources_give_the_same_directory_and_are_compiled_once(
    tmp_path: Path, sources: frozenset[tuple[str, str]]
) -> None:
    first = made(tmp_path, sources)
    files = {file: file.stat().st_mtime_ns for file in first.rglob("*.pyc")}
    (tmp_path / "packages" / "other.py").write_text("VALUE = 2\n", encoding="utf-8")  # not needed
    assert made(tmp_path, sources) == first
    write(tmp_path / "controller" / "airbound" / "more.py", "")
    second = made(tmp_path, sources)
    assert second != first
    for file, written_ns in files.items():
        assert (second / file.relative_to(first)).stat().st_mtime_ns == written_ns


def test_the_cache_does_not_matter_for_what_is_compiled(tmp_path: Path, sources: frozenset[tuple[str, str]]) -> None:
    first = compiled.directory(sys.executable, sources, tmp_path / "cache")
    second = compiled.directory(sys.executable, sources, tmp_path / "elsewhere" / "cache")
    assert first.name == second.name
    for file in first.rglob("*.pyc"):
        assert file.read_bytes() == (second / file.relative_to(first)).read_bytes()


def test_a_module_that_is_no_python_is_named(tmp_path: Path, sources: frozenset[tuple[str, str]]) -> None:
    write(tmp_path / "controller" / "airbound" / "broken.py", "VALUE =\n")
    with pytest.raises(LabError, match=r"airbound/broken\.py"):
        made(tmp_path, sources)
