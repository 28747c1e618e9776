# SPDX-License-Identifier: Apache-2.0
"""What the lab's kernels are made of, by lab/kernel/build.sh; nothing is built."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from airbound_lab.run import host
from airbound_lab.settings.values import DEFAULT_KERNEL_LINE, KERNEL_LINES

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = ("kernel/configs", "kernel/patches", "kernel/tests/um", "lab/kernel")

VARIABLES = {"6.1": "AIRBOUND_KERNEL_TARBALL", "6.12": "AIRBOUND_KERNEL_TARBALL_6_12"}
"""Which name a line's source."""


@dataclass(frozen=True)
class Sources:
    """A copy of all that the kernels are made of, with an empty file in place of each kernel source."""

    root: Path

    def build(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        tarballs = {variable: str(self.root / "linux.tar.xz") for variable in VARIABLES.values()}
        return subprocess.run(
            [self.root / host.BUILD_SCRIPT, *arguments],
            env={"PATH": os.environ["PATH"], "AIRBOUND_CACHE": str(self.root / "cache")} | tarballs | environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def hashes(self) -> dict[str, str]:
        found = {line: self.build("--line", line, "--print-hash") for line in KERNEL_LINES}
        assert all(result.returncode == 0 for result in found.values()), found
        return {line: result.stdout for line, result in found.items()}


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    root = tmp_path / "checkout"
    for folder in FOLDERS:
        shutil.copytree(host.REPOSITORY / folder, root / folder)
    (root / "linux.tar.xz").touch()
    return Sources(root)


def test_each_line_has_a_hash_of_its_own_wherever_the_checkout_is(sources: Sources, tmp_path: Path) -> None:
    hashes = sources.hashes()
    assert len(set(hashes.values())) == len(KERNEL_LINES)
    assert sources.build("--print-hash").stdout == hashes[DEFAULT_KERNEL_LINE]
    shutil.copytree(sources.root, tmp_path / "elsewhere")
    assert Sources(tmp_path / "elsewhere").hashes() == hashes


@pytest.mark.parametrize(
    ("file", "lines"),
    [
        ("lab/kernel/build.sh", {"6.1", "6.12"}),
        ("lab/kernel/lab.config", {"6.1", "6.12"}),
        ("lab/kernel/src/drivers/net/wireless/dcf_model.c", {"6.1", "6.12"}),
        ("kernel/tests/um/series", {"6.1", "6.12"}),
        ("kernel/configs/airbound.config", {"6.1", "6.12"}),
        ("kernel/patches/6.1/series", {"6.1"}),
        ("lab/kernel/patches/series", {"6.1"}),
        ("kernel/patches/6.12/series", {"6.12"}),
        ("lab/kernel/6.12/patches/series", {"6.12"}),
        ("lab/kernel/6.12/lab.config", {"6.12"}),
        ("lab/kernel/README.md", set()),
    ],
)
def test_a_change_concerns_the_lines_that_are_made_of_the_file(sources: Sources, file: str, lines: set[str]) -> None:
    before = sources.hashes()
    with (sources.root / file).open("a", encoding="utf-8") as changed:
        changed.write("# changed\n")
    after = sources.hashes()
    assert {line for line in KERNEL_LINES if after[line] != before[line]} == lines


def test_a_changed_kernel_source_is_seen_although_its_hash_is_kept(sources: Sources, tmp_path: Path) -> None:
    before = sources.hashes()
    assert sorted(path.name for path in (sources.root / "cache").rglob("tarball-hash*")) == ["tarball-hash"] * 2
    assert sources.hashes() == before, "by what is kept"
    source = sources.root / "linux.tar.xz"
    dates = source.stat()
    other = tmp_path / "other"
    other.write_text("more")
    os.utime(other, ns=(dates.st_atime_ns, dates.st_mtime_ns))
    other.replace(source)
    after = sources.hashes()
    assert all(after[line] != before[line] for line in KERNEL_LINES)
    shutil.rmtree(sources.root / "cache")
    assert sources.hashes() == after


def test_a_cache_that_cannot_be_written_changes_no_hash(sources: Sources) -> None:
    hashes = sources.hashes()
    shutil.rmtree(sources.root / "cache")
    (sources.root / "cache").touch()
    assert sources.hashes() == hashes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--line", "5.10"), "no kernel line 5.10 (6.1, 6.12)"),
        (("--line",), "--line: which?"),
        (("--hash",), "usage: lab/kernel/build.sh"),
    ],
)
def test_a_wrong_request_is_named(sources: Sources, arguments: tuple[str, ...], words: str) -> None:
    result = sources.build(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr


@pytest.mark.parametrize(("line", "variable"), VARIABLES.items())
@pytest.mark.parametrize("arguments", [(), ("--print-hash",)])
def test_a_missing_kernel_source_is_named_with_its_package(
    sources: Sources, line: str, variable: str, arguments: tuple[str, ...]
) -> None:
    result = sources.build("--line", line, *arguments, **{variable: "/nowhere"})
    assert (result.returncode, result.stdout) == (2, "")
    assert f"no kernel source at /nowhere (run 'make setup', or: apt-get install linux-source-{line})" in result.stderr
