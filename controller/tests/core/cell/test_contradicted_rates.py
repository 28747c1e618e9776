# SPDX-License-Identifier: Apache-2.0

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.contradicted_rates import AGAIN, LEAST_OCTETS, SURE, Heard, contradict
from airbound.core.reports import Station
from airbound_testing.scenario import mac

RATE_KBPS = 866_700
MB = 1_000_000


@dataclass
class Phone:
    latest: Station
    contradicted: int = 0
    heard: list[Heard] = field(default_factory=list)


def phone(number: int, rate_kbps: int = RATE_KBPS) -> Phone:
    return Phone(Station(mac(number), rx_bitrate_kbps=rate_kbps, aggregates=True))


def report(*passed: tuple[Phone, int, int], times: int = 1, climbing: bool = False) -> None:
    for _ in range(times):
        contradict([Heard(sender, octets, air_us, climbing) for sender, octets, air_us in passed])


def test_who_needs_several_times_the_air_at_the_rate_of_the_others_is_contradicted() -> None:
    near, nearer, far = phone(1), phone(2), phone(3)
    interval = (near, 3 * MB, 45_000), (nearer, 3 * MB, 40_000), (far, 3 * MB, 900_000)
    report(*interval, times=SURE - 1)
    assert far.contradicted < SURE
    report(*interval)
    assert (near.contradicted, nearer.contradicted, far.contradicted) == (0, 0, SURE)


def test_windows_of_the_true_rate_go_on_contradicting_it() -> None:
    near, far = phone(1), phone(2)
    report((near, 3 * MB, 45_000), (far, 3 * MB, 900_000), times=SURE)
    report((near, 30 * MB, 450_000), (far, MB, 300_000), times=10)
    assert far.contradicted > SURE


def test_single_frames_that_take_less_air_than_long_accesses_contradict_nothing() -> None:
    bulk, single = phone(1), phone(2)
    report((bulk, 30 * MB, 450_000), (single, 3 * MB, 400_000), times=2 * SURE)
    assert not single.contradicted


def test_who_sends_little_is_not_what_others_are_compared_with() -> None:
    bursts, single = phone(1), phone(2)
    report((bursts, MB // 4, 4_000), (single, 3 * MB, 400_000), times=2 * SURE)
    assert not single.contradicted


@pytest.mark.parametrize("rate_kbps", [866_600, 58_500])
def test_different_rates_are_taken_as_they_are(rate_kbps: int) -> None:
    near, far = phone(1), phone(2)
    report((near, 3 * MB, 45_000), (far, 3 * MB, 900_000), times=SURE)
    far.latest = far.latest._replace(rx_bitrate_kbps=rate_kbps)
    report((near, 3 * MB, 45_000), (far, 3 * MB, 900_000))
    assert not far.contradicted


def test_one_alone_contradicts_nobody() -> None:
    near, far = phone(1), phone(2)
    report((near, 3 * MB, 45_000), (far, 3 * MB, 900_000), times=SURE)
    report((far, 3 * MB, 900_000))
    assert not far.contradicted


def test_it_ends_when_the_others_take_nearly_as_long() -> None:
    near, far = phone(1), phone(2)
    report((near, 3 * MB, 45_000), (far, 3 * MB, 900_000), times=SURE)
    report((near, 3 * MB, 45_000), (far, 3 * MB, 60_000))
    assert not far.contradicted


def test_it_is_tried_again_after_a_while() -> None:
    near, far = phone(1), phone(2)
    interval = (near, 3 * MB, 45_000), (far, 3 * MB, 900_000)
    report(*interval, times=AGAIN)
    assert far.contradicted == AGAIN
    report(*interval)
    assert not far.contradicted
    report(*interval, times=SURE)
    assert far.contradicted == SURE


def test_what_is_slow_while_its_rate_control_climbs_proves_nothing() -> None:
    near, far = phone(1), phone(2)
    report((near, 3 * MB, 45_000), (far, 3 * MB, 900_000), times=2 * SURE, climbing=True)
    assert not far.contradicted


@pytest.mark.parametrize(("octets", "air_us"), [(LEAST_OCTETS - 1, 900_000), (3 * MB, 0)])
def test_too_little_or_no_air_time_changes_nothing(octets: int, air_us: int) -> None:
    near, far = phone(1), phone(2)
    report((near, 3 * MB, 45_000), (far, octets, air_us), times=2 * SURE)
    assert not far.contradicted


@given(st.lists(st.tuples(st.integers(0, 10**10), st.integers(0, 10**6)), min_size=1, max_size=8), st.integers(1, 9))
def test_the_quickest_is_never_contradicted(passed: list[tuple[int, int]], times: int) -> None:
    phones = [phone(number) for number in range(len(passed))]
    report(*((sender, *heard) for sender, heard in zip(phones, passed, strict=True)), times=times)
    bulk = [index for index, (octets, air_us) in enumerate(passed) if octets >= LEAST_OCTETS and air_us >= 2_000]
    if bulk:
        assert not phones[min(bulk, key=lambda index: passed[index][1] / passed[index][0])].contradicted
