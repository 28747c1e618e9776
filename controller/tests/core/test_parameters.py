# SPDX-License-Identifier: Apache-2.0

import dataclasses
import math
from typing import Any

import pydantic
import pytest

from airbound.core.openflow_parameters import OpenflowParameters
from airbound.core.parameters import (
    AggregateParameters,
    BdpParameters,
    CapacityParameters,
    EdcaParameters,
    IdentityParameters,
    LiveParameters,
    MinRttParameters,
    PacingParameters,
    PaperParameters,
    Parameters,
    ReportingParameters,
    SafetyParameters,
    SharesParameters,
    WindowClampParameters,
)

# By field: the smallest value, the default, the largest.
FIELDS: dict[Any, dict[str, tuple[float, float, float]]] = {
    SafetyParameters: {
        "lease_ms": (1_000, 6_000, 60_000),
        "cell_stale_ms": (500, 3_000, 600_000),
        "terminal_stale_ms": (500, 5_000, 600_000),
        "sending_keep_ms": (0, 3_000, 600_000),
        "forget_ms": (1_000, 600_000, 86_400_000),
    },
    ReportingParameters: {
        "interval_ms": (100, 1_000, 60_000),
        "heartbeat_ms": (1_000, 10_000, 600_000),
        "rtt_ratio_change": (0.0, 0.2, 100.0),
    },
    MinRttParameters: {
        "max_age_s": (1, 600, 86_400),
        "confirm_ratio": (1.0, 2.0, 100.0),
        "unconfirmed_s": (0.0, 15.0, 3600.0),
    },
    CapacityParameters: {
        "default_bps": (1e5, 20e6, 1e11),
        "min_bps": (1e4, 5e5, 1e11),
        "max_bps": (1e5, 5e9, 1e12),
        "smoothing_s": (0.1, 3.0, 600.0),
        "change_ratio": (0.0, 0.03, 1.0),
        "aggregate_frames": (1, 64, 1024),
    },
    EdcaParameters: {
        "aifsn_extra": (0, 2, 6),
        "txop_limit": (0, 0, 94),
        "min_senders": (1, 2, 2_007),
        "on_share": (0.0, 0.4, 1.0),
        "off_share": (0.0, 0.25, 1.0),
        "share_smoothing_s": (0.1, 2.0, 600.0),
        "linger_s": (0.0, 3.0, 600.0),
    },
    BdpParameters: {
        "gain": (0.1, 1.0, 100.0),
        "gain_alone": (0.1, 1.1, 100.0),
        "queue_segs": (0, 4, 1000),
        "min_fraction": (0.0, 0.5, 1.0),
        "floor_segs": (1, 2, 100),
    },
    AggregateParameters: {
        "efficiency": (0.1, 0.93, 0.99),
        "queue_ms": (0.0, 8.0, 1000.0),
        "delay_weight": (0.01, 0.3, 10.0),
    },
    SharesParameters: {
        "floor_bps": (0.0, 0.0, 1e10),
    },
    LiveParameters: {
        "rate_bps": (1e4, 700e3, 1e9),
        "air_most": (0.0, 0.4, 0.9),
    },
    OpenflowParameters: {
        "headroom": (1.0, 1.25, 10.0),
        "stale_ms": (1_500, 3_500, 600_000),
    },
}
# Two fields of one table may exclude each other: what the other is to be while this one is at its limit.
BESIDE: dict[tuple[str, float], dict[str, float]] = {
    ("on_share", 0.0): {"off_share": 0.0},
    ("off_share", 1.0): {"on_share": 1.0},
    ("min_bps", 1e11): {"max_bps": 1e12},
    ("max_bps", 1e5): {"min_bps": 1e4},
}
TABLES: list[Any] = [IdentityParameters, PacingParameters, PaperParameters, WindowClampParameters, *FIELDS]


@pytest.mark.parametrize(
    ("kind", "field", "low", "default", "high"),
    [(kind, field, *values) for kind, fields in FIELDS.items() for field, values in fields.items()],
)
def test_a_field_has_its_limits_and_its_default(kind: Any, field: str, low: float, default: float, high: float) -> None:
    assert getattr(kind(), field) == default
    for value in (low, high):
        assert getattr(kind(**{field: value}, **BESIDE.get((field, value), {})), field) == value
    for wrong in (low - 1, high + 1, math.nan, math.inf, "7", None, True):
        with pytest.raises(pydantic.ValidationError) as caught:
            kind(**{field: wrong})
        assert caught.value.errors()[0]["loc"] == (field,)


def test_every_number_has_limits_and_every_field_is_explained() -> None:
    for kind in TABLES:
        fields: dict[str, Any] = kind.__pydantic_fields__
        assert all(field.description for field in fields.values())
        numbers = {name for name, field in fields.items() if field.annotation in {int, float}}
        assert numbers == FIELDS.get(kind, {}).keys()
    assert {type(getattr(Parameters(), field.name)) for field in dataclasses.fields(Parameters)} == {str, *TABLES}


def test_the_defaults_that_are_no_numbers() -> None:
    parameters = Parameters()
    assert (parameters.policy, parameters.paper.table) == ("aggregate", "jelly-bean")
    assert parameters.identity.match_addresses
    assert parameters.min_rtt.share
    assert parameters.edca.enabled
    assert parameters.window_clamp.enabled
    assert parameters.live.enabled
    assert parameters.pacing.enabled
    assert (parameters.edca.cw_min, parameters.edca.cw_max) == (None, None)


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ("cw_min", [1, 3, 7, 15, 31, 63], [-1, 0, 2, 16, 64, 127, 1023]),
        ("cw_max", [1, 15, 63, 127, 1023], [-1, 0, 2, 1022, 1024, 2047]),
        ("stations_aifsn", [2, 15], [-1, 0, 1, 16]),
        ("stations_cw_min", [3, 15, 1023], [-1, 0, 1, 16, 2047]),
        ("stations_cw_max", [63, 1023], [-1, 0, 31, 64, 2047]),
        ("stations_txop_limit", [0, 1, 94], [-1, 95]),
    ],
)
def test_what_an_access_points_queue_may_be_configured_to(field: str, right: list[int], wrong: list[int]) -> None:
    for value in right:
        assert getattr(EdcaParameters(**{field: value}), field) == value
    for value in [*wrong, 1.0, "7", True]:
        with pytest.raises(pydantic.ValidationError) as caught:
            EdcaParameters(**{field: value})
        assert caught.value.errors()[0]["loc"][0] == field


def test_fields_that_do_not_fit_together_are_refused() -> None:
    CapacityParameters(min_bps=1e6, max_bps=1e6)
    with pytest.raises(pydantic.ValidationError):
        CapacityParameters(min_bps=2e6, max_bps=1e6)
    EdcaParameters(on_share=0.5, off_share=0.5, cw_min=15, cw_max=15)
    with pytest.raises(pydantic.ValidationError):
        EdcaParameters(on_share=0.2)
    with pytest.raises(pydantic.ValidationError):
        EdcaParameters(cw_min=31, cw_max=15)
    EdcaParameters(stations_cw_min=63, stations_cw_max=63)
    with pytest.raises(pydantic.ValidationError, match="stations_cw_min is more than stations_cw_max = 63"):
        EdcaParameters(stations_cw_min=127, stations_cw_max=63)


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
