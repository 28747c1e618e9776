# SPDX-License-Identifier: Apache-2.0
"""What `airbound check` found in a cell; pure."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from airbound_lab.errors import LabError
from airbound_lab.settings.validation import STRICT


@dataclass(frozen=True, slots=True, config=STRICT)
class Change:
    """With Airbound over without, less 1, and its interval of 95 %."""

    mean: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """1: more; -1: less; 0: no difference was found."""
        return 1 if self.low > 0 else -1 if self.high < 0 else 0

    def has(self, truth: float) -> bool:
        """Whether the interval has it."""
        return self.low <= truth <= self.high


@dataclass(frozen=True, slots=True, config=STRICT)
class Checked:
    """A check's result."""

    pairs: int
    carried: Change
    rtt: Change | None
    """None: too few round trips were known."""


def parse(text: str) -> Checked | None:
    """Read the output of `airbound check --json`; none if too few turns had senders.

    Raises:
        LabError: it is none.
    """
    try:
        data: dict[str, Any] | None = json.loads(text)
        if data is None:
            return None
        changes = {name: None if data[name] is None else dict(zip(_FIELDS, data[name], strict=True)) for name in _BOTH}
        return TypeAdapter(Checked).validate_json(json.dumps({"pairs": data["pairs"], **changes}))
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"no output of `airbound check --json` ({error}): {text[:120]!r}") from error


_FIELDS = ("mean", "low", "high")
_BOTH = ("carried", "rtt")
