# SPDX-License-Identifier: Apache-2.0
"""Scrapes at the same time, with the event loop in one thread and those who ask in others."""

import asyncio

import pytest

from airbound.metrics import scrapes
from airbound.metrics.hooks import Hooks
from airbound.metrics.options import Metrics
from airbound.metrics.page import Pages
from airbound.metrics.scrapes import REUSED_S, Scrapes
from airbound.metrics.snapshot import Sampler
from airbound_testing.population import Population


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def made(hooks: Hooks | None = None) -> tuple[Scrapes, Clock]:
    population, clock = Population(20, 20), Clock()
    population.seconds(2)
    sampler = Sampler(population.runner, hooks or Hooks(), asyncio.get_running_loop())
    return Scrapes(sampler, Pages(Metrics()), clock), clock


async def test_scrapes_at_the_same_time_share_a_page() -> None:
    served, _ = made()
    pages = await asyncio.gather(*(asyncio.to_thread(served.page) for _ in range(8)))
    assert all(page is pages[0] for page in pages)
    assert served.pages_total == 1


async def test_a_page_is_used_again_for_a_moment() -> None:
    served, clock = made()
    first = await asyncio.to_thread(served.page)
    clock.now_s += REUSED_S * 0.9
    assert await asyncio.to_thread(served.page) is first
    clock.now_s += REUSED_S * 0.2
    assert await asyncio.to_thread(served.page) is not first
    assert served.pages_total == 2


async def test_after_an_error_the_next_scrape_tries_again() -> None:
    hooks = Hooks()

    def broken() -> dict[str, float]:
        raise LookupError("no certificates")

    hooks.certificates_end = broken
    served, _ = made(hooks)
    for _ in range(2):
        with pytest.raises(LookupError):
            await asyncio.to_thread(served.page)
    hooks.certificates_end = None
    assert (await asyncio.to_thread(served.page)).many


async def test_a_loop_that_does_not_turn_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrapes, "TIMEOUT_S", 0.01)
    served, _ = made()
    with pytest.raises(TimeoutError):
        served.page()  # in the loop's own thread, which thus does not turn
    monkeypatch.undo()
    assert (await asyncio.to_thread(served.page)).many


def test_after_the_end_of_the_loop_it_is_an_error() -> None:
    async def left() -> Scrapes:
        return made()[0]

    served = asyncio.run(left())
    with pytest.raises(RuntimeError):
        served.page()
