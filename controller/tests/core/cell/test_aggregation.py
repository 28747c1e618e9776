# SPDX-License-Identifier: Apache-2.0

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.aggregation import Packets, bulk_bps, full_channel_us
from airbound.core.cell.contention import contention
from airbound.core.cell.full_rates import FullRate
from airbound.core.parameters import CapacityParameters

PARAMETERS = CapacityParameters()
VHT_BYTES, HT_BYTES = 1_048_575, 65_535
FRAME_BYTES = 1500 + 46


def data(packets: int, mbps: float, psdu_max_bytes: int = VHT_BYTES) -> Packets:
    return packets, packets * 1500, mbps * 1e6, psdu_max_bytes


def acks(packets: int, mbps: float) -> Packets:
    return packets, packets * 52, mbps * 1e6, VHT_BYTES


def alone_us(frames: int, mbps: float) -> float:
    """An access of one sender: AIFS, 7.5 slots, preamble, SIFS and block ack, data."""
    return 43 + 7.5 * 9 + 90 + frames * FRAME_BYTES * 8 / mbps


def slowed(contenders: int) -> float:
    """What collisions leave of the PHY rates."""
    return 1 - contention(contenders, 15).collides / 4


@pytest.mark.parametrize(
    ("mbps", "psdu_max_bytes", "frames"),
    [
        (866.7, VHT_BYTES, 64),  # a block ack's
        (300, HT_BYTES, HT_BYTES / FRAME_BYTES),  # 42.4, on average
        (72.2, HT_BYTES, 5484 * 72.2 / 8 / FRAME_BYTES),  # 5.484 ms
        (6.5, HT_BYTES, 5484 * 6.5 / 8 / FRAME_BYTES),
        (1, HT_BYTES, 1),  # one frame always fits
    ],
)
def test_an_access_carries_what_its_limits_allow(mbps: float, psdu_max_bytes: int, frames: float) -> None:
    packets = 10_000
    needed = full_channel_us([data(packets, mbps, psdu_max_bytes)], [], 1, PARAMETERS)
    overhead = packets / frames * (43 + 7.5 * 9 + 90)
    assert needed == pytest.approx(packets * FRAME_BYTES * 8 / mbps + overhead)


def test_a_single_sender_of_802_11ac_without_answers_has_676_mbps() -> None:
    """As the lab's medium, and the arithmetic of its frames: 675.3 Mb/s of UDP payload in packets of 1470 bytes."""
    packets = (64_000, 64_000 * 1498, 866.7e6, VHT_BYTES)
    payload_mbps = 64_000 * 1470 * 8 / full_channel_us([packets], [], 1, PARAMETERS)
    assert payload_mbps == pytest.approx(675.3, rel=0.02)


def test_ten_senders_lose_what_their_collisions_take() -> None:
    """The lab's Bianchi with A-MPDUs and a fixed rate: 547 Mb/s."""
    packets = [(6_400, 6_400 * 1498, 866.7e6 / slowed(10), VHT_BYTES)] * 10
    payload_mbps = 64_000 * 1470 * 8 / full_channel_us(packets, [], 10, PARAMETERS)
    assert payload_mbps == pytest.approx(547, rel=0.03)


def test_answers_take_accesses_of_their_own() -> None:
    up, down = data(6_400, 866.7), acks(3_200, 866.7)
    cost, mbps = contention(2, 15), 866.7 * slowed(2)
    collision_us = 43 + (1 - (1 / 3) ** 2) * (alone_us(64, mbps) - 43 - 67.5) + (1 / 9) * (90 + 64 * 98 * 8 / mbps)
    expected = (
        100 * (43 + 90) + 6_400 * FRAME_BYTES * 8 / mbps
        + 50 * (43 + 90) + 3_200 * 98 * 8 / mbps
        + 150 * (cost.idle_slots * 9 + cost.collisions * collision_us)
    )  # fmt: skip
    assert full_channel_us([up], [down], 1, PARAMETERS) == pytest.approx(expected)


def test_the_more_collide_the_slower_their_rates() -> None:
    """CUBIC on 11n-40 in the lab: 300 Mb/s alone, 274.8 with five phones, of whose attempts 27 % collide."""
    assert slowed(1) == 1
    assert slowed(5) * 300 == pytest.approx(274.8, rel=0.02)
    alone, of_many = (full_channel_us([data(42_400, 300, HT_BYTES)], [], n, PARAMETERS) for n in (1, 5))
    cost, frames = contention(5, 15), HT_BYTES / FRAME_BYTES
    access_us = 90 + frames * FRAME_BYTES * 8 / (300 * slowed(5))
    accesses = 42_400 / frames
    assert of_many == pytest.approx(
        accesses * (43 + access_us + cost.idle_slots * 9 + cost.collisions * (43 + access_us))
    )
    assert alone == pytest.approx(accesses * alone_us(1, 300) + (42_400 - accesses) * FRAME_BYTES * 8 / 300)


def test_few_packets_down_are_no_acks() -> None:
    """Agents have connections of their own: senders of UDP contend as if they did not."""
    up = [data(640, 144.4, HT_BYTES)] * 20
    needed_us = [full_channel_us(up, [acks(count, 144.4)], 20, PARAMETERS) for count in (0, 1, 3_200, 6_400)]
    assert needed_us[1] == pytest.approx(needed_us[0], rel=0.001)
    assert needed_us[0] > 1.1 * needed_us[2]
    assert needed_us[2] < needed_us[3]


def test_a_slow_station_takes_its_time() -> None:
    fast, slow = data(640, 866.7), data(640, 65)
    both = full_channel_us([fast, slow], [], 2, PARAMETERS)
    assert both > full_channel_us([slow], [], 1, PARAMETERS) > 640 * FRAME_BYTES * 8 / 65


def test_packets_without_a_rate_and_no_packets_need_nothing() -> None:
    assert full_channel_us([data(10, 0), data(0, 866.7)], [data(0, 0)], 1, PARAMETERS) == 0
    assert full_channel_us([], [], 0, PARAMETERS) == 0


@given(
    packets=st.integers(1, 100_000),
    mean_bytes=st.integers(20, 1500),
    mbps=st.floats(1, 9_600),
    senders=st.integers(0, 2_000),
)
def test_it_never_takes_less_than_the_bits(packets: int, mean_bytes: int, mbps: float, senders: int) -> None:
    bulk = (packets, packets * mean_bytes, mbps * 1e6, VHT_BYTES)
    for up, down in (([bulk], []), ([], [bulk]), ([bulk], [bulk])):
        assert full_channel_us(up, down, senders, PARAMETERS) >= packets * mean_bytes * 8 / mbps


def test_what_rates_carry_of_full_packets() -> None:
    fast, plain = FullRate(866.7e6, 780e6), FullRate(54e6, 54e6)
    alone = bulk_bps([(fast, True)], PARAMETERS)
    assert alone == pytest.approx(
        1000 * 1500 * 8e6 / full_channel_us([data(1000, 866.7)], [acks(500, 780)], 1, PARAMETERS)
    )
    # Its own rate stands for that of its ACKs.
    one_way = bulk_bps([(fast._replace(down_bps=0.0), True)], PARAMETERS)
    assert one_way == pytest.approx(bulk_bps([(fast._replace(down_bps=866.7e6), True)], PARAMETERS))
    assert bulk_bps([(plain, False)], PARAMETERS) == pytest.approx(0.44 * 54e6)
    both = bulk_bps([(plain, False), (fast, True)], PARAMETERS)
    assert both == pytest.approx(2 / (1 / (0.44 * 54e6) + 1 / alone))
    assert bulk_bps([(FullRate(), False), (fast, True)], PARAMETERS) == pytest.approx(alone)
    assert bulk_bps([], PARAMETERS) == bulk_bps([(FullRate(), False)], PARAMETERS) == 0
