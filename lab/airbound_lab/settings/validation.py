# SPDX-License-Identifier: Apache-2.0
"""How pydantic checks the lab's records, and how its errors are worded; pure.

Strict: no number made from a string or a boolean, no NaN, no infinity, no unknown key, no missing key. A record is also
checked when the program itself makes it, so what is refused on reading is never written.
"""

from __future__ import annotations

import contextlib
import reprlib
from typing import TYPE_CHECKING

from pydantic import ConfigDict, ValidationError

from airbound_lab.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

UNKNOWN_KEY = ("unexpected_keyword_argument", "extra_forbidden")


@contextlib.contextmanager
def usage_errors(where: str = "", name: Callable[[str], str] = str) -> Iterator[None]:
    """Turn a ValidationError into a UsageError that begins with `where`, a file; `name` renames the outermost key."""
    try:
        yield
    except ValidationError as error:
        raise UsageError(": ".join(part for part in (where, explain(error, name)) if part)) from error


def explain(error: ValidationError, name: Callable[[str], str] = str) -> str:
    """Return the first error as text: key, value, and what is wrong with it."""
    first = error.errors(include_url=False)[0]
    location = list(first["loc"])
    if location and isinstance(location[0], str):
        location[0] = name(location[0])
    message = first["msg"][0].lower() + first["msg"][1:]
    if first["type"] == "json_invalid":
        message = f"not JSON: {message.removeprefix('invalid JSON: ')}"
    elif first["type"] == "missing":
        message = f"{str(location.pop())!r} is missing"
    elif first["type"] in UNKNOWN_KEY:
        message = f"unknown key {str(location.pop())!r}"
    elif location and location[-1] == "[key]":
        message = f"unknown key {str(location[-2])!r}"
        location = location[:-2]
    else:
        if first["type"] == "value_error":
            message = str(first["ctx"]["error"])
        if first["input"] is None or isinstance(first["input"], str | int | float):
            message = f"{reprlib.repr(first['input'])}: {message}"
    return ": ".join(part for part in (_place(location), message) if part)


def _place(location: Sequence[str | int]) -> str:
    """Write a location as runs[1].phones[2].series."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in location).removeprefix(".")
