# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from airbound_lab import output
from airbound_lab.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_written_in_utf_8(tmp_path: Path) -> None:
    output.write(tmp_path / "page.html", "10 µs\n")
    assert (tmp_path / "page.html").read_bytes() == b"10 \xc2\xb5s\n"


def test_a_file_that_cannot_be_written_is_named_with_the_cause(tmp_path: Path) -> None:
    path = tmp_path / "none" / "page.html"
    with pytest.raises(UsageError, match=re.escape(f"cannot write {path}: No such file or directory")):
        output.write(path, "")


def test_a_document_is_json_without_nan(tmp_path: Path) -> None:
    output.write_json(tmp_path / "figures.json", {"a": [1.5, None]})
    assert (tmp_path / "figures.json").read_text(encoding="utf-8") == '{\n "a": [\n  1.5,\n  null\n ]\n}\n'
    with pytest.raises(ValueError, match="JSON"):
        output.write_json(tmp_path / "nan.json", float("nan"))
