# SPDX-License-Identifier: Apache-2.0
"""Limits of windows, whatever happens."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from airbound.core.addresses import mac_text
from airbound.core.effects import Effect, SetWindows
from airbound.core.events import Disconnected, Exempted, ModeSet, Reconfigured
from airbound.core.parameters import (
    Parameters,
    WindowClampParameters,
)
from airbound.core.reasons import Code
from airbound.core.reports import BackEnd
from airbound_testing.scenario import Scenario, mac
from airbound_testing.windows import CAN_SET, FIXED, MSS, cell_with, point, second, seen

STEPS = ("access point", "agent", "pause", "silence", "mode", "exempt", "configuration", "restart", "disconnect")


OFF = Parameters(capacity=FIXED.capacity, window_clamp=WindowClampParameters(enabled=False))


def step(scenario: Scenario, what: str, number: int) -> list[Effect]:
    stations = [mac(number) for number in range(4)]
    station = stations[number % 4]
    effects = list[Effect]()
    match what:
        case "access point":
            seen_now = seen(connections=1 + number // 4)
            effects = second(scenario, dict.fromkeys(stations[: 1 + number % 4], seen_now))
        case "agent":
            effects = scenario.terminal(station, *seen(), back_end=BackEnd(can_set_max=number < 6))
            scenario.phones[station].unresponsive = number == 5
        case "pause":
            effects = second(scenario, {station: seen(connections=0)}, rates={station: 0.0})
        case "mode":
            effects = scenario.do(ModeSet("observe" if number % 2 else "control"))
        case "exempt":
            effects = scenario.do(Exempted(mac_text(station), exempt=number < 4))
        case "configuration":
            effects = scenario.do(Reconfigured(OFF if number % 2 else FIXED))
        case "silence":
            scenario.advance(number)
        case "restart":
            scenario.restart()
        case _ if station in scenario.phones:
            scenario.disconnect(station)
    return effects


def check(scenario: Scenario, effect: SetWindows, generations: dict[int, int], limits_max: int) -> None:
    assert effect.generation >= generations.get(effect.stream.number, 1)
    generations[effect.stream.number] = effect.generation
    assert not limits_max or len(effect.limits) <= limits_max
    assert all(limit.max_bytes >= 2 * MSS for limit in effect.limits)
    assert not {mac_text(limit.mac) for limit in effect.limits} & scenario.engine.settings.exempt
    assert not (effect.limits and scenario.engine.settings.mode == "observe")
    assert bool(effect.limits) is not effect.reason.releases or effect.reason.code is Code.REPEATED


@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 7)), max_size=40),
    limits_max=st.sampled_from([0, 1, 1024]),
)
# After a restart, on another stream, the lease of the set before ends, and the first set has the same generation.
@example(
    steps=[*[("access point", 0)] * 2, ("restart", 0), ("access point", 0), ("silence", 4), ("access point", 1)],
    limits_max=0,
)
@settings(max_examples=60, deadline=None)
def test_whatever_happens_no_limit_outlives_its_lease_or_its_reason(
    steps: list[tuple[str, int]], limits_max: int
) -> None:
    """Generations grow, sets fit, nobody who is exempt is limited, and within a lease of the last set nothing is."""
    scenario = cell_with(state=CAN_SET._replace(limits_max=limits_max))
    generations = dict[int, int]()
    for what, number in steps:
        for effect in step(scenario, what, number):
            if isinstance(effect, SetWindows):
                check(scenario, effect, generations, limits_max)
    if scenario.access_points:
        scenario.do(Disconnected(point(scenario).stream))
        scenario.advance(6.1)
        assert not point(scenario).limits
