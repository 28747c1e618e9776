# SPDX-License-Identifier: Apache-2.0
"""A mode for a time ends by itself: at each replica, after a restart, and while the store does not answer."""

import json
from contextlib import AsyncExitStack
from typing import Any

import pytest

from airbound.core.engine import Engine
from airbound.core.parameters import Parameters
from airbound.replica.choices import KIND, MODE, MODE_OF, KeptChoices
from airbound.runtime.runner import Runner
from airbound.store.memory.store import Memory, MemoryStore
from airbound.store.types import StoreError
from airbound.v1 import operations_pb2
from airbound_testing.live import LiveController
from airbound_testing.stores import eventually

CELL = bytes([2, 0, 0, 0, 0, 1])
CELL_NAME = "02:00:00:00:00:01"
LONG_S = 600.0
SHORT_S = 0.05


class Clock:
    """Seconds since 1970, as told."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


async def store() -> MemoryStore:
    made = MemoryStore(Memory())
    await made.start("a", lambda _: None, lambda: None)
    return made


def replica(kept: Any, clock: Clock, mode: str = "control") -> tuple[Runner, KeptChoices]:
    runner = Runner(Engine(Parameters(), mode, ()))  # type: ignore[arg-type]
    return runner, KeptChoices(runner, kept, mode, (), lambda: None, clock_s=clock)  # type: ignore[arg-type]


async def test_it_counts_on_the_others_and_after_a_restart_until_it_ends() -> None:
    kept, clock = await store(), Clock()
    _, mine = replica(kept, clock)
    await mine.set_mode("observe", CELL, for_s=LONG_S)
    clock.now_s += LONG_S - 1
    other, others = replica(kept, clock)
    await others.read()
    assert other.mode(CELL) == "observe"
    assert other.choices.modes_of_cells[CELL_NAME].until_s == 1_000.0 + LONG_S
    clock.now_s += 1
    after, restarted = replica(kept, clock)
    await restarted.read()
    assert after.mode(CELL) == "control"
    assert after.choices.modes_of_cells == {}


async def test_it_ends_where_it_was_chosen_and_elsewhere_by_the_clock_alone() -> None:
    kept, clock = await store(), Clock()
    (here, mine), (there, others) = replica(kept, clock), replica(kept, clock)
    await mine.set_mode("observe", for_s=SHORT_S)
    await others.read()
    assert (here.mode(), there.mode()) == ("observe", "observe")
    clock.now_s += SHORT_S
    await eventually(lambda: (here.mode(), there.mode()) == ("control", "control"), "the end")
    assert here.choices.mode is None


async def test_what_stood_before_it_counts_again_however_often_it_is_chosen() -> None:
    kept, clock = await store(), Clock()
    here, mine = replica(kept, clock, "observe")
    await mine.set_mode("control", CELL)
    for mode in ("observe", "control", "observe"):  # turn by turn, as `airbound check` does
        await mine.set_mode(mode, CELL, for_s=LONG_S)
    record = json.loads((await kept.records(KIND))[MODE_OF + CELL_NAME])
    assert (record["chosen"], record["then"]) == ("observe", "control")
    clock.now_s += LONG_S
    after, restarted = replica(kept, clock, "observe")
    await restarted.read()
    assert after.mode(CELL) == "control"
    assert after.choices.modes_of_cells[CELL_NAME].until_s == 0
    assert here.mode(CELL) == "observe"  # until its timer


async def test_a_choice_without_a_time_ends_one_with() -> None:
    kept, clock = await store(), Clock()
    here, mine = replica(kept, clock)
    await mine.set_mode("observe", for_s=LONG_S)
    await mine.set_mode("observe")
    assert json.loads((await kept.records(KIND))[MODE]).get("until") is None
    await mine.set_mode("control", for_s=LONG_S)  # also where the configuration says the same: observe stands below
    clock.now_s += LONG_S
    after, restarted = replica(kept, clock)
    await restarted.read()
    assert after.mode() == "observe"
    assert here.mode() == "control"


async def test_all_replicas_know_when_it_ends() -> None:
    memory = Memory()
    async with AsyncExitStack() as stack:
        first, second = [
            await stack.enter_async_context(LiveController(replica=name, store=MemoryStore(memory)))
            for name in ("a", "b")
        ]
        node = first.node
        assert node is not None
        await eventually(lambda: bool(node.members.others()), "the first knows of the second")
        request = operations_pb2.SetModeRequest(mode=operations_pb2.MODE_OBSERVE, for_ms=600_000)
        await first.ask().SetMode(request)
        await eventually(lambda: second.runner.engine.settings.mode == "observe", "the other has it as well")
        (choice,) = (await second.ask().GetConfiguration(operations_pb2.GetConfigurationRequest())).choices
        assert (choice.key, choice.value) == ("mode", "observe")
        assert choice.until > choice.at


class SilentStore(MemoryStore):
    """Answers nothing when told so."""

    silent = False

    async def put(self, kind: str, name: str, value: bytes, *, ttl_ms: int = 0) -> None:
        if self.silent:
            raise StoreError("silent")
        await super().put(kind, name, value, ttl_ms=ttl_ms)

    async def records(self, kind: str) -> dict[str, bytes]:
        if self.silent:
            raise StoreError("silent")
        return await super().records(kind)


async def test_it_ends_while_the_store_is_silent() -> None:
    kept, clock = SilentStore(Memory()), Clock()
    await kept.start("a", lambda _: None, lambda: None)
    here, mine = replica(kept, clock)
    await mine.set_mode("observe", CELL, for_s=SHORT_S)
    kept.silent = True
    assert here.mode(CELL) == "observe"
    clock.now_s += SHORT_S
    await eventually(lambda: here.mode(CELL) == "control", "the end")


@pytest.mark.parametrize("until", [float("nan"), float("inf"), -1.0, 1e12, 10**400, "soon"])
async def test_a_record_that_no_replica_wrote_does_not_count(until: Any) -> None:
    kept, clock = await store(), Clock()
    record = {"chosen": "observe", "configured": None, "at": 5.0, "until": until, "then": None}
    await kept.put(KIND, MODE_OF + CELL_NAME, json.dumps(record).encode())
    here, mine = replica(kept, clock)
    await mine.read()
    assert here.mode(CELL) == "control"
