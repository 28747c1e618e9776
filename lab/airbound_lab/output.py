# SPDX-License-Identifier: Apache-2.0
"""Files that a command was asked to write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def write_json(path: Path, document: Any) -> None:
    """Write a document as JSON. Raises as `write`."""
    write(path, json.dumps(document, indent=1, allow_nan=False) + "\n")
