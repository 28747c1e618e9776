# SPDX-License-Identifier: Apache-2.0
"""Checks of options that take a list of values, as all studies have them; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airbound_lab.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


def check_known(given: Mapping[str, tuple[Sequence[str], Collection[str]]]) -> None:
    """Check the names given for each option against those that there are.

    Raises:
        UsageError: a name is none of them.
    """
    for option, (names, known) in given.items():
        for name in names:
            if name not in known:
                raise UsageError(f"{option}: {name!r} is none of {', '.join(known)}")


def check_each_once(given: Mapping[str, Sequence[object]]) -> None:
    """Check the values given for each option.

    Raises:
        UsageError: there is none, or one of them twice.
    """
    for option, values in given.items():
        if not values or len(set(values)) != len(values):
            raise UsageError(f"{option}: at least one, and each only once")
