# SPDX-License-Identifier: Apache-2.0
"""A server that answers garbage: each call fails with a StoreError or has an answer of its type, and afterwards the
store works as before. FUZZ_REPLIES and SEED have it go on for longer, and otherwise.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

import pytest

from airbound.store.options import StoreOptions
from airbound.store.redis.store import RedisStore
from airbound.store.types import Claim, Place, StoreError, Token
from airbound_testing.garbled_redis import GarbledRedis
from airbound_testing.redis_servers import RedisServer
from airbound_testing.stores import PATIENCE_S, Replica

REPLIES = int(os.environ.get("FUZZ_REPLIES", "40"))  # that are garbled
SEED = int(os.environ.get("SEED", "1"))
CELL, MAC = bytes.fromhex("020000000100"), bytes.fromhex("020000000001")
LONG_MS = 60_000
TOKEN = Token(7, "one")

Check = Callable[[object], bool]


def calls(store: RedisStore) -> list[tuple[Callable[[], Awaitable[object]], Check]]:
    """Every call, and whether its answer may be one."""
    cells = [CELL, MAC]
    return [
        (lambda: store.get("choice", "mode"), lambda answer: answer is None or isinstance(answer, bytes)),
        (lambda: store.put("choice", "mode", b"observe"), lambda answer: answer is None),
        (lambda: store.add("choice", "mode", b"observe"), lambda answer: isinstance(answer, bytes)),
        (lambda: store.replace("choice", "mode", b"a", b"b"), lambda answer: isinstance(answer, bool)),
        (lambda: store.remove("choice", "mode"), lambda answer: isinstance(answer, bool)),
        (lambda: store.records("choice"), lambda answer: isinstance(answer, dict)),
        (lambda: store.claim(cells, ttl_ms=LONG_MS), _are_claims),
        (lambda: store.release(CELL, TOKEN), lambda answer: isinstance(answer, bool)),
        (lambda: store.write_state(CELL, TOKEN, b"state", ttl_ms=LONG_MS), lambda answer: answer is None),
        (lambda: store.read_state(CELL), lambda answer: answer is None or isinstance(answer, bytes)),
        (lambda: store.place([(MAC, Place(CELL, TOKEN, 0))], ttl_ms=LONG_MS), lambda answer: isinstance(answer, list)),
        (lambda: store.arrive([MAC], ttl_ms=LONG_MS), lambda answer: isinstance(answer, list)),
        (lambda: store.displace([MAC], CELL, TOKEN), lambda answer: answer is None),
        (lambda: store.depart([MAC]), lambda answer: answer is None),
        (lambda: store.send("one", b"message"), lambda answer: isinstance(answer, bool)),
    ]


def _are_claims(answer: object) -> bool:
    return isinstance(answer, list) and all(
        claim is None or (isinstance(claim, Claim) and isinstance(claim.token.epoch, int)) for claim in answer
    )


async def use(call: Callable[[], Awaitable[object]], may_be: Check) -> bool:
    """One call; whether it had an answer."""
    try:
        answer = await call()
    except StoreError:
        return False
    assert may_be(answer), answer
    return True


async def until_well(replica: Replica[RedisStore]) -> None:
    """Wait until every call has an answer, and a message comes."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        replica.messages.clear()
        answers = [await use(*each) for each in calls(replica.store)]
        await asyncio.sleep(0.05)
        # One is refused on the way: to write the state by a token that owns nothing.
        if sum(answers) == len(answers) - 1 and b"message" in replica.messages:
            return
        assert time.monotonic() < deadline_s, answers


async def test_no_answer_of_a_server_breaks_the_store(server: RedisServer, prefix: str) -> None:
    async with GarbledRedis(server.port, SEED, share=0.0) as garbled:
        options = StoreOptions(url=garbled.url, prefix=prefix, timeout_s=0.3)
        replica = Replica("one", RedisStore(options))
        await replica.start()
        await until_well(replica)
        garbled.share = 0.3
        tried, answered = 0, 0
        while garbled.garbled < REPLIES:
            done = await asyncio.gather(*(use(*each) for each in calls(replica.store)))
            tried, answered = tried + len(done), answered + sum(done)
            await asyncio.sleep(0.01)  # without a connection they fail at once
        garbled.share = 0.0
        await until_well(replica)
        await replica.store.close()
    assert tried > answered > 0


@pytest.mark.parametrize("seed", range(SEED, SEED + 10))
async def test_a_start_fails_or_not_whatever_is_answered(server: RedisServer, prefix: str, seed: int) -> None:
    async with GarbledRedis(server.port, seed, share=0.7) as garbled:
        replica = Replica("one", RedisStore(StoreOptions(url=garbled.url, prefix=prefix, timeout_s=0.3)))
        for _ in range(3):
            try:
                await replica.start()
            except StoreError:
                continue
            await replica.store.close()
        garbled.share = 0.0
        await replica.start()
        await until_well(replica)
        await replica.store.close()
