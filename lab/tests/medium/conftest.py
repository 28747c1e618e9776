# SPDX-License-Identifier: Apache-2.0
"""Attempts, made up by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airbound_lab.medium.attempts import Attempt

MakeAttempt = Callable[..., Attempt]


@pytest.fixture(scope="session")
def attempt() -> MakeAttempt:
    """An attempt of a phone at a moment, in us; the rest as given, or that of a full frame at 54 Mb/s."""

    def make(start_us: int, station: int = 1, **changes: Any) -> Attempt:
        plain: dict[str, Any] = {
            "start_ns": start_us * 1000,
            "head_since_ns": (start_us - 100) * 1000,
            "airtime_ns": 300_000,
            "station": station,
            "category": "BE",
            "bytes": 1536,
            "rate_100kbps": 540,
            "attempt": 1,
            "outcome": "delivered",
            "contenders": 2,
        }
        return Attempt(**plain | changes)

    return make
