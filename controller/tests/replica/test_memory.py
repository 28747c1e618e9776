# SPDX-License-Identifier: Apache-2.0
import math

from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.memory import CellMemory, SeenMinRtt
from airbound.core.reports import RTT_MAX_US, RTT_MIN_US
from airbound.replica import memory
from airbound.v1 import replica_pb2

SEEN = st.builds(
    SeenMinRtt,
    address=st.sampled_from([bytes([10, 0, 4, 1]), bytes([192, 0, 2, 7]), b"\x20\x01" + bytes(13) + b"\x01"]),
    terminal=st.text(max_size=20),
    min_rtt_us=st.integers(RTT_MIN_US, RTT_MAX_US),
    age_us=st.integers(0, 2**40),
)


@given(st.floats(0, 1e11), st.lists(SEEN, max_size=20))
def test_what_is_kept_comes_back(capacity_bps: float, seen: list[SeenMinRtt]) -> None:
    back = memory.parsed(memory.octets(CellMemory(capacity_bps, tuple(seen))))
    assert back is not None
    assert back.capacity_bps == capacity_bps
    assert sorted(back.min_rtts) == sorted(seen)


@given(st.binary(max_size=200))
def test_anything_else_is_nothing_or_within_limits(octets: bytes) -> None:
    back = memory.parsed(octets)
    if back is not None:
        assert math.isfinite(back.capacity_bps)
        assert back.capacity_bps >= 0
        assert all(RTT_MIN_US <= entry.min_rtt_us <= RTT_MAX_US for entry in back.min_rtts)


def test_the_youngest_are_kept_if_there_are_too_many() -> None:
    seen = tuple(SeenMinRtt(bytes([10, 0, 4, 1]), str(age), 4_000, age) for age in range(memory.SEEN_MAX + 10))
    back = memory.parsed(memory.octets(CellMemory(0.0, seen)))
    assert back is not None
    assert [entry.age_us for entry in back.min_rtts] == list(range(memory.SEEN_MAX))


def test_a_capacity_that_is_no_number_is_none() -> None:
    octets = replica_pb2.CellMemory(capacity_bps=math.nan).SerializeToString()
    assert memory.parsed(octets) == CellMemory()
    assert memory.parsed(None) is None
