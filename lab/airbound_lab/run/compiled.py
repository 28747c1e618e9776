# SPDX-License-Identifier: Apache-2.0
"""Python's modules for the guest, compiled once on the host.

Which modules the host happens to have compiled must not reach the guest (plan/guest_paths.py). So Python in the guest
looks for compiled modules in a directory of their own alone, and that directory is made whole before the guest boots:
its content follows from the interpreter, the packages' versions and the controller's sources. A module that is not in
it is compiled in the guest, each time.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from airbound_lab.errors import LabError
from airbound_lab.plan import guest_paths
from airbound_lab.run.cache import cache_directory

if TYPE_CHECKING:
    from airbound_lab.plan.guest_paths import Programs

COMPILER = Path(__file__).with_name("compile_modules.py")
KEPT_S = 14 * 24 * 3600.0
"""Directories that no run has used for this long are removed."""


def with_compiled(programs: Programs, cache: Path | None = None) -> Programs:
    """Return the programs with a directory of compiled modules, which is made now if there is none for them yet.

    Raises:
        LabError: a source does not compile, or the directory cannot be made.
    """
    cache = cache or cache_directory() / "python"
    directory = cache / _key(programs)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not directory.is_dir():
                _compile(programs, directory)
            os.utime(directory)
            _remove_unused(cache)
    except OSError as error:
        raise LabError(f"compiled Python in {cache}: {error}") from error
    return replace(programs, compiled=str(directory))


def _key(programs: Programs) -> str:
    """Hash of all that the compiled modules follow from, wherever the checkout is.

    A change of a package without a new version is not seen; pip makes none.
    """
    interpreter = Path(programs.python).stat()
    parts = [f"{interpreter.st_size} {interpreter.st_mtime_ns}", COMPILER.read_text(encoding="utf-8")]
    for packages in programs.packages:
        parts += sorted(path.name for path in Path(packages).glob("*.dist-info"))
    source = Path(programs.controller_source)
    for path in sorted((source / "airbound").rglob("*.py")):
        parts.append(f"{path.relative_to(source)} {hashlib.sha256(path.read_bytes()).hexdigest()}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _compile(programs: Programs, directory: Path) -> None:
    partial = directory.with_name(f"{directory.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    _, host_directories = guest_paths.in_guest(programs)
    request = {
        "prefix": str(partial),
        "host_directories": {f"{guest_paths.GUEST_DIRECTORY}/{name}": path for name, path in host_directories.items()},
    }
    done = subprocess.run(
        [*programs.python_command, "-B", "-P", str(COMPILER)],
        input=json.dumps(request),
        env=dict(os.environ) | {"PYTHONPATH": ":".join((programs.controller_source, *programs.packages))},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        shutil.rmtree(partial)
        raise LabError(f"{programs.python} does not compile the controller's modules: {done.stderr.strip()}")
    partial.rename(directory)


def _remove_unused(cache: Path) -> None:
    for path in cache.iterdir():
        if path.is_dir() and time.time() - path.stat().st_mtime > KEPT_S:
            shutil.rmtree(path)
