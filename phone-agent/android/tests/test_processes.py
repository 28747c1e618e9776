# SPDX-License-Identifier: Apache-2.0
"""Whether the module's scripts recognise a process of theirs, by files as those of /proc."""

import subprocess
import time
from pathlib import Path

import pytest

COMMON = Path(__file__).parents[1] / "module" / "common.sh"
# Instead of 0.1 s: until the test allows it.
SLEEP = """sleep() {
	: >"$WAITS"
	until [ -e "$GO" ]; do command sleep 0.05; done
}"""
PARAMETERS = pytest.mark.parametrize("shell", [["mksh"], ["busybox", "ash"]], ids=["mksh", "ash"])


class Processes:
    """A module's directory and a /proc with one process."""

    def __init__(self, path: Path) -> None:
        self.module, self.proc, self.number = path / "module", path / "proc", path / "pid"
        (self.proc / "42").mkdir(parents=True)
        self.number.write_text("42\n", encoding="utf-8")
        self.state("S")

    def words(self, *words: str) -> None:
        (self.proc / "42" / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in words))

    def state(self, letter: str) -> None:
        (self.proc / "42" / "stat").write_text(f"42 (a ) name) {letter} 1 42 42 0 -1\n", encoding="utf-8")

    def asked(self, shell: list[str], before: str = "") -> subprocess.Popen[bytes]:
        asks = f'is_alive {self.number} && [ "$pid" = 42 ]'
        return subprocess.Popen([*shell, "-c", f"MODDIR={self.module}; . {COMMON}; PROC={self.proc}; {before}\n{asks}"])

    def is_alive(self, shell: list[str]) -> bool:
        return self.asked(shell).wait(60) == 0


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


@PARAMETERS
def test_the_loop_and_the_agent_are_alive(shell: list[str], processes: Processes) -> None:
    processes.words("sh", f"{processes.module}/service.sh", "loop")
    assert processes.is_alive(shell)
    processes.words("sh", "-c", "echo", "airbound", "run/agent.pid", f"{processes.module}/bin/airbound-phone")
    assert processes.is_alive(shell)


@PARAMETERS
def test_a_process_that_is_just_executing_its_program_is_alive(shell: list[str], processes: Processes) -> None:
    """Its command line is empty for a moment: execve exchanges the memory first, and the words' address is set by the
    loader (fs/exec.c, fs/binfmt_elf.c). A second start right after the first took it for dead, and began a second loop.
    """
    processes.words()
    waits, go = processes.number.with_name("waits"), processes.number.with_name("go")
    asked = processes.asked(shell, f"WAITS={waits} GO={go}\n{SLEEP}")
    while not waits.exists():
        assert asked.poll() is None, "it did not wait"
        time.sleep(0.01)
    processes.words("sh", f"{processes.module}/service.sh", "loop")
    go.touch()
    assert asked.wait(60) == 0


@PARAMETERS
@pytest.mark.parametrize("letter", ["Z", "X"])
def test_one_that_has_ended_is_not(shell: list[str], letter: str, processes: Processes) -> None:
    processes.words()
    processes.state(letter)
    assert not processes.is_alive(shell)


@PARAMETERS
def test_a_thread_of_the_kernel_is_not_waited_for_without_end(shell: list[str], processes: Processes) -> None:
    processes.words()
    assert not processes.is_alive(shell)


@PARAMETERS
def test_what_is_no_process_of_the_module(shell: list[str], processes: Processes) -> None:
    processes.words("sh", "/data/adb/modules/another/service.sh", "loop")
    assert not processes.is_alive(shell)
    processes.words("sh", f"{processes.module}/service.sh", "loop")
    for garbage in ("", "one", "43"):
        processes.number.write_text(f"{garbage}\n", encoding="utf-8")
        assert not processes.is_alive(shell), garbage
    processes.number.unlink()
    assert not processes.is_alive(shell)
