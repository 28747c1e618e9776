# SPDX-License-Identifier: Apache-2.0

import asyncio
from contextlib import ExitStack

import pytest

from airbound.core.reasons import Code, Reason
from airbound.grpc import certified_streams
from airbound.grpc.certified_streams import CertifiedStreams
from airbound.pki.certificates import Certificate
from airbound.pki.identities import Identity
from airbound_testing.agents import WAIT_S


class Streams:
    """Streams on a clock of the test's."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.streams = CertifiedStreams(lambda: self.now_s)
        self.closed: list[tuple[str, Reason]] = []
        self._stack = ExitStack()

    def open(self, name: str, serial: int, not_after_s: int) -> ExitStack:
        certificate = Certificate(serial, Identity("terminal", name), not_after_s)
        stream = ExitStack()
        stream.enter_context(self.streams.during(certificate, lambda reason: self.closed.append((name, reason))))
        return stream

    def names(self) -> list[str]:
        return [name for name, _ in self.closed]


@pytest.fixture
async def world() -> Streams:
    return Streams()


async def test_a_revoked_certificate_ends_all_its_streams_and_no_others(world: Streams) -> None:
    one, two, other = world.open("a", 1, 2000), world.open("b", 1, 2000), world.open("c", 2, 2000)
    assert world.streams.revoked(frozenset([1, 7])) == 2
    reason = Reason(Code.CERTIFICATE_REVOKED, f"{1:032x}")
    assert sorted(world.closed) == [("a", reason), ("b", reason)]
    assert len(world.streams) == 1
    assert world.streams.revoked(frozenset([1])) == 0
    for stream in (one, two, other):
        stream.close()
    assert len(world.streams) == 0
    assert world.streams.revoked(frozenset([2])) == 0


async def test_streams_end_with_their_certificates_in_order(world: Streams) -> None:
    streams = [world.open(f"s{end}", end, end) for end in (1300, 1100, 1200)]
    world.streams.check()
    assert world.closed == []
    world.now_s = 1100
    world.streams.check()
    assert world.closed == [("s1100", Reason(Code.CERTIFICATE_EXPIRED, after=1100))]
    world.now_s = 5000  # the clock was set
    world.streams.check()
    assert world.names() == ["s1100", "s1200", "s1300"]
    for stream in streams:
        stream.close()


async def test_a_stream_that_ended_by_itself_is_not_closed(world: Streams) -> None:
    world.open("a", 1, 1100).close()
    world.now_s = 2000
    world.streams.check()
    assert world.streams.revoked(frozenset([1])) == 0
    assert world.closed == []


async def test_nothing_is_left_of_streams_that_come_and_go(world: Streams) -> None:
    stays = world.open("stays", 1, 9000)
    for number in range(5000):
        world.open("goes", number % 7, 9000).close()
    assert len(world.streams._ends) < 200
    assert set(world.streams._by_serial) == {1}
    assert world.streams.revoked(frozenset([1])) == 1
    stays.close()


async def test_the_timer_is_set_for_whichever_ends_first(world: Streams) -> None:
    """By a real timer; the certificates end within moments of the test's clock, which the timer only reads."""
    later = world.open("later", 1, 1020)
    soon = world.open("soon", 2, 1001)
    assert world.streams._timer is not None
    assert world.streams._timer.when() <= asyncio.get_running_loop().time() + 1.1
    world.now_s = 1001
    async with asyncio.timeout(WAIT_S):
        while not world.closed:  # noqa: ASYNC110  # the timer's callback is what is waited for
            await asyncio.sleep(0.01)
    assert world.names() == ["soon"]
    assert world.streams._timer is not None
    assert world.streams._timer.when() > asyncio.get_running_loop().time() + 10
    soon.close()
    later.close()
    assert world.streams._timer is None


async def test_the_timer_looks_at_the_clock_now_and_then(world: Streams) -> None:
    stream = world.open("a", 1, 10**9)
    assert world.streams._timer is not None
    assert world.streams._timer.when() <= asyncio.get_running_loop().time() + certified_streams.SLEEP_MAX_S + 1
    stream.close()
