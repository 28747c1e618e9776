# SPDX-License-Identifier: Apache-2.0
"""The controller is killed under load and started again: each phone's kernel has bounds at every moment.

An agent that lost the controller waits 0.1, 0.2, 0.4, ... s between attempts, each wait shortened by up to half. Its
lease has at least two thirds left: the new process has to know the cell before that ends.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Cell

    from airbound_lab.figures.results import PhoneResult, RulesChange

pytestmark = pytest.mark.uml

PHONES = 10
STAYING = 5
"""Phones 1 to 5 send to the end; the others stop before, so that the new process has something to change."""

SECONDS = 30
IN_FORCE_BY_S = 5.0
KILLED_S = 10.0
STARTED_S = 10.2
STOPPED_S = 22.0
LEASE_S = 6.0
"""The controller's default."""
SAMPLE_MS = 20
"""How often each phone's rules are read from its kernel."""

TEN_SENDERS = ("dst 10.0.4.1/32 20 35",)
"""Table 2, JB, class B."""


@pytest.fixture(scope="module")
def restarted(boot_cell: Callable[..., Cell]) -> Cell:
    """Ten phones with the paper's table, whose bounds change only with the number of senders."""
    actions = (
        *(Action(0, "start-traffic", phone=i) for i in range(1, PHONES + 1)),
        Action(KILLED_S, "kill", component="controller"),
        Action(STARTED_S, "start", component="controller"),
        *(Action(STOPPED_S, "stop-traffic", phone=i) for i in range(STAYING + 1, PHONES + 1)),
    )
    return boot_cell(
        "paper-jb",
        scenario=Scenario("restart under load", actions),
        terminals=PHONES,
        wired_delays_ms=(256.0,),
        seconds=SECONDS,
        bounds_interval_ms=SAMPLE_MS,
    )


def in_force(phone: PhoneResult, from_s: float, to_s: float) -> list[tuple[str, ...]]:
    """The rules in a phone's kernel at the first moment, and each set of rules up to the second."""
    before: list[RulesChange] = [change for change in phone.rules if change.t_s <= from_s]
    return [before[-1].rules, *(change.rules for change in phone.rules if from_s < change.t_s <= to_s)]


def max_segs(rules: tuple[str, ...]) -> int:
    """The larger bound of a phone's only rule."""
    [rule] = rules
    return int(rule.split()[-1])


def test_the_controller_was_killed_and_started_while_every_phone_sent(restarted: Cell) -> None:
    end = json.loads((restarted.logs / "end.json").read_text(encoding="utf-8"))
    assert end["starts"]["controller"] == 2
    assert end["starts"]["ap"] == 1
    assert {end["starts"][f"phone{i}"] for i in range(1, PHONES + 1)} == {1}
    for phone in restarted.run.phones:
        assert min(phone.series.goodput_mbps[int(IN_FORCE_BY_S) : int(STOPPED_S) - 1]) > 0


def test_no_phones_rules_become_empty(restarted: Cell) -> None:
    for number, phone in enumerate(restarted.run.phones, start=1):
        until_s = SECONDS if number <= STAYING else STOPPED_S
        assert () not in in_force(phone, IN_FORCE_BY_S, until_s), f"phone {number}: {phone.rules}"


def test_the_bounds_are_the_same_before_and_after(restarted: Cell) -> None:
    for phone in restarted.run.phones:
        assert in_force(phone, KILLED_S, KILLED_S)[0] == TEN_SENDERS
        assert in_force(phone, STOPPED_S, STOPPED_S)[0] == TEN_SENDERS


def test_the_new_process_renews_the_bounds_and_follows_the_cell(restarted: Cell) -> None:
    # What the old process had set ends with its lease; what is in force a lease later is from the new one.
    for phone in restarted.run.phones:
        assert all(in_force(phone, KILLED_S + LEASE_S, STOPPED_S))
    for phone in restarted.run.phones[:STAYING]:
        assert max_segs(in_force(phone, SECONDS, SECONDS)[0]) > max_segs(TEN_SENDERS)
