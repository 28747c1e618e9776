# SPDX-License-Identifier: Apache-2.0
"""The front between peers and gRPC, with a server behind it that repeats what it reads."""

import asyncio
import contextlib
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from airbound.core.addresses import address_from_text
from airbound.enrolling.front import Front, FrontLimits, remote_of
from airbound.runtime.listening import opened
from airbound_testing.agents import WAIT_S

PATIENT = FrontLimits(octets=1000, seconds=600, connections=4)
Connected = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class World:
    def __init__(self, front: Front, port: int, stack: AsyncExitStack) -> None:
        self.front, self._port, self._stack = front, port, stack

    async def connect(self, own: str = "127.0.0.1") -> Connected:
        """From an address of the loopback interface."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(own, 0))
        self._stack.callback(writer.transport.abort)
        return reader, writer

    async def echoed(self, connected: Connected, octets: bytes = b"x") -> bytes:
        connected[1].write(octets)
        return await asyncio.wait_for(connected[0].readexactly(len(octets)), WAIT_S)


@asynccontextmanager
async def world_of(limits: FrontLimits) -> AsyncIterator[World]:
    name = f"airbound-test-{secrets.token_hex(8)}"
    behind = socket.socket(socket.AF_UNIX)
    behind.bind(f"\0{name}")

    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.CancelledError, OSError):
            while octets := await reader.read(1000):
                writer.write(octets)
        writer.transport.abort()

    async with AsyncExitStack() as stack:
        server = await asyncio.start_unix_server(repeat, sock=behind)
        stack.callback(server.close)
        (listening,) = opened("127.0.0.1:0")
        front = Front(name, limits)
        stack.callback((await front.listen(listening)).close)
        yield World(front, listening.getsockname()[1], stack)


async def at_end(connected: Connected) -> bytes:
    """What comes until the end, which must come."""
    try:
        return await asyncio.wait_for(connected[0].read(), WAIT_S)
    except ConnectionError:
        return b""


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110  # what is asked changes without a word
            await asyncio.sleep(0.01)


async def test_octets_pass_up_to_the_limit_and_no_further() -> None:
    async with world_of(PATIENT) as world:
        greedy, modest = await world.connect("127.0.0.2"), await world.connect()
        assert await world.echoed(greedy, bytes(1000)) == bytes(1000)
        greedy[1].write(b"x")
        assert await at_end(greedy) == b""
        assert await world.echoed(modest) == b"x"
        await until(lambda: world.front.closed == {"octets": 1})
        assert world.front.most() == {"octets": ("127.0.0.2", 1)}
        assert world.front.most() == {}


async def test_a_connection_ends_with_its_time_whatever_it_sends() -> None:
    async with world_of(PATIENT._replace(seconds=0.2)) as world:
        slow = await world.connect()
        assert await at_end(slow) == b""
        await until(lambda: world.front.closed == {"seconds": 1})


async def test_one_address_cannot_hold_all_places() -> None:
    async with world_of(PATIENT) as world:
        modest = await world.connect("127.0.0.9")
        await world.echoed(modest)
        many = [await world.connect("127.0.0.2") for _ in range(3)]
        for one in many:
            await world.echoed(one)
        another = await world.connect("127.0.0.3")
        assert await world.echoed(another) == b"x"
        assert await at_end(many[0]) == b""  # its oldest
        for one in (modest, another, *many[1:]):
            assert await world.echoed(one) == b"x"
        assert world.front.closed == {"displaced": 1}


async def test_of_many_addresses_the_oldest_is_closed() -> None:
    async with world_of(PATIENT) as world:
        there = []
        for number in range(4):
            there.append(await world.connect(f"127.0.0.{number + 2}"))
            await world.echoed(there[-1])
        another = await world.connect("127.0.0.9")
        assert await world.echoed(another) == b"x"
        assert await at_end(there[0]) == b""
        assert world.front.taken == 5


async def test_nothing_is_kept_of_a_connection_that_has_ended() -> None:
    async with world_of(PATIENT) as world:
        for _ in range(20):
            one = await world.connect()
            await world.echoed(one)
            one[1].transport.abort()
        await until(lambda: not world.front._open)
        assert not world.front._of_network
        assert not world.front.closed


def test_the_name_of_a_peer_has_its_address() -> None:
    peer = "unix-abstract:airbound-enrolling-12/c0000201/4711/8"
    assert remote_of(peer) == (address_from_text("192.0.2.1"), 4711)


@pytest.mark.parametrize("peer", ["unix:", "unix-abstract:x/y/1/2", "unix-abstract:x/c000/1/2", "ipv4:192.0.2.1:4"])
def test_a_peer_that_came_past_the_front(peer: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # of several kinds
        remote_of(peer)
