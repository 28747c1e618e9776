# SPDX-License-Identifier: Apache-2.0

import gc
from collections.abc import Iterator

import pytest

from airbound.runtime import garbage
from airbound_testing.scenario import mac, upload, uploading


@pytest.fixture
def tuned() -> Iterator[None]:
    before = gc.get_threshold()
    garbage.tune()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def looks() -> int:
    return sum(int(generation["collections"]) for generation in gc.get_stats())


@pytest.mark.usefixtures("tuned")
def test_reports_do_not_make_python_look_for_garbage() -> None:
    scenario = uploading(10)
    sending = dict.fromkeys(map(mac, range(10)), 2.0)
    before = looks()
    for _ in range(100):
        scenario.now_us += 1_000_000
        scenario.access_point(sending)
        for number in range(10):
            scenario.terminal(mac(number), upload())
            scenario.phones[mac(number)].sets.clear()
    assert looks() - before <= 1


@pytest.mark.usefixtures("tuned")
def test_garbage_is_collected_all_the_same() -> None:
    before = looks()
    for _ in range(2 * garbage.YOUNG):
        cycle = list[object]()
        cycle.append(cycle)
    assert looks() - before >= 1


@pytest.mark.usefixtures("tuned")
def test_within_a_pause_nothing_is_looked_for() -> None:
    before = looks()
    with garbage.paused():
        kept: list[list[int]] = [[] for _ in range(3 * garbage.YOUNG)]
        assert looks() == before
        kept.clear()
    assert gc.isenabled()
    kept = [[]]
    assert looks() == before


def test_a_pause_ends_as_it_began() -> None:
    gc.disable()
    try:
        with garbage.paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
