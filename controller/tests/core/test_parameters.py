# SPDX-License-Identifier: Apache-2.0

import math
from typing import Any

import pydantic
import pytest

from airbound.core.parameters import (
    BdpParameters,
    CapacityParameters,
    MinRttParameters,
    Parameters,
    SafetyParameters,
    SenderParameters,
)


@pytest.mark.parametrize(
    ("kind", "field", "low", "high"),
    [
        (SenderParameters, "min_interval_ms", 10, 60_000),
        (SafetyParameters, "lease_ms", 1_000, 60_000),
        (SafetyParameters, "cell_stale_ms", 500, 600_000),
        (MinRttParameters, "confirm_ratio", 1.0, 100.0),
        (CapacityParameters, "min_utilisation", 0.01, 1.0),
        (BdpParameters, "floor_segs", 1, 100),
    ],
)
def test_a_field_has_its_limits(kind: Any, field: str, low: float, high: float) -> None:
    for value in (low, high):
        assert getattr(kind(**{field: value}), field) == value
    for value in (low - 1, high + 1, math.nan, math.inf, "7", None, True):
        with pytest.raises(pydantic.ValidationError) as caught:
            kind(**{field: value})
        assert caught.value.errors()[0]["loc"] == (field,)


def test_fields_that_do_not_fit_together_are_refused() -> None:
    SenderParameters(start_bytes_per_s=5.0, stop_bytes_per_s=5.0)
    with pytest.raises(pydantic.ValidationError):
        SenderParameters(start_bytes_per_s=5.0, stop_bytes_per_s=6.0)
    CapacityParameters(min_bps=1e6, max_bps=1e6)
    with pytest.raises(pydantic.ValidationError):
        CapacityParameters(min_bps=2e6, max_bps=1e6)


def test_unknown_fields_and_policies_are_refused() -> None:
    unknown: dict[str, Any] = {"gian": 1.0}
    with pytest.raises(pydantic.ValidationError):
        BdpParameters(**unknown)
    with pytest.raises(pydantic.ValidationError):
        Parameters(policy="cubic")  # type: ignore[arg-type]


def test_a_lease_outlives_two_lost_renewals_and_ends_after_what_makes_it_stale() -> None:
    """What the defaults promise of each other."""
    safety = Parameters().safety
    assert safety.cell_stale_ms < safety.lease_ms
    assert safety.terminal_stale_ms < safety.lease_ms
    assert Parameters().reporting.interval_ms < safety.cell_stale_ms
    assert safety.forget_ms > safety.cell_stale_ms
