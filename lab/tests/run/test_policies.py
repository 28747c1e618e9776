# SPDX-License-Identifier: Apache-2.0
"""Which files a policy from outside consists of in the guest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airbound_lab.errors import UsageError
from airbound_lab.run import policies


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "here"
    directory.mkdir()
    (directory / "mine.py").write_text("x = 1\n", encoding="utf-8")
    (directory / "beside.py").write_text("y = 1\n", encoding="utf-8")
    package = directory / "pack" / "inner"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("", encoding="utf-8")
    (package / "__init__.py").write_text("z = 1\n", encoding="utf-8")
    monkeypatch.chdir(directory)
    return directory


def files(directory: str) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in Path(directory).rglob("*.py"))


def test_a_module_is_its_file_and_a_package_all_of_its_files(here: Path, tmp_path: Path) -> None:
    named = ("", "mine:decide", "pack.inner:decide", "mine:decide", "")
    (module, in_module), (package, in_package) = policies.staged(named, tmp_path / "cache")
    assert (module, files(in_module)) == ("mine:decide", ["mine.py"])
    assert (package, files(in_package)) == ("pack.inner:decide", ["pack/__init__.py", "pack/inner/__init__.py"])
    assert os.access(in_module, os.R_OK | os.X_OK)
    assert here.is_dir()


def test_the_directory_is_another_when_the_policy_is_and_only_then(here: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    [(_, before)] = policies.staged(("mine:decide",), cache)
    (here / "beside.py").write_text("y = 2\n", encoding="utf-8")
    assert policies.staged(("mine:decide",), cache) == (("mine:decide", before),)
    (here / "mine.py").write_text("x = 2\n", encoding="utf-8")
    [(_, after)] = policies.staged(("mine:decide",), cache)
    assert after != before
    assert (Path(after) / "mine.py").read_text(encoding="utf-8") == "x = 2\n"
    assert (Path(before) / "mine.py").read_text(encoding="utf-8") == "x = 1\n"


@pytest.mark.parametrize("module", ["nowhere", "sys", "zlib"])
def test_a_module_that_is_no_file_of_python_is_named(here: Path, tmp_path: Path, module: str) -> None:
    assert here.is_dir()
    with pytest.raises(UsageError, match=f"policy {module}: there is no {module}.py"):
        policies.staged((f"{module}:decide",), tmp_path / "cache")
