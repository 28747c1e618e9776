# SPDX-License-Identifier: Apache-2.0
"""Which phones the controller granted a live flow, and whom it refused one in words, by its log; pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic.dataclasses import dataclass

from airbound_lab.settings.validation import STRICT

if TYPE_CHECKING:
    from collections.abc import Mapping

LINE = re.compile(r"^\S+ info flows (\S+): (.*)$", re.MULTILINE)
GRANTED = re.compile(r"\bas video\b")
REFUSED = re.compile(r"(live flows would need|the flow takes all)\b.*")
"""The reasons `live_air` and `takes_all` (docs/reasons.md)."""


@dataclass(frozen=True, slots=True, config=STRICT)
class Refusal:
    """A live flow had no grant from some moment on."""

    phone: int
    why: str


@dataclass(frozen=True, slots=True, config=STRICT)
class Grants:
    """Of one run; a phone whose flow was granted and later refused is in both."""

    granted: tuple[int, ...] = ()
    """Phones, from 1."""
    refused: tuple[Refusal, ...] = ()
    """The first of each phone."""


def parse(log: str, phone_of: Mapping[str, int]) -> Grants:
    """Read the controller's log; `phone_of` has the phones by the names that the controller gives them."""
    granted, refused = set[int](), dict[int, str]()
    for name, what in LINE.findall(log):
        if name not in phone_of:
            continue
        if GRANTED.search(what):
            granted.add(phone_of[name])
        elif found := REFUSED.search(what):
            refused.setdefault(phone_of[name], found[0])
    return Grants(tuple(sorted(granted)), tuple(Refusal(phone, why) for phone, why in sorted(refused.items())))
