# SPDX-License-Identifier: Apache-2.0
"""How much of the event loop a snapshot takes: by the number of objects in a turn, not by the time."""

import asyncio

import pytest

from airbound.metrics.hooks import Hooks
from airbound.metrics.samples import Snapshot
from airbound.metrics.snapshot import OBJECTS_PER_TURN, Sampler
from airbound_testing.agents import WAIT_S
from airbound_testing.population import Population


async def taken(sampler: Sampler) -> Snapshot:
    return await asyncio.wait_for(asyncio.wrap_future(sampler.request()), WAIT_S)


async def test_a_snapshot_is_taken_in_turns_of_bounded_work() -> None:
    population = Population(cells=100, phones_per_cell=20)
    population.seconds(2)
    sampler = Sampler(population.runner, Hooks(), asyncio.get_running_loop())
    snapshot = await taken(sampler)
    assert (len(snapshot.cells), sum(len(cell.stations) for cell in snapshot.cells)) == (100, 2000)
    assert len(snapshot.terminals) == 2000
    reporters = 2000 + 100
    assert sum(sampler.objects_by_turn) == 100 + 2000 + reporters
    assert max(sampler.objects_by_turn) < OBJECTS_PER_TURN + 1 + 20  # at most one cell more
    assert len(sampler.objects_by_turn) == pytest.approx(4200 / OBJECTS_PER_TURN, abs=2)


async def test_a_cell_of_many_stations_has_a_turn_of_its_own() -> None:
    population = Population(cells=3, phones_per_cell=OBJECTS_PER_TURN)
    population.seconds(1)
    sampler = Sampler(population.runner, Hooks(), asyncio.get_running_loop())
    await taken(sampler)
    assert sampler.objects_by_turn[:3] == [OBJECTS_PER_TURN + 1] * 3


async def test_the_loop_does_other_things_between_the_turns() -> None:
    population = Population(cells=50, phones_per_cell=20)
    population.seconds(1)
    loop, turns = asyncio.get_running_loop(), 0
    sampler = Sampler(population.runner, Hooks(), loop)
    future = sampler.request()

    def turn() -> None:
        nonlocal turns
        turns += 1
        if not future.done():
            loop.call_soon(turn)

    turn()
    await asyncio.wait_for(asyncio.wrap_future(future), WAIT_S)
    assert turns >= len(sampler.objects_by_turn) > 3


async def test_those_who_ask_while_a_snapshot_is_taken_share_it() -> None:
    population = Population(cells=50, phones_per_cell=20)
    population.seconds(1)
    sampler = Sampler(population.runner, Hooks(), asyncio.get_running_loop())
    one, other = await asyncio.gather(taken(sampler), taken(sampler))
    assert one is other
    assert await taken(sampler) is not one


async def test_what_leaves_while_a_snapshot_is_taken_does_no_harm() -> None:
    population = Population(cells=50, phones_per_cell=20)
    population.seconds(2)
    sampler = Sampler(population.runner, Hooks(), asyncio.get_running_loop())
    future = sampler.request()
    for cell in population.cells:
        await asyncio.sleep(0)
        population.now_us += 1
        for phone in cell.phones[:2]:
            population.disconnect(phone.stream)
        del cell.phones[:2]
        population.access_point_reports(cell)
    snapshot = await asyncio.wait_for(asyncio.wrap_future(future), WAIT_S)
    assert len(snapshot.cells) == 50
    assert len((await taken(sampler)).terminals) == 50 * 18


async def test_an_error_reaches_who_asked_and_the_next_snapshot_is_taken() -> None:
    population = Population(cells=1, phones_per_cell=1)
    population.seconds(1)
    hooks = Hooks()
    sampler = Sampler(population.runner, hooks, asyncio.get_running_loop())

    def broken() -> dict[str, float]:
        raise LookupError("no certificates")

    hooks.certificates_end = broken
    with pytest.raises(LookupError, match="no certificates"):
        await taken(sampler)
    hooks.certificates_end = None
    assert len((await taken(sampler)).cells) == 1
