# SPDX-License-Identifier: Apache-2.0
"""The cell itself: medium, wire, parameters, determinism, and the errors when it cannot be brought up."""

from __future__ import annotations

import itertools
import re
import shutil
import statistics
from typing import TYPE_CHECKING

import pytest

from airbound_lab.errors import LabError
from airbound_lab.medium import attempts
from airbound_lab.medium_theory import bianchi
from airbound_lab.run import boot
from airbound_lab.settings.scenario import Action, Scenario, built_in
from airbound_lab.settings.values import KERNEL_LINES, Window

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Cell

pytestmark = pytest.mark.uml

SHORT = {"seconds": 8, "warmup_seconds": 2}
SIFS_NS = 10_000
SEGMENT_BYTES, DATA_BYTES = 1448, 1536
"""A full TCP segment, and its frame from MAC header to FCS."""


@pytest.mark.parametrize(("stations", "kernel_line"), [(1, "6.1"), (2, "6.1"), (5, "6.1"), (10, "6.1"), (5, "6.12")])
def test_saturation_throughput_is_bianchis(boot_cell: Callable[..., Cell], stations: int, kernel_line: str) -> None:
    saturated = {"scenario": built_in("saturation"), "rate_control": "fixed", "kernel_line": kernel_line}
    run = boot_cell("cubic", terminals=stations, **saturated, **SHORT).run
    assert run.total_goodput_mbps == pytest.approx(
        bianchi.saturation(bianchi.Stations(stations))[0].payload_mbps, rel=0.05
    )
    assert run.jain is not None
    assert run.jain > 0.98


@pytest.mark.parametrize("kernel_line", KERNEL_LINES)
def test_with_wmm_stations_wait_as_the_beacon_says(boot_cell: Callable[..., Cell], kernel_line: str) -> None:
    # hostapd announces AIFSN 3 for best effort: a slot more before each frame. Two bytes more of header fit in its last
    # symbol.
    saturated = {"scenario": built_in("saturation"), "terminals": 1, "rate_control": "fixed", **SHORT}
    saturated["kernel_line"] = kernel_line
    dcf, edca = (boot_cell("cubic", wmm=wmm, **saturated).run.total_goodput_mbps for wmm in (False, True))
    assert 1470 * 8 / edca == pytest.approx(1470 * 8 / dcf + 9, rel=0.005)


@pytest.mark.parametrize("kernel_line", KERNEL_LINES)
def test_same_seed_same_result_to_the_digit_and_another_seed_differs(
    boot_cell: Callable[..., Cell], kernel_line: str
) -> None:
    # A mode with agents, because what they and the controller exchange must be the same as well. The name differs,
    # which must not matter.
    settings = {"terminals": 3, "kernel_line": kernel_line}
    renamed = Scenario("a much longer name", built_in("uplink").actions)
    first = boot_cell("bdp", **settings, **SHORT).run.comparable()
    again = boot_cell("bdp", fresh=True, scenario=renamed, **settings, **SHORT).run.comparable()
    other = boot_cell("bdp", seed=2, **settings, **SHORT).run.comparable()
    assert first == again
    assert {**other, "seed": 1} != first


def test_same_result_from_another_place(
    boot_cell: Callable[..., Cell], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The path of the guest's first program is on the kernel's command line, which the kernel uses as entropy.
    here = boot_cell("bdp", terminals=3, **SHORT).run.comparable()
    package = boot.GUEST_INIT.parent
    elsewhere = shutil.copytree(package.parent, tmp_path / "a-path-of-another-length" / package.parent.name)
    monkeypatch.setattr(boot, "GUEST_INIT", elsewhere / package.name / boot.GUEST_INIT.name)
    assert boot_cell("bdp", fresh=True, terminals=3, **SHORT).run.comparable() == here


def test_each_phone_has_its_own_wire(boot_cell: Callable[..., Cell]) -> None:
    one_by_one = Scenario("one", tuple(Action(0, "start-traffic", phone=i) for i in (1, 2, 3)))
    run = boot_cell("bdp", scenario=one_by_one, terminals=3, wired_delays_ms=(4.0, 64.0, 256.0), **SHORT).run
    smallest_ms = [min(rtt for rtt in phone.series.min_rtt_ms if rtt is not None) for phone in run.phones]
    for rtt_ms, wire_ms in zip(smallest_ms, (4, 64, 256), strict=True):
        assert wire_ms < rtt_ms < wire_ms + 8


def test_a_shorter_queue_at_the_access_point_shortens_the_rtt(boot_cell: Callable[..., Cell]) -> None:
    # Of the phone in the middle: where the queue is short, one phone may lose its first window as a whole and starve,
    # and the mean is then that of its retransmission timeouts.
    long_ms, short_ms = (
        statistics.median(
            statistics.fmean(srtt_ms for srtt_ms in phone.series.srtt_ms[5:] if srtt_ms is not None)
            for phone in boot_cell("cubic", terminals=5, ap_queue_packets=packets, seconds=20).run.phones
        )
        for packets in (1000, 50)
    )
    assert short_ms < long_ms / 2


def test_loss_on_the_links_costs_throughput(boot_cell: Callable[..., Cell]) -> None:
    saturation = {"scenario": built_in("saturation"), "terminals": 2, "rate_control": "fixed", **SHORT}
    clean, lossy = (boot_cell("cubic", loss_percent=loss, **saturation).run for loss in (0.0, 20.0))
    assert lossy.total_goodput_mbps < 0.9 * clean.total_goodput_mbps


@pytest.mark.parametrize("qdisc", ["pfifo", "fq_codel", "fq"])
def test_the_phones_queue_as_asked_for(boot_cell: Callable[..., Cell], qdisc: str) -> None:
    cell = boot_cell("cubic", terminals=2, qdisc=qdisc, queue_packets=700, **SHORT)
    # What each phone's kernel showed at the end: which discipline its interface has, and how much went through it.
    shown = (cell.logs / "log" / "qdiscs.log").read_text(encoding="utf-8")
    assert (
        re.findall(r"^qdisc (\S+) \S+ root (?:refcnt \d+ )?limit (\d+)p", shown, re.MULTILINE) == [(qdisc, "700")] * 2
    )
    sent_bytes = [int(sent) for sent in re.findall(r"^ Sent (\d+) bytes", shown, re.MULTILINE)]
    received_bytes = [sum(phone.series.goodput_mbps) * 1e6 / 8 for phone in cell.run.phones]
    assert all(sent > received > 0 for sent, received in zip(sent_bytes, received_bytes, strict=True))


def test_settings_of_a_mode_are_those_of_the_options(boot_cell: Callable[..., Cell]) -> None:
    cell = boot_cell("cubic@fq_codel@queue=200", terminals=2, ap_queue_packets=50, **SHORT)
    options = boot_cell("cubic", terminals=2, ap_qdisc="fq_codel", ap_queue_packets=200, **SHORT)
    shown = (cell.logs / "log" / "qdiscs-ap.log").read_text(encoding="utf-8")
    assert re.findall(r"^qdisc (\S+) \S+ root refcnt \d+ limit (\d+)p", shown, re.MULTILINE) == [("fq_codel", "200")]
    assert cell.run.comparable() == options.run.comparable() | {"mode": "cubic@fq_codel@queue=200"}


def test_paced_and_on_off_udp_arrive_at_their_rates(boot_cell: Callable[..., Cell]) -> None:
    scenario = Scenario(
        "udp",
        (
            Action(0, "start-traffic", phone=1, protocol="udp", rate_mbps=2.0),
            Action(0, "start-traffic", phone=2, protocol="udp", rate_mbps=2.0, on_s=0.5, off_s=0.5),
        ),
    )
    run = boot_cell("cubic", scenario=scenario, terminals=2, **SHORT).run
    assert run.phones[0].goodput_mbps == pytest.approx(2.0, rel=0.02)
    assert run.phones[1].goodput_mbps == pytest.approx(1.0, rel=0.05)


def test_a_trace_of_the_medium_has_every_attempt_and_changes_nothing(boot_cell: Callable[..., Cell]) -> None:
    plain = boot_cell("bdp", terminals=3, **SHORT).run
    cell = boot_cell("bdp", terminals=3, medium_trace=Window(2.0, 6.0), **SHORT)
    assert cell.run.comparable() == plain.comparable()
    found = attempts.load(cell.logs / "medium.csv")
    assert min(attempt.start_ns for attempt in found) >= 2e9
    assert max(attempt.start_ns for attempt in found) < 8e9
    together = attempts.accesses(found)
    for before, after in itertools.pairwise(together):
        assert after[0].start_ns >= max(attempt.end_ns for attempt in before) + SIFS_NS
    assert all(len(attempts) <= attempts[0].contenders <= 4 for attempts in together)
    for phone, result in enumerate(cell.run.phones, start=1):
        frames = [
            attempt
            for attempt in found
            if attempt.station == phone and attempt.outcome == "delivered" and attempt.bytes == DATA_BYTES
        ]
        assert len(frames) * SEGMENT_BYTES * 8 / 6e6 == pytest.approx(result.goodput_mbps, rel=0.01)


def test_a_station_that_cannot_associate_is_named(boot_cell: Callable[..., Cell]) -> None:
    with pytest.raises(LabError, match="cubic, seed 1: station sta1 did not associate in 3 attempts"):
        boot_cell("cubic", terminals=1, loss_percent=99.0, **SHORT)


def test_a_controller_that_does_not_start_is_named_with_its_error(boot_cell: Callable[..., Cell]) -> None:
    with pytest.raises(LabError, match=r"controller ended before it could listen: .*unknown key colour"):
        boot_cell("bdp", terminals=1, controller_config='colour = "red"\n', **SHORT)
