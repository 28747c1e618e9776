# SPDX-License-Identifier: Apache-2.0
"""What the front refuses and counts, in plain text and with something else in os-ken's place."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from airbound.core.reasons import Code, Reason
from airbound.openflow.front import Front, FrontLimits, Link
from airbound_testing.raw_switch import GREETING, HOSTILE, features_reply, message, packet_in

pytestmark = pytest.mark.long

WAIT_S = 120.0


class Served:
    """A front, and what it passed on."""

    def __init__(self) -> None:
        self.passed = b""
        self.ended: list[Link] = []
        self.refused: list[tuple[str, Reason]] = []
        self._writers: list[asyncio.StreamWriter] = []
        self._behind_open = 0
        self.accepted: list[bool] = []

    async def _behind(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("peername")[1]
        self._behind_open += 1
        try:
            while octets := await reader.read(1 << 16):
                if octets.startswith(GREETING):
                    self.accepted.append(self.front.accepts(port))
                self.passed += octets
        except ConnectionError:
            pass
        finally:
            writer.close()
            self._behind_open -= 1

    async def start(self) -> None:
        self._os_ken = await asyncio.start_server(self._behind, "127.0.0.1", 0)
        self.front = Front(
            self._os_ken.sockets[0].getsockname()[1],
            FrontLimits(connections=6, connections_of_address=4, copies_per_s=10),
            tls=None,
            trust_domain="",
            refused=lambda who, reason: self.refused.append((who, reason)),
            ended=self.ended.append,
        )
        self._server = await self.front.listen("127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]

    async def connect(self, octets: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(octets)
        self._writers.append(writer)
        return reader, writer

    async def until_refused(self, code: Code, count: int = 1) -> None:
        async with asyncio.timeout(WAIT_S):
            while self.front.refusals[code] < count:  # noqa: ASYNC110  # the front has no such event
                await asyncio.sleep(0.01)

    async def until(self, octets: bytes) -> None:
        async with asyncio.timeout(WAIT_S):
            while octets not in self.passed:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def stop(self) -> None:
        for writer in self._writers:
            writer.close()
        self._server.close()
        self._os_ken.close()
        async with asyncio.timeout(WAIT_S):
            while self.front._of_address or self._behind_open:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    made = Served()
    await made.start()
    yield made
    await made.stop()


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "another's datapath"])
async def test_it_is_closed_and_counted_by_its_reason(served: Served, name: str) -> None:
    octets, code = HOSTILE[name]
    reader, writer = await served.connect(octets)
    await served.until_refused(code)
    async with asyncio.timeout(WAIT_S):
        assert await reader.read() == b""
    writer.close()
    assert served.front.refusals.total() == 1
    assert [reason.code for _, reason in served.refused] == [code]
    assert served.front.links == {}


async def test_in_plain_text_a_live_datapath_stays_whose_it_is(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    _, first = await served.connect(GREETING + features_reply(7, xid=1))
    await served.until(features_reply(7, xid=1))
    monkeypatch.setattr(Link, "identity", property(lambda link: link.address))  # as if each had an address of its own
    reader, second = await served.connect(GREETING + features_reply(7, xid=2))
    await served.until_refused(Code.SWITCH_CLAIMED)
    async with asyncio.timeout(WAIT_S):
        assert await reader.read() == b""
    first.write(message(3, b"still here"))
    await served.until(message(3, b"still here"))
    assert features_reply(7, xid=2) not in served.passed
    for writer in (first, second):
        writer.close()


async def test_the_same_address_takes_its_datapath_again(served: Served) -> None:
    reader, first = await served.connect(GREETING + features_reply(7, xid=1))
    await served.until(features_reply(7, xid=1))
    _, second = await served.connect(GREETING + features_reply(7, xid=2))
    await served.until(features_reply(7, xid=2))
    async with asyncio.timeout(WAIT_S):
        assert await reader.read() == b""
    assert served.front.refusals == {Code.REPLACED: 1}
    for writer in (first, second):
        writer.close()


async def test_copies_beyond_the_rate_are_dropped_and_counted_and_the_rest_goes_on(served: Served) -> None:
    _, writer = await served.connect(GREETING + features_reply(7) + packet_in(b"x" * 60) * 500 + message(3, b"end"))
    await served.until(message(3, b"end"))
    assert served.accepted == [True]
    (link,) = served.front.links.values()
    assert served.passed.count(b"x" * 60) == 20  # as many as in two seconds
    assert (link.totals.copies, link.totals.copies_dropped) == (480, 480)
    writer.close()


async def test_so_many_connections_of_an_address(served: Served) -> None:
    connections = [await served.connect(b"") for _ in range(6)]
    await served.until_refused(Code.TOO_MANY_STREAMS, 2)
    for _, writer in connections:
        writer.close()
