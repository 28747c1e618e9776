# SPDX-License-Identifier: Apache-2.0
"""What a live cell is made of: names, addresses, limits."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from airbound_lab.live.settings import Settings

HERE = "controller.example:50051"


def test_names_of_the_devices_with_a_certificate() -> None:
    settings = Settings(HERE, name="demo", terminals=2, without_agent=3)
    assert settings.devices() == ("demo-ap", "demo-phone1", "demo-phone2")
    assert settings.phones == 5
    assert settings.parameters().terminals == 5


@pytest.mark.parametrize(
    ("controller", "enroll", "enrolment"),
    [
        (HERE, None, "controller.example:50053"),
        ("[2001:db8::1]:9", None, "[2001:db8::1]:50053"),
        (HERE, "10.0.0.1:77", "10.0.0.1:77"),
    ],
)
def test_where_devices_enrol(controller: str, enroll: str | None, enrolment: str) -> None:
    assert Settings(controller, enroll=enroll).enrolment == enrolment


def test_the_radio_of_today_is_a_run_s_and_chooses_its_kernel() -> None:
    assert Settings(HERE).line == "6.1"
    parameters = Settings(HERE, phy="11ac-80", ap="openwrt", distances_m=(5.0, 40.0)).parameters()
    assert (parameters.phy, parameters.ap, parameters.kernel_line) == ("11ac-80", "openwrt", "6.12")
    assert [parameters.distance_m(phone) for phone in (1, 2, 3)] == [5, 40, 5]


@pytest.mark.parametrize(
    "wrong",
    [
        {"controller": "controller.example"},
        {"controller": "controller.example:0"},
        {"controller": "controller.example:65536"},
        {"controller": ":50051"},
        {"controller": "2001:db8::1:50051"},
        {"enroll": "nowhere"},
        {"plain_text": True, "enroll": HERE},
        {"name": "a b"},
        {"name": ""},
        {"name": "a" * 49},
        {"terminals": -1},
        {"terminals": 0, "without_agent": 0},
        {"terminals": 100, "without_agent": 1},
        {"radio": "fast"},
        {"delay_ms": -1.0},
        {"ap": "openwrt", "kernel_line": "6.1"},
        {"phy": "11ac-80", "radio": "aarf"},
        {"distances_m": (0.0,)},
    ],
)
def test_what_is_wrong_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings(**({"controller": HERE} | wrong))
