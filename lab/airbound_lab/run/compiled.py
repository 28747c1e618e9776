# SPDX-License-Identifier: Apache-2.0
"""Compiled Python for the guest, made once: to compile the controller and its packages takes longer than to boot.

Reading a compiled module allocates less memory than compiling it, and results follow from where the memory of a process
lies (guest_paths.py). So in the guest the modules of the controller and of its packages are always compiled ones, and
always from here: a source's own `__pycache__`, whose contents depend on what ran on the host before, is never read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from airbound_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterator

PRODUCT = "airbound"
"""Name of the controller's package, and of its distribution."""
EXTRA = "openflow"
"""What a guest runs of the distribution's extras."""

_COMPILE = """
import py_compile, sys
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
for line in sys.stdin:
    py_compile.compile(*line.rstrip("\\n").split("\\t"), doraise=True, invalidation_mode=mode)
"""


@functools.cache
def directory(python: str, sources: frozenset[tuple[str, str]], cache: Path) -> Path:
    """Return a directory for PYTHONPYCACHEPREFIX, whose files are made unless they are in the cache.

    `python` is the interpreter of the guest, `sources` are directories that it searches for modules: the path in the
    guest, and the host's directory. A compiled module is kept by the hash of its source and of its path.

    Raises:
        LabError: a module cannot be compiled.
        OSError: the cache cannot be written.
    """
    modules = {f"{path}/{name}": Path(source) / name for path, source in sources for name in _modules(Path(source))}
    version = _run(python, "import sys; print(sys.version, sys.implementation.cache_tag)")
    kept = {
        path: cache / "modules" / _hash(version.encode(), path.encode(), module.read_bytes())
        for path, module in sorted(modules.items())
    }
    missing = [path for path, file in kept.items() if not file.exists()]
    if missing:
        _run(python, _COMPILE, "".join(f"{modules[path]}\t{kept[path]}\t{path}\n" for path in missing))
    made = cache / _hash(*(f"{path} {file.name}".encode() for path, file in kept.items()))[:16]
    if not made.exists():
        _link(kept, made, version.split()[-1])
    return made


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _run(python: str, code: str, lines: str = "") -> str:
    """Run code in a process that starts the same each time: what it writes depends on the hashes of its strings."""
    command, environment = [python, "-S", "-P", "-B", "-c", code], {"PYTHONHASHSEED": "0"}
    result = subprocess.run(command, input=lines, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise LabError(f"{python} does not compile the controller's modules: {result.stderr[-800:]}")
    return result.stdout.strip()


def _modules(source: Path) -> Iterator[str]:
    """Yield the controller's modules, or those of the packages that it needs, in a directory that Python searches."""
    if (source / PRODUCT).is_dir():
        yield from (str(file.relative_to(source)) for file in (source / PRODUCT).rglob("*.py"))
    found = {_normal(each.metadata["Name"]): each for each in metadata.distributions(path=[str(source)])}
    for name in _needed(found, PRODUCT, set()):
        yield from (str(file) for file in found[name].files or () if file.suffix == ".py" and ".." not in file.parts)


def _needed(found: dict[str, metadata.Distribution], name: str, seen: set[str]) -> set[str]:
    """Return a distribution and what it needs, of those in a directory; markers are not evaluated."""
    if name in found and name not in seen:
        seen.add(name)
        for requirement in found[name].requires or ():
            if "extra ==" not in requirement or f'extra == "{EXTRA}"' in requirement:
                _needed(found, _normal(re.split(r"[^\w.-]", requirement)[0]), seen)
    return seen


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _link(kept: dict[str, Path], made: Path, tag: str) -> None:
    """Make the directory that Python looks into, by links. It appears whole: others may look for it meanwhile."""
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
        for path, file in kept.items():
            link = Path(f"{scratch}/whole{path.removesuffix('.py')}.{tag}.pyc")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.hardlink_to(file)
        with contextlib.suppress(OSError):  # somebody else was faster: a directory with files is not replaced
            Path(f"{scratch}/whole").rename(made)
