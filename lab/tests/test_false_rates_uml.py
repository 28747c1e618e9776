# SPDX-License-Identifier: Apache-2.0
"""A driver that reports one rate for all its stations, with a phone far away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

pytestmark = pytest.mark.uml


def test_a_far_phone_that_is_reported_to_be_near_has_its_part_of_the_air(boot_cell: Callable[..., Cell]) -> None:
    run = boot_cell(
        "airbound",
        terminals=2,
        phy="11ac-80",
        ap="openwrt",
        kernel_line="6.12",
        distances_m=(2.0, 60.0),
        station_rates="one",
        seconds=15,
        warmup_seconds=10,
    ).run
    assert run.air_jain is not None
    assert run.air_jain > 0.7  # with equal throughput the far one has nearly all: 0.55
