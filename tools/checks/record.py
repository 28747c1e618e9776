# SPDX-License-Identifier: Apache-2.0
"""What the steps of a run left: times, exit codes, results of tests in JUnit's format."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from pathlib import Path

TAIL_LINES = 12
"""Of the log of a failed step that has no test to name."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test of pytest, of Go or of Java."""

    name: str
    """As the runner takes it: `lab/tests/test_boot.py::test_x`, `./internal/backoff TestX/case`, `RoundsTest#x()`."""
    seconds: float
    failure: str | None
    """Its message, if it failed or could not be set up."""
    skipped: bool
    repeat: str
    """The command that runs it alone."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step."""

    name: str
    exit_code: int
    elapsed_s: float
    processor_s: float
    tests: tuple[Test, ...]
    kept: bool
    """Whether it did not run, since it had passed before with the same inputs (kernel/tests/kept.sh)."""
    booted_cells: int
    """Cells of the lab that its tests ran on and that were booted for that (lab/tests/kept_cells.py)."""
    taken_cells: int
    """The others: they had been booted before with the same inputs, in this run or an earlier one."""
    tail: str
    """The end of its log."""


def read(directory: Path, seed: str, module: str) -> list[Step]:
    """Read all steps of a run that ended, in the order of their names; `module` is the path of the Go module.

    Raises:
        OSError: a file of a step is missing.
        ValueError: a file of a step is not what scripts/check-step.sh writes, or its tests' results are no XML.
    """
    folders = [times.parent for times in sorted(directory.rglob("times"))]
    return [_step(folder, str(folder.relative_to(directory)), seed, module) for folder in folders]


def _step(directory: Path, name: str, seed: str, module: str) -> Step:
    elapsed_s, user_s, system_s = map(float, (directory / "times").read_text(encoding="utf-8").split())
    results = directory / "junit.xml"
    tests = _tests(results, seed, module) if results.exists() else ()
    lines = (directory / "log").read_text(encoding="utf-8", errors="replace").splitlines()
    exit_code = int((directory / "status").read_text(encoding="utf-8"))
    kept = (directory / "kept").exists()
    cells = directory / "cells"
    booted, taken = map(int, cells.read_text(encoding="utf-8").split()) if cells.exists() else (0, 0)
    tail = "\n".join(lines[-TAIL_LINES:])
    return Step(name, exit_code, elapsed_s, user_s + system_s, tests, kept, booted, taken, tail)


def _tests(path: Path, seed: str, module: str) -> tuple[Test, ...]:
    try:
        root = ElementTree.parse(path).getroot()  # noqa: S314  (written by our own test runners)
    except ElementTree.ParseError as error:
        raise ValueError(f"{path}: {error}") from error
    return tuple(_test(case, seed, module) for case in root.iter("testcase"))


def _test(case: ElementTree.Element, seed: str, module: str) -> Test:
    failures = [found for kind in ("failure", "error") if (found := case.find(kind)) is not None]
    failure = "\n".join(_message(found) for found in failures) if failures else None
    if case.get("file"):
        name, repeat = _pytest(case, seed)
    elif (case.get("classname") or "").startswith(module):
        name, repeat = _go(case, module)
    else:
        name, repeat = _java(case)
    return Test(name, float(case.get("time") or 0), failure, case.find("skipped") is not None, repeat)


def _message(failure: ElementTree.Element) -> str:
    """Return why a test failed: pytest's lines with E, else the attribute, else what the test printed."""
    text = failure.text or ""
    errors = [line for line in text.splitlines() if line.startswith("E ")]
    if errors:
        return "\n".join(errors)
    return text.strip() or failure.get("message") or ""


def _pytest(case: ElementTree.Element, seed: str) -> tuple[str, str]:
    file = case.get("file") or ""
    module = file.removesuffix(".py").replace("/", ".")
    # Behind the module the class's name has the classes that the test is in.
    classes = [name for name in (case.get("classname") or "").removeprefix(module).split(".") if name]
    name = "::".join([file, *classes, case.get("name") or ""])
    return name, f"make check-one TEST={shlex.quote(name)} SEED={seed}"


def _go(case: ElementTree.Element, module: str) -> tuple[str, str]:
    package = "." + (case.get("classname") or "").removeprefix(module)
    name = case.get("name") or ""
    pattern = "/".join(f"^{re.escape(part)}$" for part in name.split("/"))
    return f"{package} {name}", f"go test -race -count=1 -run {shlex.quote(pattern)} {package}"


def _java(case: ElementTree.Element) -> tuple[str, str]:
    kind = (case.get("classname") or "").rpartition(".")[2]
    name = case.get("name") or ""
    # A parameterized test has its parameters behind its name: Surefire repeats all of them.
    method = re.split(r"[({\[]", name)[0]
    return f"{kind}#{name}", f"scripts/test-java.sh -Dtest={shlex.quote(f'{kind}#{method}')}"
