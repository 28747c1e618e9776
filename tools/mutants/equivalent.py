# SPDX-License-Identifier: Apache-2.0
"""The list of equivalent mutants: those that no test can notice, because the program does the same.

An entry is the path, the diff as the list of survivors prints it, and one line that says why:

    controller/airbound/core/capacity.py
    - if rate_bps > 0:
    + if rate_bps > 1:
    = a rate of 1 bit/s is no rate either

An entry applies to every line of the file that reads so, wherever it moves. Lines that begin with # are comments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mutants.mutant import Change

if TYPE_CHECKING:
    from pathlib import Path

Equivalents = dict[tuple[str, Change], str]


def parse(text: str) -> Equivalents:
    """The reasons by path and change.

    Raises:
        ValueError: an entry is not as above; the message has the number of its line.
    """
    entries: Equivalents = {}
    path = ""
    before: list[str] = []
    after: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        mark, rest = line[:2], line[2:].strip()
        if not line.strip() or line.startswith("#"):
            continue
        if mark == "- " and path and not after:
            before.append(rest)
        elif mark in {"+ ", "+"} and path:
            after.append(rest)
        elif mark == "= " and path and (before or after) and rest:
            entries[path, Change("\n".join(before), "\n".join(after))] = rest
            path, before, after = "", [], []
        elif mark[0] not in "-+= " and not path:
            path = line.strip()
        else:
            raise ValueError(f"line {number}: not the path, the diff and the reason of an entry: {line}")
    if path:
        raise ValueError(f"the last entry, of {path}, has no reason")
    return entries


def stale(entries: Equivalents, root: Path) -> list[str]:
    """The entries whose lines are no longer in the file."""
    found = []
    for path, lines in entries:
        file = root / path
        text = "\n".join(line.strip() for line in file.read_text().splitlines()) if file.is_file() else ""
        if f"\n{lines.before}\n" not in f"\n{text}\n":
            found.append(f"{path}\n{lines.diff}")
    return found
