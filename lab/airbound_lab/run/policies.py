# SPDX-License-Identifier: Apache-2.0
"""Policies from outside, for the guest: one module or one package each, in a directory of its own.

The directory is named after a hash of what is in it, so that a run is made again when its policy has changed; what lies
beside the module on the host is not in the guest, and cannot change a figure unseen.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from airbound_lab.errors import LabError, UsageError
from airbound_lab.plan import guest_paths
from airbound_lab.run.cache import cache_directory

if TYPE_CHECKING:
    from collections.abc import Iterable


def staged(policies: Iterable[str], cache: Path | None = None) -> tuple[tuple[str, str], ...]:
    """Return for each MODULE:NAME, each once, the directory with its module; empty names are left out.

    Modules are looked for in the current directory and where Python finds them.

    Raises:
        UsageError: there is no such module.
        LabError: the directory cannot be made.
    """
    return tuple(
        (policy, str(_staged(policy.partition(":")[0], cache or cache_directory() / "policies")))
        for policy in dict.fromkeys(filter(None, policies))
    )


def _staged(module: str, cache: Path) -> Path:
    try:
        files = _files(_source(module))
        contents = "\n".join(f"{name} {_hash(file)}" for name, file in files)
        directory = cache / hashlib.sha256(contents.encode()).hexdigest()[:16]
        if not directory.is_dir():
            cache.mkdir(parents=True, exist_ok=True)
            _make(directory, files)
    except OSError as error:
        raise LabError(f"policy {module} in {cache}: {error}") from error
    return directory


def _make(directory: Path, files: Iterable[tuple[str, Path]]) -> None:
    """Make the directory, whole or not at all."""
    partial = Path(tempfile.mkdtemp(dir=directory.parent))
    try:
        partial.chmod(0o755)
        for name, file in files:
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, partial / name)
        guest_paths.have_caches(str(partial))
        partial.rename(directory)
    except OSError:
        if not directory.is_dir():  # otherwise another process was faster
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _source(module: str) -> Path:
    """The file of a module, or the directory of its topmost package."""
    top = module.partition(".")[0]
    found = importlib.machinery.PathFinder.find_spec(top, [str(Path.cwd()), *sys.path])
    origin = found.origin if found is not None else None
    if origin is None or not origin.endswith(".py"):
        raise UsageError(
            f"policy {module}: there is no {top}.py and no package {top} here, on PYTHONPATH or among what is installed"
        )
    path = Path(origin)
    return path.parent if path.name == "__init__.py" else path


def _files(source: Path) -> list[tuple[str, Path]]:
    """Names in the guest's directory, and where they are."""
    if source.is_file():
        return [(source.name, source)]
    found = (path for path in source.rglob("*") if path.is_file() and guest_paths.CACHE not in path.parts)
    return sorted((str(Path(source.name) / path.relative_to(source)), path) for path in found)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
