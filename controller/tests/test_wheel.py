# SPDX-License-Identifier: Apache-2.0
"""The wheel that pipx installs."""

import os
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def made(umask: int, to: Path) -> Path:
    before = os.umask(umask)
    try:
        done = subprocess.run(
            [REPOSITORY / "scripts/wheel.sh", "--output", to], check=True, capture_output=True, text=True
        )
    finally:
        os.umask(before)
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(0o022, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def test_the_same_sources_give_the_same_bytes_whatever_the_umask_is(wheel: Path, tmp_path: Path) -> None:
    assert made(0o077, tmp_path).read_bytes() == wheel.read_bytes()


def test_the_live_view_and_completion_are_an_extra(metadata: Message) -> None:
    required = metadata.get_all("Requires-Dist") or []
    assert metadata.get_all("Provides-Extra") == ["cli", "openflow"]
    extra = {text.partition("<")[0].partition(">")[0] for text in required if 'extra == "cli"' in text}
    assert extra == {"shtab", "textual"}
    assert any(text.startswith("segno") and "extra" not in text for text in required)


def test_it_has_the_sources_and_the_whole_licence(wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "airbound"], cwd=REPOSITORY / "controller", check=True, capture_output=True, text=True
    ).stdout.split()
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [licence] = [name for name in names if name.endswith("/licenses/LICENSE")]
        assert archive.read(licence) == (REPOSITORY / "LICENSES/Apache-2.0.txt").read_bytes()
    assert {name for name in tracked if name.endswith((".py", ".pyi", "py.typed"))} - names == set()


def test_installed_it_is_a_command(wheel: Path, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", tmp_path, wheel], check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    where = [sys.executable, "-c", "import airbound.operator.cli as found; print(found.__file__)"]
    found = subprocess.run(where, check=True, capture_output=True, text=True, env=environment).stdout.strip()
    assert found == str(tmp_path / "airbound/operator/cli.py")
    version = [tmp_path / "bin/airbound", "--version"]
    done = subprocess.run(version, check=True, capture_output=True, text=True, env=environment)
    assert done.stdout == "airbound 0.1.0\n"
