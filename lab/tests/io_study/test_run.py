# SPDX-License-Identifier: Apache-2.0
"""What a run of the study of storage needs of the machine."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from airbound_lab.errors import LabError, MissingError
from airbound_lab.io_study import run
from airbound_lab.io_study.design import Case

CASE = Case("emmc-2010", "ext4", "wal")


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match=f"{CASE}: cannot write {tmp_path}/file/run: Not a directory"):
        run.run(Path("/none"), CASE, tmp_path / "file" / "run", lambda _: None, lambda: False)


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(LabError, match=r"cannot write .*/plan.json: No space left on device"):
        run.run(Path("/none"), CASE, tmp_path / "run", lambda _: None, lambda: False)


def test_a_missing_tool_has_its_package() -> None:
    with pytest.raises(MissingError, match=r"lacks mkfs.ext4, mkfs.f2fs; install with: apt-get install e2fsprogs f2fs"):
        run.check_tools(("ext4", "f2fs"), path="/none")
