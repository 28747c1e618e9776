# SPDX-License-Identifier: Apache-2.0
"""Orders of faults of a real Redis. `controller/benchmarks/redis_orders.py` tries more of them, and measures.

Nothing here depends on how long that takes: what is never right is not right within PATIENCE_S.
"""

import asyncio
import logging
import os
import random

import pytest

from airbound_testing.redis_orders import FAULTS, Fault, endure
from airbound_testing.stores import PATIENCE_S

pytestmark = pytest.mark.long

SEED = int(os.environ.get("SEED", "1"))
AT_ONCE, FAULTS_EACH, WATCHED_S = 6, 3, 3.0


async def test_a_cell_has_its_owner_again_after_any_order_of_faults_of_redis(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "airbound")

    async def one(seed: int) -> tuple[list[Fault], bool]:
        faults = random.Random(seed).choices(FAULTS, k=FAULTS_EACH)  # noqa: S311  # no secret
        outcome = await endure(faults, seed, PATIENCE_S, WATCHED_S)
        return faults, outcome.right_s < PATIENCE_S and not outcome.twice

    for faults, is_good in await asyncio.gather(*(one(SEED * 1_000 + number) for number in range(AT_ONCE))):
        assert is_good, [fault.name for fault in faults]
