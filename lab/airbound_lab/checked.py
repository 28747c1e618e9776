# SPDX-License-Identifier: Apache-2.0
"""Checks of what was read from a file; each says by its place what is wrong; pure."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from airbound_lab.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection


def fields_of(where: str, data: Any, kind: Any, optional: Collection[str] = ()) -> None:
    """Refuse what is not an object with exactly the fields of a dataclass."""
    keys(where, data, {f.name for f in fields(kind)}, optional)


def keys(where: str, data: Any, known: Collection[str], optional: Collection[str]) -> None:
    """Refuse what is not an object with exactly these keys."""
    if not isinstance(data, dict):
        raise UsageError(f"{where}: not an object")
    for key in data:
        if key not in known:
            raise UsageError(f"{where}: unknown key {key!r}")
    for key in sorted(set(known) - set(optional)):
        if key not in data:
            raise UsageError(f"{where}: {key!r} is missing")


def items(where: str, data: Any) -> list[Any]:
    """Give a list, or refuse what is none."""
    if not isinstance(data, list):
        raise UsageError(f"{where}: not a list")
    return data


def number(where: str, value: Any, *, none: bool = False) -> None:
    """Refuse what is not a finite number, nor None where that is allowed."""
    if value is None and none:
        return
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise UsageError(f"{where}: {value!r} is not a number")
