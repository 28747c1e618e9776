# SPDX-License-Identifier: Apache-2.0

import random

import pytest

from airbound.core.cell.contention import ATTEMPTS_MAX, contention


def simulated(stations: int, cw_min: int, accesses: int) -> tuple[float, float, float]:
    """Idle slots and collisions per success, and the share of attempts that collide, of stations that draw their
    back-offs.
    """
    dice = random.Random(1)  # noqa: S311  # the same each time
    window, tries = [cw_min] * stations, [0] * stations
    slots = [dice.randint(0, cw_min) for _ in range(stations)]
    idle = collisions = success = attempts = 0
    while success < accesses:
        first = min(slots)
        idle += first
        senders = [station for station in range(stations) if slots[station] == first]
        # Who waits counts the slot of others' frame down as well: Bianchi's slots are of any length.
        slots = [left - first - 1 for left in slots]
        collided, attempts = len(senders) > 1, attempts + len(senders)
        collisions, success = collisions + collided, success + (not collided)
        for station in senders:
            tries[station] += 1
            ends = not collided or tries[station] == ATTEMPTS_MAX
            tries[station] = 0 if ends else tries[station]
            window[station] = cw_min if ends else min(2 * window[station] + 1, 1023)
            slots[station] = dice.randint(0, window[station])
    return idle / success, collisions / success, 1 - success / attempts


@pytest.mark.parametrize("cw_min", [15, 31])
@pytest.mark.parametrize("stations", [1, 2, 5, 10, 20])
def test_contention_is_that_of_stations_that_draw_their_back_offs(stations: int, cw_min: int) -> None:
    idle_slots, collisions, collides = simulated(stations, cw_min, 40_000)
    found = contention(stations, cw_min)
    assert found.idle_slots == pytest.approx(idle_slots, rel=0.05)
    # The draws of two stations are no Markov chain without memory, as Bianchi's are.
    assert found.collisions == pytest.approx(collisions, abs=0.015)
    assert found.collides == pytest.approx(collides, abs=0.015)


def test_there_is_no_contention_of_nobody() -> None:
    with pytest.raises(ValueError, match="0 stations"):
        contention(0, 15)
