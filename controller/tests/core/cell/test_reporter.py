# SPDX-License-Identifier: Apache-2.0

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.core.cell.reporter import Reporter
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, RefusedError


def reporter() -> Reporter:
    return Reporter(Stream(1, Principal("terminal", "phone")))


@pytest.mark.parametrize(
    ("sequence", "monotonic_us", "subject", "streak"),
    [
        (2, 100, "", 0),
        (9, 999, "", 0),
        (1, 101, "sequence", 0),  # repeated by the network
        (0, 101, "sequence", 1),
        (2, 99, "monotonic_us", 1),
    ],
)
def test_which_report_is_newer(sequence: int, monotonic_us: int, subject: str, streak: int) -> None:
    peer = reporter()
    peer.accept_order(1, 100, 50)
    if subject:
        with pytest.raises(RefusedError) as caught:
            peer.accept_order(sequence, monotonic_us, 60)
        reason = caught.value.reason
        assert (reason.code, reason.subject) == (Code.OUT_OF_ORDER, subject)
        expected = (1, sequence) if subject == "sequence" else (100, monotonic_us)
        assert (reason.before, reason.after) == expected
        assert (peer.sequence, peer.monotonic_us, peer.reported_at_us) == (1, 100, 50)
    else:
        peer.accept_order(sequence, monotonic_us, 60)
        assert (peer.sequence, peer.monotonic_us, peer.reported_at_us) == (sequence, monotonic_us, 60)
    assert peer.out_of_order_streak == streak


def test_a_newer_report_ends_the_streak() -> None:
    peer = reporter()
    peer.accept_order(5, 100, 50)
    for sequence in (1, 2, 3):
        with pytest.raises(RefusedError):
            peer.accept_order(sequence, 100, 51)
    assert peer.out_of_order_streak == 3
    peer.accept_order(6, 100, 52)
    assert peer.out_of_order_streak == 0


@pytest.mark.parametrize(("now_us", "stale"), [(50, False), (3_000_050, False), (3_000_051, True)])
def test_a_peer_is_stale_when_more_than_the_time_has_passed_since_its_last_report(now_us: int, stale: bool) -> None:  # noqa: FBT001
    peer = reporter()
    peer.accept_order(1, 100, 50)
    assert peer.is_stale(now_us, stale_ms=3_000) is stale


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), max_size=30))
def test_neither_number_ever_falls(reports: list[tuple[int, int]]) -> None:
    peer = reporter()
    for sequence, monotonic_us in reports:
        before = (peer.sequence, peer.monotonic_us)
        try:
            peer.accept_order(sequence, monotonic_us, 1)
        except RefusedError:
            assert (peer.sequence, peer.monotonic_us) == before
        else:
            assert peer.sequence > before[0]
            assert peer.monotonic_us >= before[1]
