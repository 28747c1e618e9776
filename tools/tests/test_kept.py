# SPDX-License-Identifier: Apache-2.0
"""kernel/tests/kept.sh: which checks of a kernel line run again, and which passed before with the same inputs."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

KERNEL = Path(__file__).parents[2] / "kernel"
KEPT = "; passed at "

CHECK = """#!/bin/bash
# Stands for a check: has the kernels built, counts its runs, ends as the file `end` says.
. "{tests}/series/prelude.sh"
use_line 6.12
for name in base series; do
	kernel=$(kernel_path "$name")
	[ -e "$kernel" ] || {{ mkdir -p "$(dirname "$kernel")" && echo built >"$kernel" && chmod +x "$kernel"; }}
done
echo run >>"{runs}"
. "{end}"
"""


class Tree:
    """A copy of kernel/ with a source, programs, a cache and a check of its own."""

    def __init__(self, directory: Path) -> None:
        self.kernel = directory / "kernel"
        shutil.copytree(KERNEL, self.kernel, ignore=shutil.ignore_patterns("__pycache__"))
        self.source = directory / "source.tar.xz"
        self.source.write_text("source\n", encoding="utf-8")
        self.programs = directory / "bin"
        self.programs.mkdir()
        self._program("ip")
        init = self.kernel / "tests" / "guest" / "init.sh"
        text = init.read_text(encoding="utf-8")
        init.write_text(text.replace("export PATH=", f"export PATH={self.programs}:", 1), encoding="utf-8")
        self.end = directory / "end"
        self._runs = directory / "runs"
        self.check = directory / "check.sh"
        script = CHECK.format(tests=self.kernel / "tests", runs=self._runs, end=self.end)
        self.check.write_text(script, encoding="utf-8")
        self.check.chmod(0o755)
        self.note = directory / "note"
        self._environment = {
            **{name: value for name, value in os.environ.items() if name not in {"KEEP", "AGAIN", "SERIES"}},
            "CACHE": str(directory / "cache"),
            "TARBALL": str(self.source),
            "CHECK_KEPT": str(self.note),
        }
        self.ends("echo 'PASS: 3 tests'")

    def _program(self, name: str) -> None:
        program = self.programs / name
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)

    def ends(self, how: str) -> None:
        """Have the check end so; this is no input."""
        self.end.write_text(how, encoding="utf-8")

    def run(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run the check, if it is not kept."""
        command = [self.kernel / "tests" / "kept.sh", "6.12", self.check, *arguments]
        environment = {**self._environment, **settings}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def ran(self) -> int:
        """How often the check ran."""
        return len(self._runs.read_text(encoding="utf-8").splitlines()) if self._runs.exists() else 0


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A tree whose check passed, and would fail from now on: its status shows whether it ran."""
    tree = Tree(tmp_path_factory.mktemp("kept"))
    done = tree.run()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("PASS: 3 tests\nkept at ")
    assert not tree.note.exists()
    tree.ends("exit 3")
    return tree


def test_what_passed_does_not_run_again_and_says_so_with_its_tests(passed: Tree) -> None:
    done = passed.run()
    assert done.returncode == 0
    key = passed.note.read_text(encoding="utf-8").strip()
    assert done.stdout == f"PASS: 3 tests; passed at {key}, kept\n"
    assert passed.ran() == 1


@pytest.mark.parametrize(
    "name",
    [
        "kernel/patches/6.12/0001-tcp-add-rules-that-bound-the-congestion-window.patch",
        "kernel/tests/guest/test_window.py",
        "kernel/tests/stress/load.py",
        "kernel/tests/boot-test.sh",
        "kernel/configs/airbound.config",
        "kernel/android/apply.sh",
        "bin/ip",
        "source.tar.xz",
        "cache/6.12/kernels/series-*/linux",
    ],
)
def test_a_changed_byte_of_an_input_has_it_run_again(passed: Tree, name: str) -> None:
    files = {file: file.read_bytes() for file in passed.kernel.parent.glob(name)}
    assert files
    for file, content in files.items():
        file.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    try:
        assert passed.run().returncode == 3
    finally:
        for file, content in files.items():
            file.write_bytes(content)


def test_other_arguments_and_settings_are_another_check(passed: Tree) -> None:
    assert passed.run("test_stress").returncode == 3
    assert passed.run(BOOT_TEST_SEED="2").returncode == 3


def test_a_script_that_may_not_be_executed_any_more_has_it_run_again(passed: Tree) -> None:
    script = passed.kernel / "tests" / "boot-test.sh"
    mode = script.stat().st_mode
    script.chmod(mode & ~(stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH))
    try:
        assert passed.run().returncode == 3
    finally:
        script.chmod(mode)


@pytest.mark.parametrize(
    ("end", "status"), [("echo 'PASS: 3 tests'; exit 3", 3), ("fail 'KUnit'", 1), ("echo 'Ran 3 tests'", 1)]
)
def test_a_check_that_failed_is_never_kept(tmp_path: Path, end: str, status: int) -> None:
    tree = Tree(tmp_path)
    tree.ends(end)
    assert tree.run().returncode == status
    assert tree.run().returncode == status
    assert tree.ran() == 2
    assert list(tmp_path.glob("cache/6.12/kept/*")) == []


@pytest.mark.parametrize("settings", [{"KEEP": "no"}, {"AGAIN": "1"}])
def test_a_check_that_fails_when_it_runs_again_is_kept_no_more(tmp_path: Path, settings: dict[str, str]) -> None:
    tree = Tree(tmp_path)
    assert tree.run().returncode == 0
    tree.ends("exit 1")
    assert tree.run(**settings).returncode == 1
    assert KEPT not in tree.run().stdout
    assert tree.ran() == 3


def test_an_input_that_changes_while_the_check_runs_is_not_kept(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.ends(f"echo '# later' >>'{tree.kernel}/tests/boot-test.sh'; echo 'PASS: 3 tests'")
    done = tree.run()
    assert done.returncode == 0
    assert "not kept: an input changed" in done.stderr
    assert KEPT not in tree.run().stdout


def test_a_program_that_guests_lack_is_named(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    init = tree.kernel / "tests" / "guest" / "init.sh"
    init.write_text(f"export PATH={tree.programs}\n", encoding="utf-8")
    done = tree.run()
    assert done.returncode == 1
    assert "in guests there are not all of bash cat" in done.stderr
    assert tree.ran() == 0
