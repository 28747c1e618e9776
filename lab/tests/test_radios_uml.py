# SPDX-License-Identifier: Apache-2.0
"""802.11n and ac in the whole stack: mac80211's block-ack sessions and rate control, the driver, the medium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from airbound_lab.medium import attempts
from airbound_lab.medium_theory import exchange, ppdu, saturation
from airbound_lab.medium_theory.ppdu import Band, Rate
from airbound_lab.medium_theory.saturation import Senders
from airbound_lab.settings.scenario import Scenario, built_in
from airbound_lab.settings.values import Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Cell

pytestmark = pytest.mark.uml

SHORT: dict[str, Any] = {"seconds": 5, "warmup_seconds": 2}
LINES: dict[str, dict[str, Any]] = {"6.1": {}, "6.12": {"kernel_line": "6.12", "ap": "openwrt"}}
SATURATED: dict[str, Any] = {"scenario": built_in("saturation"), "rate_control": "fixed", **SHORT}
RADIOS: dict[str, tuple[dict[str, Any], Rate, Band]] = {
    "65 Mb/s": ({"phy": "11n-20", "guard_interval": "long"}, ppdu.ht(7), Band.GHZ_2_4),
    "150 Mb/s": ({"phy": "11n-40", "streams": 1}, ppdu.ht(7, 40, short_guard_interval=True), Band.GHZ_5),
    "300 Mb/s": ({"phy": "11n-40"}, ppdu.ht(15, 40, short_guard_interval=True), Band.GHZ_5),
    "433 Mb/s": ({"phy": "11ac-80", "streams": 1}, ppdu.vht(9, short_guard_interval=True), Band.GHZ_5),
    "867 Mb/s": ({"phy": "11ac-80"}, ppdu.vht(9, streams=2, short_guard_interval=True), Band.GHZ_5),
}


@pytest.mark.parametrize(
    ("name", "line"), [*((name, "6.1") for name in RADIOS), ("65 Mb/s", "6.12"), ("867 Mb/s", "6.12")]
)
def test_a_single_senders_goodput_is_that_of_the_frames(boot_cell: Callable[..., Cell], name: str, line: str) -> None:
    radio, rate, band = RADIOS[name]
    run = boot_cell("cubic", terminals=1, **SATURATED, **radio, **LINES[line]).run
    expected_mbps = exchange.single_sender_mbps(exchange.exchange(rate, band), band)
    assert run.total_goodput_mbps == pytest.approx(expected_mbps, rel=0.01)


@pytest.mark.parametrize(
    ("name", "line", "rts"), [("65 Mb/s", "6.12", False), ("867 Mb/s", "6.1", False), ("300 Mb/s", "6.1", True)]
)
def test_ten_saturated_senders_get_what_bianchis_model_has(
    boot_cell: Callable[..., Cell], name: str, line: str, *, rts: bool
) -> None:
    radio, rate, band = RADIOS[name]
    protection = {"rts_bytes": 0} if rts else {}
    run = boot_cell("cubic", terminals=10, **SATURATED, **radio, **LINES[line], **protection).run
    (expected,) = saturation.saturation(Senders(10, exchange.exchange(rate, band, rts=rts)), band=band)
    assert run.total_goodput_mbps == pytest.approx(expected.payload_mbps, rel=0.05)


@pytest.mark.parametrize("line", LINES)
def test_same_seed_same_result_to_the_digit(boot_cell: Callable[..., Cell], line: str) -> None:
    # A mode with agents; the two differ in a name only.
    cell = {"terminals": 3, "phy": "11ac-80", **SHORT, **LINES[line]}
    first, again = (
        boot_cell("bdp", scenario=Scenario(name, built_in("uplink").actions), fresh=fresh, **cell).run.comparable()
        for name, fresh in (("first", False), ("a name that is longer", True))
    )
    other = boot_cell("bdp", seed=2, **cell).run.comparable()
    assert first == again
    assert {**other, "seed": 1} != first


@pytest.mark.parametrize("line", LINES)
def test_what_the_link_loses_block_acks_bring_back(boot_cell: Callable[..., Cell], line: str) -> None:
    lossy = {"terminals": 2, "phy": "11n-40", "loss_percent": 10.0, **SHORT, **LINES[line]}
    cell = boot_cell("cubic", medium_trace=Window(3, 0.5), **lossy)
    assert sum(phone.retransmits for phone in cell.run.phones) == 0
    of_phones = [attempt for attempt in attempts.load(cell.logs / "medium.csv") if attempt.station and attempt.mpdus]
    sent = sum(attempt.mpdus for attempt in of_phones if attempt.outcome == "delivered")
    received = sum(attempt.mpdus_received for attempt in of_phones)
    assert received / sent == pytest.approx(0.9, abs=0.02)
    assert sent / len(of_phones) > 10


def test_far_away_is_slower_and_loses_nothing(boot_cell: Callable[..., Cell]) -> None:
    near, far = (
        boot_cell("cubic", terminals=1, phy="11ac-80", distances_m=(distance_m,), **SHORT).run
        for distance_m in (10, 40)
    )
    assert far.total_goodput_mbps < near.total_goodput_mbps / 4
    assert [run.phones[0].retransmits for run in (near, far)] == [0, 0]


@pytest.mark.parametrize("phy", ["11g", "11ac-80"])
def test_two_cells_share_the_air_of_one_channel_and_not_that_of_two(boot_cell: Callable[..., Cell], phy: str) -> None:
    cells = {"terminals": 4, "access_points": 2, "phy": phy, **SHORT}
    one, two = (boot_cell("cubic", ap_channels=channels, **cells).run for channels in ("same", "different"))
    assert two.total_goodput_mbps > 1.8 * one.total_goodput_mbps
    assert two.jain is not None
    assert two.jain > 0.95
