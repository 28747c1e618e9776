# SPDX-License-Identifier: Apache-2.0
"""What a run of the checks shows at its end, from steps that really ran."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from checks import record, summary

STEP = Path(__file__).parents[2] / "scripts" / "check-step.sh"

PYTHON_TESTS = """
import pytest

def test_good():
    pass

class TestKind:
    @pytest.mark.parametrize("text", ["a b"])
    def test_bad(self, text):
        assert text == "b"

@pytest.fixture
def broken():
    raise OSError("no disk")

def test_without_its_fixture(broken):
    pass
"""

GO_RESULTS = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="2" failures="1" errors="0" time="1.5">
  <testsuite tests="2" failures="1" time="1.5" name="internal/backoff">
    <testcase classname="example.com/airbound/internal/backoff" name="TestGrowth" time="1.25"></testcase>
    <testcase classname="example.com/airbound/internal/backoff" name="TestJitter/half_(0.5)" time="0.25">
      <failure message="Failed" type="">    backoff_test.go:12: got 3 s, want 2 s</failure>
    </testcase>
  </testsuite>
</testsuites>
"""

JAVA_RESULTS = """<testsuites>
<testsuite name="airbound.benchmark.cpu.KernelsTest" tests="1">
  <testcase name="luIsTheOriginals(int)[2]" classname="airbound.benchmark.cpu.KernelsTest" time="0.5">
    <failure message="expected: &lt;1&gt; but was: &lt;2&gt;" type="AssertionFailedError"></failure>
  </testcase>
</testsuite>
</testsuites>
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a run, whose steps are run there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "build" / "checks"


def step(name: str, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CHECK_STEPS": "7", "MAKEFLAGS": ""}
    return subprocess.run([STEP, name, *command], env=environment, capture_output=True, text=True, check=False)


def pytest_step(name: str, content: str) -> int:
    Path("tests").mkdir(exist_ok=True)
    file = Path("tests/test_some.py")
    file.write_text(content, encoding="utf-8")
    arguments = ["-p", "no:cacheprovider", f"--junitxml=build/checks/{name}/junit.xml", "-o", "junit_family=xunit1"]
    return step(name, sys.executable, "-m", "pytest", *arguments, str(file)).returncode


@pytest.mark.usefixtures("run")
def test_a_step_that_passes_is_one_line_with_its_runners_closing_line() -> None:
    done = step("some/step", "echo", "=== 3 passed in 0.10s ===")
    assert done.returncode == 0
    assert done.stdout.split() == [*("1/7", "0", "s", "some/step"), *["===", "3", "passed", "in", "0.10s", "==="]]


@pytest.mark.usefixtures("run")
def test_a_step_that_fails_shows_the_end_of_its_log_and_has_its_exit_code() -> None:
    done = step("some/step", "bash", "-c", "echo first; echo last >&2; exit 3")
    assert done.returncode == 3
    assert "FAILED (exit 3)" in done.stdout
    assert done.stdout.endswith("   | first\n   | last\n")


def test_a_run_that_passed(run: Path) -> None:
    step("programs", "true")
    assert pytest_step("good", "def test_good():\n    pass\n") == 0
    steps = record.read(run, "1", "example.com/airbound")
    assert [each.name for each in steps] == ["good", "programs"]
    assert summary.passed(steps)
    assert summary.failed(steps) == ""
    assert summary.total(steps) == "2 passed, 0 failed"
    assert "tests/test_some.py::test_good" in summary.slowest(steps)


def test_a_check_that_passed_in_an_earlier_run_is_counted_apart(run: Path) -> None:
    step("programs", "true")
    step("kernel/boot", "bash", "-c", 'echo "PASS: 72 tests in the guest; passed at 1f, kept"; echo 1f >"$CHECK_KEPT"')
    steps = record.read(run, "1", "example.com/airbound")
    assert summary.passed(steps)
    assert summary.total(steps) == "2 passed, of them 1 kept by content, 0 failed"
    assert [row.split()[2:] for row in summary.table(steps).splitlines() if "kept" in row] == [["kernel/boot", "kept"]]


def test_cells_that_were_there_are_counted(run: Path) -> None:
    step("cell/a", "bash", "-c", 'echo "3 11" >"$CHECK_CELLS"')
    step("cell/b", "bash", "-c", 'echo "0 2" >"$CHECK_CELLS"')
    steps = record.read(run, "1", "example.com/airbound")
    assert summary.total(steps) == "2 passed, 0 failed; cells: 3 booted, 13 taken from earlier boots"
    rows = [row.split()[2:] for row in summary.table(steps).splitlines()[1:]]
    assert sorted(rows) == [
        ["cell/a", *["3", "of", "14", "cells", "booted"]],
        ["cell/b", *["0", "of", "2", "cells", "booted"]],
    ]


def test_failed_tests_are_named_with_why_and_with_the_command_that_repeats_each(run: Path) -> None:
    assert pytest_step("bad", PYTHON_TESTS) == 1
    steps = record.read(run, "7", "example.com/airbound")
    assert not summary.passed(steps)
    assert summary.total(steps) == "1 passed, 2 failed"
    text = summary.failed(steps)
    assert "FAILED bad: tests/test_some.py::TestKind::test_bad[a b]\n    E       AssertionError: " in text
    assert "again: make check-one TEST='tests/test_some.py::TestKind::test_bad[a b]' SEED=7" in text
    assert "OSError: no disk" in text


def test_a_long_line_of_a_failure_does_not_push_out_the_other_failures(run: Path) -> None:
    assert pytest_step("bad", "def test_bad():\n    raise AssertionError('x' * 5000)\n") == 1
    lines = summary.failed(record.read(run, "1", "example.com/airbound")).splitlines()
    assert max(map(len, lines)) < 200
    assert any(line.startswith("    E   ") and line.endswith("x...") for line in lines)


def test_a_failed_test_of_go_is_named_with_its_package(run: Path) -> None:
    step("go", "false")
    (run / "go" / "junit.xml").write_text(GO_RESULTS, encoding="utf-8")
    steps = record.read(run, "1", "example.com/airbound")
    assert summary.failed(steps) == (
        "FAILED go: ./internal/backoff TestJitter/half_(0.5)\n"
        "    backoff_test.go:12: got 3 s, want 2 s\n"
        r"    again: go test -race -count=1 -run '^TestJitter$/^half_\(0\.5\)$' ./internal/backoff"
    )
    assert summary.slowest(steps).splitlines()[0].split() == ["1.2", "s", "./internal/backoff", "TestGrowth"]


def test_a_failed_test_of_java_is_named_with_its_class(run: Path) -> None:
    step("java", "false")
    (run / "java" / "junit.xml").write_text(JAVA_RESULTS, encoding="utf-8")
    assert summary.failed(record.read(run, "1", "example.com/airbound")) == (
        "FAILED java: KernelsTest#luIsTheOriginals(int)[2]\n"
        "    expected: <1> but was: <2>\n"
        "    again: scripts/test-java.sh -Dtest='KernelsTest#luIsTheOriginals'"
    )


def test_a_step_without_failed_tests_that_fails_is_named_as_a_whole(run: Path) -> None:
    assert pytest_step("no-tests", "") == 5  # of pytest: nothing was collected
    step("lint/c", "bash", "-c", "echo a warning; exit 2")
    steps = record.read(run, "1", "example.com/airbound")
    text = summary.failed(steps)
    assert "FAILED lint/c\n    exit 2\n    a warning\n    again: make check STEPS=lint/c" in text
    assert "FAILED no-tests\n    exit 5\n" in text
    assert summary.total(steps) == "0 passed, 2 failed"


def test_a_skipped_test_counts_as_a_failed_one(run: Path) -> None:
    assert pytest_step("skips", "import pytest\n\ndef test_it():\n    pytest.skip('no radio')\n") == 0
    steps = record.read(run, "1", "example.com/airbound")
    assert not summary.passed(steps)
    assert "FAILED skips: tests/test_some.py::test_it\n    skipped\n" in summary.failed(steps)
    assert summary.total(steps) == "0 passed, 0 failed, 1 skipped"


def test_a_run_without_steps_did_not_pass(run: Path) -> None:
    run.mkdir(parents=True)
    assert not summary.passed(record.read(run, "1", "example.com/airbound"))


def test_results_that_are_no_xml_name_their_file(run: Path) -> None:
    step("go", "true")
    (run / "go" / "junit.xml").write_text("<testsuites>", encoding="utf-8")
    with pytest.raises(ValueError, match=r"go/junit\.xml: no element found"):
        record.read(run, "1", "example.com/airbound")


def test_the_order_of_the_next_run_begins_with_the_longest(run: Path) -> None:
    step("short", "true")
    step("long", "true")
    (run / "long" / "times").write_text("12.3 1.0 0.1\n", encoding="utf-8")
    assert summary.seconds(record.read(run, "1", "example.com/airbound")) == "12 long\n0 short\n"


@pytest.mark.parametrize(
    ("asked", "steps"),
    [
        ("lint/ruf", {"lint/ruff"}),
        ("lint/other", {"lint/ruff", "lint/mypy"}),
        ("other", {"lint/ruff", "controller/core", "kernel/lab-6.12"}),
    ],
)
def test_a_step_that_is_not_there_is_answered_with_those_that_are(asked: str, steps: set[str]) -> None:
    command = [STEP.parent / "test.sh", "steps", "lint/files", asked]
    # A step of make is given make's own variables, of which a make that it starts would complain.
    environment = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS"}}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    before, _, named = done.stderr.partition(". Steps are: ")
    assert before == f"airbound: no such step: {asked}"
    assert steps <= set(named.strip().split(", "))
