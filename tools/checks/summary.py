# SPDX-License-Identifier: Apache-2.0
"""Texts about a run: a table of its steps, its slowest tests, what failed and how to repeat it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checks.record import Step, Test

SLOWEST_TESTS = 20
MESSAGE_LINES = 12
MESSAGE_COLUMNS = 160
"""Of what a failure says; the rest is in the step's log. Whoever sees only a run's end still sees every failure."""


def text(steps: Sequence[Step], elapsed_s: float) -> str:
    """Return all that a run shows at its end; what failed is last but for the sums."""
    processor_s = sum(step.processor_s for step in steps)
    parts = [
        f"{len(steps)} steps in {elapsed_s:.0f} s, {processor_s:.0f} s of processors\n{table(steps)}",
        f"The slowest tests\n{slowest(steps)}",
        failed(steps),
        total(steps),
    ]
    return "".join(f"\n{part}\n" for part in parts if part)


def passed(steps: Sequence[Step]) -> bool:
    """Whether there were steps, each ended well, and no test was skipped: a skipped test counts as a failed one."""
    return bool(steps) and not any(step.exit_code != 0 or _skipped(step) for step in steps)


def table(steps: Sequence[Step]) -> str:
    """Return the steps with their times, the longest first."""
    rows = [f"{'elapsed s':>9} {'processor s':>11} {'tests':>6}  step"]
    for step in sorted(steps, key=lambda step: -step.elapsed_s):
        mark = "  kept" if step.kept else ""
        if step.booted_cells or step.taken_cells:
            mark = f"  {step.booted_cells} of {step.booted_cells + step.taken_cells} cells booted"
        mark = mark if step.exit_code == 0 else f"  FAILED (exit {step.exit_code})"
        rows.append(f"{step.elapsed_s:9.0f} {step.processor_s:11.0f} {len(step.tests) or '':>6}  {step.name}{mark}")
    return "\n".join(rows)


def slowest(steps: Sequence[Step]) -> str:
    """Return the tests that took the longest, set-up included."""
    tests = sorted((test for step in steps for test in step.tests), key=lambda test: -test.seconds)
    return "\n".join(f"{test.seconds:9.1f} s  {test.name}" for test in tests[:SLOWEST_TESTS])


def failed(steps: Sequence[Step]) -> str:
    """Return which tests failed or were skipped, why, and the command that repeats each.

    A step that failed without a failed test is named as a whole.
    """
    return "\n".join(failure for step in steps for failure in _failures(step))


def _failures(step: Step) -> list[str]:
    tests = [test for test in step.tests if test.failure is not None]
    found = [_failure(f"{step.name}: {test.name}", test.failure or "", test.repeat) for test in tests]
    found += [_failure(f"{step.name}: {test.name}", "skipped", test.repeat) for test in _skipped(step)]
    if step.exit_code != 0 and not tests:
        found.append(_failure(step.name, f"exit {step.exit_code}\n{step.tail}", f"make check STEPS={step.name}"))
    return found


def _failure(name: str, why: str, repeat: str) -> str:
    lines = [f"    {_cut(line)}" for line in why.splitlines()]
    if len(lines) > MESSAGE_LINES:
        lines[MESSAGE_LINES:] = ["    ..."]
    return "\n".join([f"FAILED {name}", *lines, f"    again: {repeat}"])


def _cut(line: str) -> str:
    return line if len(line) <= MESSAGE_COLUMNS else f"{line[: MESSAGE_COLUMNS - 3]}..."


def total(steps: Sequence[Step]) -> str:
    """Return the sums as test runners print them. A step without a record of tests counts as one.

    Those that passed in an earlier run, and did not run in this one, are counted among the others and apart.
    """
    passes = kept = failures = skips = booted = taken = 0
    for step in steps:
        bad = sum(test.failure is not None for test in step.tests)
        skipped = len(_skipped(step))
        passes += len(step.tests) - bad - skipped
        failures += bad
        skips += skipped
        booted += step.booted_cells
        taken += step.taken_cells
        if not step.tests:
            passes += step.exit_code == 0
            kept += step.exit_code == 0 and step.kept
        if step.exit_code != 0 and not bad:
            failures += 1
    return "".join(
        [
            f"{passes} passed",
            f", of them {kept} kept by content" if kept else "",
            f", {failures} failed",
            f", {skips} skipped" if skips else "",
            f"; cells: {booted} booted, {taken} taken from earlier boots" if booted or taken else "",
        ]
    )


def _skipped(step: Step) -> list[Test]:
    return [test for test in step.tests if test.skipped]


def seconds(steps: Sequence[Step]) -> str:
    """Return what scripts/check-seconds.txt has: for each step how long it took, the longest first."""
    ordered = sorted(steps, key=lambda step: (-round(step.elapsed_s), step.name))
    return "".join(f"{step.elapsed_s:.0f} {step.name}\n" for step in ordered)
