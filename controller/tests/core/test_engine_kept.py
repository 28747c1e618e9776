# SPDX-License-Identifier: Apache-2.0
"""What the engine keeps of reports' applications, since it is the same in the next one, changes no decision: without it
the same reports have the same effects.
"""

from collections.abc import Callable
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbound.core import live_decision, unlimited_senders
from airbound.core.addresses import mac_text
from airbound.core.cell import terminal as terminal_module
from airbound.core.cell.terminal import BACKGROUND, BURST
from airbound.core.effects import Effect, Flow, SetBounds, SetFlows
from airbound.core.events import ClassSet, Exempted, ModeSet, Reconfigured
from airbound.core.parameters import LiveParameters, PacingParameters, Parameters
from airbound.core.reports import AppPart, BackEnd, FlowAbilities, StationFlowState
from airbound_testing.scenario import OTHER_SERVER, SERVER, Scenario, mac, name, upload

LIVE, BULK = 1, 3
SENT_MBPS = (9.0, 3.6, 2.3)  # by the phone that sends UDP as well: its rate is limited, its TCP has less, nothing
OTHERS = ("pause", "abilities", "udp", "ignores", "mode", "exempt", "class", "configuration", "disconnect")
ABLE = FlowAbilities(can_mark=True, can_admit=True, can_pace=True, flows_max=4)
ABILITIES = (ABLE, FlowAbilities(can_mark=True, can_pace=True, flows_max=1), FlowAbilities(refusal="old"))
BY_APP = BackEnd(can_select_uid_destination=True)
PHONES = [mac(number) for number in range(3)]
APPS = st.lists(
    st.tuples(
        st.sampled_from([SERVER, OTHER_SERVER]),
        st.sampled_from([LIVE, BURST, BULK, BACKGROUND]),
        st.sampled_from([2_000, 3_000_000]),  # queued
        st.sampled_from([(10_001,), (10_002,), (10_001, 10_003), ()]),
    ),
    max_size=3,
)
STEPS = st.one_of(
    st.tuples(st.just("agent"), st.integers(0, 2), APPS),
    st.tuples(st.just("seconds"), st.integers(1, 7), st.none()),
    st.tuples(st.sampled_from(OTHERS), st.integers(0, 8), st.none()),
)  # fmt: skip
Apps = list[tuple[bytes, int, int, tuple[int, ...]]]
Step = tuple[str, int, Apps | None]
Forget = Callable[[Scenario], None]


def keep(_: Scenario) -> None:
    """Everything that is kept stays."""


def forget(scenario: Scenario) -> None:
    """All that follows from what is known is found anew."""
    for made in (live_decision._entries, live_decision._least_rates, live_decision._station_flow):
        made.cache_clear()
    for known in scenario.engine.terminals():
        known.background_uids = frozenset(
            uid for part in known.apps if part.application_class == BACKGROUND for uid in part.uids
        )
        sent = known.flows_lease.sent
        flows: tuple[Flow, ...] = sent.entries if sent is not None else ()
        known.paced_uids = frozenset(flow.uid for flow in flows if flow.uid is not None and flow.udp_bps)


class Cell:
    """Three phones; the first two have applications with classes, one of which sends UDP as well."""

    def __init__(self) -> None:
        self.scenario = Scenario(Parameters())
        self.scenario.station_flows = StationFlowState(can_set=True, flows_max=8)
        self.apps: dict[bytes, Apps] = {}
        self.abilities: dict[bytes, FlowAbilities | None] = dict.fromkeys(PHONES, ABLE)
        self.delivered, self.sent_mbps = 0, SENT_MBPS[1]

    def step(self, step: Step) -> list[Effect]:
        what, number, apps = step
        phone, scenario = PHONES[number % 3], self.scenario
        effects = list[Effect]()
        match what:
            case "agent":
                self.apps[phone] = apps or []
                effects = self.report(phone)
            case "seconds":
                effects = [effect for _ in range(number) for effect in self.second()]
            case "pause":
                effects = scenario.terminal(phone)
            case "abilities":
                self.abilities[phone] = ABILITIES[number // 3]
            case "udp":
                self.sent_mbps = SENT_MBPS[number // 3]
            case "ignores" if phone in scenario.phones:
                scenario.phones[phone].unresponsive = number < 5
            case "disconnect" if phone in scenario.phones:
                scenario.disconnect(phone)
            case _:
                effects = self.operate(what, number, phone)
        return effects

    def operate(self, what: str, number: int, phone: bytes) -> list[Effect]:
        match what:
            case "mode":
                return self.scenario.do(ModeSet("control" if number else "observe"))
            case "exempt":
                return self.scenario.do(Exempted(mac_text(phone), exempt=number < 4))
            case "class":
                return self.scenario.do(ClassSet(name(phone), 10_001, [LIVE, BACKGROUND, None][number // 3]))
            case "configuration":
                live, pacing = LiveParameters(enabled=number % 4 > 0), PacingParameters(enabled=number % 3 > 0)
                return self.scenario.do(Reconfigured(Parameters(live=live, pacing=pacing)))
            case _:
                return []

    def second(self) -> list[Effect]:
        self.scenario.advance(1)
        effects = self.scenario.access_point(dict(zip(PHONES, (5.0, self.sent_mbps, 5.0), strict=True)))
        for phone in PHONES:
            effects += self.report(phone)
        return effects

    def report(self, phone: bytes) -> list[Effect]:
        self.delivered += 88_000
        parts = tuple(
            AppPart(address, number, 1, self.delivered, queued, uids)
            for address, number, queued, uids in self.apps.get(phone, ())
        )
        abilities, self.abilities[phone] = self.abilities[phone], None
        return self.scenario.terminal(
            phone,
            upload(min_rtt_ms=20),
            *([upload(min_rtt_ms=30, address=OTHER_SERVER)] if len(parts) > 1 else []),
            apps=parts,
            abilities=abilities,
            back_end=None if abilities is None else BY_APP,
            delivered_bytes=self.delivered,
        )


def effects_of(steps: list[Step], between: Forget) -> list[list[Effect]]:
    cell, found = Cell(), list[list[Effect]]()
    for step in [("seconds", 3, None), *steps, ("seconds", 3, None)]:
        between(cell.scenario)
        found.append(cell.step(step))
    return found


def effects_anew(steps: list[Step]) -> list[list[Effect]]:
    """With each report each of a terminal's applications counts as another one than before, and whatever it sends as
    UDP beside TCP.
    """
    with (
        mock.patch.object(terminal_module, "_are_of_the_same", return_value=False),
        mock.patch.object(unlimited_senders, "LEAST_TAKEN", float("-inf")),
    ):
        return effects_of(steps, forget)


@given(steps=st.lists(STEPS, max_size=25))
@settings(max_examples=80, deadline=None)
def test_what_is_kept_of_applications_changes_no_effect(steps: list[Step]) -> None:
    assert effects_of(steps, keep) == effects_anew(steps)


ALL: Apps = [
    (SERVER, LIVE, 2_000, (10_001,)), (OTHER_SERVER, BURST, 2_000, (10_002,)), (SERVER, BACKGROUND, 2_000, (10_003,)),
]  # fmt: skip


def test_so_it_is_where_each_kind_of_set_is_sent() -> None:
    """As above, with steps that certainly have flows with a grant, rates of UDP and bounds for single applications."""
    steps: list[Step] = [
        ("agent", 0, ALL), ("agent", 1, ALL[2:]), ("seconds", 6, None), ("agent", 0, ALL[1:]), ("seconds", 6, None),
        ("agent", 0, ALL), ("seconds", 6, None), ("udp", 6, None), ("seconds", 5, None),
        ("udp", 0, None), ("seconds", 5, None),
    ]  # fmt: skip
    kept = effects_of(steps, keep)
    flows = [flow for effects in kept for effect in effects if isinstance(effect, SetFlows) for flow in effect.flows]
    assert {bool(flow.category) for flow in flows} == {True, False}
    assert {flow.uid for flow in flows if flow.udp_bps} >= {10_003}
    bounds = [
        bound for effects in kept for effect in effects if isinstance(effect, SetBounds) for bound in effect.bounds
    ]
    assert {bound.uid for bound in bounds} >= {10_001, 10_003, None}
    assert kept == effects_anew(steps)


@pytest.mark.parametrize("parts", [ALL[:2], [ALL[0], (OTHER_SERVER, BURST, 2_000, (10_009,)), ALL[2]], ALL[:1]])
def test_other_applications_are_noticed(parts: Apps) -> None:
    cell, steps = Cell(), list[Step]()
    steps += [("agent", 0, ALL), ("seconds", 3, None), ("agent", 0, parts)]
    for step in steps:
        cell.step(step)
    [known] = [known for known in cell.scenario.engine.terminals() if known.mac == PHONES[0]]
    assert known.background_uids == {uid for _, number, _, uids in parts if number == BACKGROUND for uid in uids}
    assert {part.uids for part in known.bursts} >= {uids for _, number, _, uids in parts if number == BURST}
