# SPDX-License-Identifier: Apache-2.0

import asyncio

from airbound.core.effects import RenewLease, SetBounds
from airbound.edges.outbox import Outbox

MAC = "02:00:00:00:01:00"


def bounds(generation: int) -> SetBounds:
    return SetBounds(1, MAC, generation, (), 6000, "")


def renewal(generation: int) -> RenewLease:
    return RenewLease(1, MAC, generation, 6000)


async def test_a_slow_reader_gets_only_the_newest_set() -> None:
    outbox = Outbox()
    for generation in (1, 2, 3):
        outbox.put(bounds(generation))
    assert await outbox.get() == bounds(3)
    outbox.close()
    assert await outbox.get() is None


async def test_a_renewal_never_pushes_out_a_set() -> None:
    outbox = Outbox()
    outbox.put(bounds(1))
    outbox.put(renewal(1))
    assert await outbox.get() == bounds(1)
    outbox.put(renewal(1))
    outbox.put(bounds(2))
    assert await outbox.get() == bounds(2)


async def test_what_waits_is_written_before_the_end() -> None:
    outbox = Outbox()
    outbox.put(bounds(1))
    outbox.close("the controller is stopping")
    outbox.put(bounds(2))
    assert await outbox.get() == bounds(1)
    assert await outbox.get() is None
    outbox.close("later")
    assert outbox.close_reason == "the controller is stopping"


async def test_a_waiting_reader_wakes() -> None:
    outbox = Outbox()
    reader = asyncio.create_task(outbox.get())
    await asyncio.sleep(0)
    assert not reader.done()
    outbox.put(renewal(4))
    assert await reader == renewal(4)
