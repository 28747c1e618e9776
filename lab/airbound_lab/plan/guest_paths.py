# SPDX-License-Identifier: Apache-2.0
"""Where programs of the host are in the guest: at the same paths in every run, wherever they are on the host.

What a process allocates depends on the lengths of the paths that it reads: its own, those of its modules. Where its
objects lie in memory follows from that, and gRPC puts each timer into one of two lists by the timer's address
(src/core/lib/event_engine/posix_engine/timer.cc): the controller's timer thread then wakes up at other moments, other
threads take the next events, and frames leave in another order.

Python reads the names in each directory in which it looks for a module, and one more or less may make its table of them
twice as large. One name comes and goes with what ran on the host before: `__pycache__`.

So the directory of a run has a link to each directory with programs while the guest runs, and the guest mounts them as
it mounts the directory of the run: by the link, which the host resolves. The guest never sees where they are. And
there is a `__pycache__` beside all modules, as there will be when all have been compiled.
"""

from __future__ import annotations

import contextlib
import functools
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

GUEST_DIRECTORY = "/run/host"
CACHE = "__pycache__"
LINKS = "host"
"""Directory of the links, in that of the run."""
COMPILED = "compiled"
VIDEOS = "videos"
CONTROLLER = "controller"
POLICY = "policy"
"""Directory of a policy from outside, in a run with one."""
PACKAGES = "packages"
"""With a number: the directories of Python's modules, beside the interpreter's own."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Paths on the host, or in the guest."""

    traffic: str
    python: str
    controller_source: str
    access_point_agent: str
    phone_agent: str
    operator_commands: str
    """operator_commands.py, for a Python with the controller's packages."""
    senders_watch: str = ""
    """senders_watch.py, for the same."""
    packages: tuple[str, ...] = ()
    """Directories with the packages of that Python."""
    compiled: str = ""
    """Directory of compiled modules for that Python (run/compiled.py); if empty, all are compiled in the guest."""
    applications_watch: str = ""
    """applications_watch.py, for any Python."""
    http_transactions: str = ""
    """http_transactions.py, for the same."""
    quic: str = ""
    """airbound-quic, if a phone uploads by QUIC."""
    videos: str = ""
    """Directory of the videos that phones send live (run/videos.py), if any does."""
    marks: str = ""
    """libairbound-mark.so, beside the traffic generator."""
    policies: tuple[tuple[str, str], ...] = ()
    """MODULE:NAME of each policy from outside, with the directory of its module (run/policies.py)."""
    policy: str = ""
    """That directory, in a run with such a policy."""

    @property
    def python_command(self) -> tuple[str, ...]:
        """Python that reads no file in which a path of the host is written: no virtual environment's, no .pth."""
        return (self.python, "-S")

    @property
    def python_environment(self) -> dict[str, str]:
        """Of that Python: where controller and packages are.

        Which of their modules are compiled already depends on what ran on the host before. Reading a compiled one
        allocates less than compiling it, so in the guest those alone are taken for compiled that are in a directory
        of their own.
        """
        return {
            "PYTHONPATH": ":".join((self.controller_source, *self.packages, *([self.policy] if self.policy else ()))),
            "PYTHONPYCACHEPREFIX": self.compiled or "/proc/none",
        }


def in_guest(programs: Programs) -> tuple[Programs, dict[str, str]]:
    """Return the programs by their paths in the guest, and for each name in GUEST_DIRECTORY the host's directory."""
    directories: dict[str, str] = {}

    def at(name: str, directory: str) -> str:
        directories[name] = directory
        return f"{GUEST_DIRECTORY}/{name}"

    def file(name: str, path: str) -> str:
        return f"{at(name, str(Path(path).parent))}/{Path(path).name}" if path else path

    # Python finds its own modules from the directory above that of the program.
    python = Path(programs.python)
    packages = [at(f"{PACKAGES}{number}", path) for number, path in enumerate(programs.packages, start=1)]
    moved = replace(
        programs,
        traffic=file("traffic", programs.traffic),
        python=f"{at('python', str(python.parent.parent))}/{python.parent.name}/{python.name}",
        controller_source=at(CONTROLLER, programs.controller_source),
        access_point_agent=file("access-point", programs.access_point_agent),
        phone_agent=file("phone", programs.phone_agent),
        operator_commands=file("operator", programs.operator_commands),
        senders_watch=file("watch", programs.senders_watch),
        applications_watch=file("watch", programs.applications_watch),
        http_transactions=file("watch", programs.http_transactions),
        quic=file("quic", programs.quic),
        videos=at(VIDEOS, programs.videos) if programs.videos else "",
        marks=file("traffic", programs.marks),
        packages=tuple(packages),
        compiled=at(COMPILED, programs.compiled) if programs.compiled else "",
        policies=(),
        policy=at(POLICY, programs.policy) if programs.policy else "",
    )
    return moved, directories


@contextlib.contextmanager
def linked(run_directory: Path, directories: dict[str, str]) -> Iterator[None]:
    """Have links to the directories in that of a run, for as long as its guest runs.

    Raises:
        OSError: a link cannot be made.
    """
    links = run_directory / LINKS
    links.mkdir()
    try:
        for name, directory in directories.items():
            if name.startswith((CONTROLLER, PACKAGES, POLICY)):
                have_caches(os.path.realpath(directory))
            (links / name).symlink_to(Path(directory).resolve())
        yield
    finally:
        for name in directories:
            (links / name).unlink(missing_ok=True)
        links.rmdir()


@functools.cache
def have_caches(directory: str) -> None:
    """Have a `__pycache__` in each directory with modules, at any depth; where none can be made, none will ever come.

    Once in a process: it takes 0.1 s for a virtual environment's packages.
    """
    for path, names, files in os.walk(directory):
        has_cache = CACHE in names
        names[:] = (name for name in names if name != CACHE)
        if not has_cache and any(name.endswith(".py") for name in files):
            with contextlib.suppress(OSError):
                (Path(path) / CACHE).mkdir(exist_ok=True)
