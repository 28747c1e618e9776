# SPDX-License-Identifier: Apache-2.0
"""Cells that tests boot, under a hash of all that decides about them: what is asked twice is run once.

A cell runs in virtual time, so its inputs decide its result to the digit. It is kept for later runs as well, until one
of its inputs changes. What a test demands of it is checked each time.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import pickle
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from airbound_lab.plan import guest_paths
from airbound_lab.run import host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from airbound_lab.figures.results import Run
    from airbound_lab.run.runs import Prepared

LAB_PARTS = ("figures", "guest", "guest_programs", "medium", "medium_theory", "plan", "records", "run", "settings")
"""Folders of the lab with what plans a run, what runs in the guest, and what reads its records."""

NO_INPUTS = ("__pycache__", "site-packages", "dist-packages", "test")
"""Folders of a Python that guests do not read, or that are inputs by themselves."""

USER_FILES = ("/etc/passwd", "/etc/group", "/etc/nsswitch.conf")


class Cells:
    """Cells in a directory that processes may share, also one after the other."""

    def __init__(self, shared: Path, own: Path) -> None:
        """Keep the cells in a directory, which is made if it is not there; fresh ones in that of this process."""
        self._shared = shared
        self._own = own
        self.booted = 0
        """How many were run."""
        self.taken = 0
        """How many were there already."""

    def once(self, key: str, run: Callable[[Path], Run]) -> tuple[Run, Path]:
        """Return the run that belongs to a key, and the directory of its logs, which nobody may change.

        `key` names all that the run depends on. A run that fails is not kept: who asks next tries again.
        """
        directory = self._shared / hashlib.sha256(key.encode()).hexdigest()
        directory.mkdir(parents=True, exist_ok=True)
        logs, done = directory / "logs", directory / "run.pickle"
        with (directory / "lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if done.exists():
                self.taken += 1
            else:
                shutil.rmtree(logs, ignore_errors=True)  # of a run that failed
                made = run(logs)
                # As a whole or not at all: the process may end in between.
                written = directory / "run.new"
                written.write_bytes(pickle.dumps(made))
                written.replace(done)
                self.booted += 1
            os.utime(directory)  # scripts/test.sh removes what no run has used for days
        return pickle.loads(done.read_bytes()), logs  # noqa: S301  (written above)

    def fresh(self, run: Callable[[Path], Run]) -> tuple[Run, Path]:
        """Return a run in any case, and the directory of its logs: for tests of what equal runs have in common."""
        self.booted += 1
        logs = self._own / str(self.booted)
        return run(logs), logs


def key(prepared: Prepared, kernel: Path, asked: Iterable[object]) -> str:
    """Return a hash of all inputs of a run, wherever they are on the host.

    `asked` is how the run is read and whatever else the plan does not have.

    Raises:
        OSError: a file cannot be read.
        subprocess.CalledProcessError: dpkg-query fails.
    """
    plan = json.dumps(prepared.plan)
    inputs = {
        "asked": list(asked),
        "plan": plan,
        "command": [word for word in prepared.command if word != str(kernel) and not word.startswith("init=")],
        "kernel": _file(kernel),
        "lab": _lab(),
        "machine": _machine(),
        "directories": {
            name: _directory(name, Path(path).resolve(), plan)
            for name, path in sorted(prepared.host_directories.items())
            if re.search(rf"{guest_paths.GUEST_DIRECTORY}/{name}\b", plan)
        },
    }
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def _directory(name: str, path: Path, plan: str) -> list[str]:
    """Return hashes of what a guest uses of a directory of the host that its plan names."""
    if name == guest_paths.COMPILED:
        return []  # follows from interpreter, packages, controller and lab
    if name == "python":
        return _interpreter(path, plan)
    if name == guest_paths.CONTROLLER:
        return _files(path / "airbound")
    if name == guest_paths.POLICY:
        return _files(path)
    if name.startswith(guest_paths.PACKAGES):
        return [line for record in sorted(path.glob("*.dist-info/RECORD")) for line in _installed(record)]
    named = re.findall(rf"{guest_paths.GUEST_DIRECTORY}/{name}/([^/\" :]+)", plan)
    files = {path / file for file in named}
    if name != guest_paths.VIDEOS and any(_is_text(file) for file in files):
        # A script may start what lies beside it.
        files |= {file for file in path.iterdir() if file.is_file()}
    return [f"{file.name} {_file(file)}" for file in sorted(files)]


def _installed(record: Path) -> list[str]:
    """Return the files of a package with their hashes, by its record, but for those that name where the virtual
    environment or the checkout is: commands, and a package whose sources are elsewhere.
    """
    lines = record.read_text(encoding="utf-8").splitlines()
    if any(line.startswith("__editable__") for line in lines):
        return []
    return [f"{record.parent.name} {line}" for line in lines if not line.startswith("..")]


@functools.cache
def _interpreter(prefix: Path, plan: str) -> list[str]:
    """Return the interpreter's hash and those of its library."""
    [program] = set(re.findall(rf"{guest_paths.GUEST_DIRECTORY}/python/(bin/[^/\" :]+)", plan))
    library = [line for path in sorted(prefix.glob("lib/python3.*")) for line in _files(path)]
    return [_file(prefix / program), *library]


def _is_text(file: Path) -> bool:
    with file.open("rb") as opened:
        return not opened.read(4).startswith(b"\x7fELF")


@functools.cache
def _lab() -> list[str]:
    return [line for part in LAB_PARTS for line in _files(host.LAB / part)]


@functools.cache
def _machine() -> list[str]:
    """Return what of this machine reaches a guest: Debian's programs, files of users, the kernel and the processor."""
    packages = subprocess.run(["dpkg-query", "--show"], capture_output=True, text=True, check=True).stdout
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    processor = {line for line in lines if line.startswith(("model name", "flags"))}
    return [packages, *map(_file, map(Path, USER_FILES)), platform.release(), platform.machine(), *sorted(processor)]


def _files(directory: Path) -> list[str]:
    """Return a hash for each file in a directory, at any depth, but for what Python compiled."""
    found = []
    for path, names, files in os.walk(directory):
        names[:] = sorted(name for name in names if name not in NO_INPUTS)
        found += [Path(path, file) for file in sorted(files)]
    return [f"{file.relative_to(directory)} {_file(file)}" for file in found]


def _file(path: Path) -> str:
    status = path.stat()
    return _file_as_it_is(path, status.st_size, status.st_mtime_ns)


@functools.cache
def _file_as_it_is(path: Path, _size_bytes: int, _modified_ns: int) -> str:
    return host.sha256(path)
