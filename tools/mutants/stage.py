# SPDX-License-Identifier: Apache-2.0
"""Runs tests in a copy of the working tree, with a limit that depends on what the unmutated code takes."""

from __future__ import annotations

import contextlib
import enum
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

CPU_FACTOR, CPU_EXTRA_S = 3, 10
"""Processor time of one process of a mutant's tests, from that of all processes of the unmutated run."""
WALL_FACTOR, WALL_EXTRA_S = 5, 60
"""A mutant may also wait for ever. The machine may be busy with other things, hence more generous."""
MEMORY_BYTES = 4 * 1024**3
"""Of all processes of a run; a loop without end may also fill the memory. Looked at every second rather than limited by
the kernel: sanitizers reserve terabytes of addresses."""

_NO_PROGRAM = re.compile(r"\[(build|setup) failed\]")
_TIMED_OUT = re.compile(r"panic: test timed out|signal: (killed|CPU time limit exceeded)")


class Stage(NamedTuple):
    """A command that tests a file; it exits with 0 if nothing was noticed."""

    command: tuple[str, ...]


class Outcome(enum.Enum):
    """What became of a mutant."""

    NOTICED = "noticed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    NO_PROGRAM = "does not compile"


class UnmutatedFailsError(Exception):
    """The tests fail with the code as it is."""


class StoppedError(Exception):
    """No more tests are run."""


@dataclass(frozen=True, slots=True)
class _Limit:
    cpu_s: float
    wall_s: float


_UNMUTATED = _Limit(1800, 1800)


class _Run(NamedTuple):
    code: int
    output: str
    wall_s: float
    timed_out: bool


class Copies:
    """Copies of the working tree in a temporary directory, one per worker and an unmutated one. Leaving removes them.

    Nothing is ever written to the tree itself: what is left after an interruption, even by SIGKILL, is unmutated.
    """

    def __init__(self, root: Path, count: int) -> None:
        self._root = root
        # Short names: tests put sockets far below these, and a socket's path has at most 107 characters.
        self._base = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.unmutated = self._base / "u"
        self._free = [self._base / str(number) for number in range(count)]
        self._lock = threading.Lock()
        self._measuring = threading.Lock()
        self._limits: dict[Stage, _Limit] = {}
        self._running: set[subprocess.Popen[str]] = set()
        self._stamp_s = int(time.time())
        self._closed = False
        self.flaky: list[str] = []
        """What unmutated code gave where tests failed at first and then did not."""

    def __enter__(self) -> Self:
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self._root, check=True, capture_output=True, text=True,
        ).stdout.split("\0")  # fmt: skip
        for copy in [self.unmutated, *self._free]:
            for name in filter(None, names):
                if (self._root / name).is_file():
                    target = copy / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(self._root / name, target, follow_symlinks=False)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._base, ignore_errors=True)

    def stop(self) -> None:
        """End all tests that run and begin no other."""
        with self._lock:
            self._closed = True
            for process in self._running:
                _kill(process)

    def test(self, path: str, mutated: str, stages: list[Stage]) -> tuple[Outcome, str]:
        """Run the stages on one mutant until one of them notices it; the outcome and the output of the last run.

        Raises:
            UnmutatedFailsError: a stage fails with the code as it is.
        """
        with self._lock:
            copy = self._free.pop()
        file = copy / path
        original = file.read_text()
        try:
            self._write(file, mutated)
            return self._stages(copy, stages)
        finally:
            self._write(file, original)
            with self._lock:
                self._free.append(copy)

    def _stages(self, copy: Path, stages: list[Stage]) -> tuple[Outcome, str]:
        for stage in stages:
            run = self._run(copy, stage, self._limit(stage))
            if run.code == 0:
                continue
            if _NO_PROGRAM.search(run.output):
                return Outcome.NO_PROGRAM, run.output
            return (Outcome.TIMED_OUT if run.timed_out else Outcome.NOTICED), run.output
        return Outcome.SURVIVED, run.output

    def _write(self, file: Path, text: str) -> None:
        # Python takes cached bytecode if size and modification time (in seconds) agree: no two writes share a time.
        with self._lock:
            self._stamp_s -= 1
            stamp_s = self._stamp_s
        file.write_text(text)
        os.utime(file, (stamp_s, stamp_s))

    def _limit(self, stage: Stage) -> _Limit:
        with self._measuring:
            if stage not in self._limits:
                before_s = _children_cpu_s()
                run = self._run(self.unmutated, stage, _UNMUTATED)
                if run.code != 0:
                    failed = run
                    run = self._run(self.unmutated, stage, _UNMUTATED)
                    if run.code == 0:
                        self.flaky.append(failed.output)
                cpu_s = _children_cpu_s() - before_s  # other workers' included: the limit is more generous then
                if run.code != 0:
                    raise UnmutatedFailsError(f"fails without any mutant: {' '.join(stage.command)}\n{run.output}")
                self._limits[stage] = _Limit(CPU_EXTRA_S + CPU_FACTOR * cpu_s, WALL_EXTRA_S + WALL_FACTOR * run.wall_s)
            return self._limits[stage]

    def _run(self, copy: Path, stage: Stage, limit: _Limit) -> _Run:
        scratch = copy.with_name(f"{copy.name}t")
        scratch.mkdir(exist_ok=True)
        environment = os.environ | {
            # Before the virtualenv's own entry for these packages, which leads to the user's tree.
            "PYTHONPATH": os.pathsep.join(
                [str(copy / "controller"), str(copy / "lab"), str(Path(__file__).parents[1])]
            ),
            "PYTHONHASHSEED": "0",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis"),
            "TMPDIR": str(scratch),
        }
        limited = f'ulimit -t {int(limit.cpu_s)} -c 0; exec "$@"'
        start_s = time.monotonic()
        with self._lock:
            if self._closed:
                raise StoppedError
            process = subprocess.Popen(
                ["bash", "-c", limited, "bash", *stage.command], cwd=copy, env=environment, text=True, errors="replace",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            self._running.add(process)
        timed_out = False
        try:
            while True:
                try:
                    output, _ = process.communicate(timeout=1)
                    break
                except subprocess.TimeoutExpired:
                    if time.monotonic() - start_s > limit.wall_s or _memory_bytes(process.pid) > MEMORY_BYTES:
                        timed_out = True
                        _kill(process)
        finally:
            with self._lock:
                self._running.discard(process)
            _kill(process)  # what it may have started and left behind
            shutil.rmtree(scratch, ignore_errors=True)
        killed = process.returncode in {-signal.SIGXCPU, -signal.SIGKILL}
        timed_out = timed_out or killed or bool(process.returncode and _TIMED_OUT.search(output))
        return _Run(process.returncode, output, time.monotonic() - start_s, timed_out)


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _memory_bytes(session: int) -> int:
    """Resident memory of all processes of a session."""
    total_pages = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # ended meanwhile
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()  # from the third on, proc(5)
            if int(fields[3]) == session:
                total_pages += int(fields[21])
    return total_pages * resource.getpagesize()


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
