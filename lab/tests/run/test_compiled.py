# SPDX-License-Identifier: Apache-2.0
"""Modules for the guest, of a controller of three files, by the interpreter that runs the tests."""

from __future__ import annotations

import importlib.util
import marshal
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import CodeType

import pytest

from airbound_lab.errors import LabError
from airbound_lab.plan.guest_paths import Programs, in_guest
from airbound_lab.run import compiled

HEADER_BYTES = 16
"""Of a compiled module: magic number, flags, hash (PEP 552)."""


def controller_at(directory: Path) -> Programs:
    package = directory / "airbound"
    (package / "core").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("raise SystemExit('was run')\n")
    (package / "core" / "__init__.py").write_text("import colorsys\n")
    (package / "needs.py").write_text("import a_package_that_is_not_installed\n")
    interpreter = os.path.realpath(sys._base_executable)  # type: ignore[attr-defined]
    return Programs("/b/traffic", interpreter, str(directory), "/b/ap", "/b/phone", "/b/operator.py")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return controller_at(tmp_path / "here")


def code_in(path: Path) -> CodeType:
    code = marshal.loads(path.read_bytes()[HEADER_BYTES:])  # noqa: S302  (what the test had compiled)
    assert isinstance(code, CodeType)
    return code


def modules(programs: Programs) -> dict[str, Path]:
    """Every compiled module by its source's path in the guest."""
    found = {}
    for path in Path(programs.compiled).rglob("*.pyc"):
        content = path.read_bytes()
        assert content[:4] == importlib.util.MAGIC_NUMBER
        assert content[4:8] == bytes([1, 0, 0, 0]), "by no date and no look at the source"
        found[code_in(path).co_filename] = path
    return found


def test_the_controller_and_what_it_imports_are_compiled_at_their_paths_in_the_guest(
    programs: Programs, cache: Path
) -> None:
    made = modules(compiled.with_compiled(programs, cache))
    of_controller = ("__init__", "__main__", "core/__init__", "needs")
    assert {f"/run/host/controller/airbound/{name}.py" for name in of_controller} < made.keys()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"/run/host/python/lib/python{version}/colorsys.py" in made, "it is imported by core"
    assert all(guest.startswith("/run/host/") for guest in made)


def test_the_guest_s_python_looks_where_they_are(programs: Programs, cache: Path) -> None:
    moved, directories = in_guest(compiled.with_compiled(programs, cache))
    prefix = moved.python_environment["PYTHONPYCACHEPREFIX"]
    assert directories["compiled"] == compiled.with_compiled(programs, cache).compiled
    name = f"__init__.{sys.implementation.cache_tag}.pyc"
    looked_for = Path(prefix + moved.controller_source) / "airbound" / "core" / name
    assert (Path(directories["compiled"]) / looked_for.relative_to(prefix)).is_file()


def test_equal_sources_elsewhere_are_compiled_once_to_the_same_bytes(
    programs: Programs, cache: Path, tmp_path: Path
) -> None:
    here = compiled.with_compiled(programs, cache)
    moved = controller_at(tmp_path / "a" / "longer" / "path")
    assert compiled.with_compiled(moved, cache).compiled == here.compiled
    again = compiled.with_compiled(moved, tmp_path / "other cache")
    content = {guest: path.read_bytes() for guest, path in modules(here).items()}
    assert {guest: path.read_bytes() for guest, path in modules(again).items()} == content


def test_a_changed_source_is_compiled_again(programs: Programs, cache: Path) -> None:
    before = compiled.with_compiled(programs, cache)
    (Path(programs.controller_source) / "airbound" / "core" / "__init__.py").write_text("CHANGED = 1\n")
    after = compiled.with_compiled(programs, cache)
    assert after.compiled != before.compiled
    path = modules(after)["/run/host/controller/airbound/core/__init__.py"]
    assert "CHANGED" in code_in(path).co_names


def test_a_source_that_does_not_compile_is_named_and_leaves_nothing(programs: Programs, cache: Path) -> None:
    (Path(programs.controller_source) / "airbound" / "core" / "wrong.py").write_text("def\n")
    with pytest.raises(LabError, match=r"wrong\.py"):
        compiled.with_compiled(programs, cache)
    assert [path.name for path in cache.iterdir()] == ["lock"]


def test_a_cache_that_cannot_be_made_is_named(programs: Programs, cache: Path) -> None:
    cache.touch()
    with pytest.raises(LabError, match=str(cache)):
        compiled.with_compiled(programs, cache)


def test_what_no_run_has_used_for_two_weeks_is_removed(programs: Programs, cache: Path) -> None:
    used = Path(compiled.with_compiled(programs, cache).compiled)
    for name, age_s in (("old", compiled.KEPT_S + 60), ("newer", compiled.KEPT_S - 60)):
        (cache / name).mkdir()
        os.utime(cache / name, (time.time() - age_s,) * 2)
    os.utime(used, (0, 0))
    compiled.with_compiled(programs, cache)
    assert {path.name for path in cache.iterdir()} == {"lock", "newer", used.name}


def test_programs_without_compiled_modules_have_all_compiled_in_the_guest(programs: Programs) -> None:
    moved, directories = in_guest(replace(programs, compiled=""))
    assert "compiled" not in directories
    assert moved.python_environment["PYTHONPYCACHEPREFIX"] == "/proc/none"
