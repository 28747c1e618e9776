# SPDX-License-Identifier: Apache-2.0
"""A new process of the controller: phones have bounds in force, it knows nothing yet, and leases cover the time."""

import pytest

from airbound.core.effects import SetBounds
from airbound.core.parameters import Parameters
from airbound.core.reasons import Code
from airbound_testing.scenario import PAPER, Scenario, mac, upload, uploading

PHONES = [mac(number) for number in range(3)]
SENDING = dict.fromkeys(PHONES, 2.0)


def restarted() -> tuple[Scenario, dict[bytes, int]]:
    """A restart while phones are bounded, and the generations that are in force."""
    scenario = uploading(3)
    scenario.keep_reporting(SENDING, 5)
    generations = {address: scenario.phones[address].generation for address in PHONES}
    assert all(generations.values())
    scenario.restart()
    for phone in scenario.phones.values():
        phone.sets.clear()
    scenario.advance(0.5)
    return scenario, generations


def terminals(scenario: Scenario) -> None:
    for address in PHONES:
        scenario.terminal(address, upload())


@pytest.mark.parametrize("order", ["terminals first", "access point first", "terminals between", "again and again"])
def test_a_restart_releases_nobody(order: str) -> None:
    scenario, generations = restarted()
    if order in {"terminals first", "again and again"}:
        terminals(scenario)
        assert {scenario.no_bounds(address) for address in PHONES} == {Code.CELL_UNKNOWN}
    scenario.access_point(SENDING)
    if order in {"terminals between", "again and again"}:
        terminals(scenario)
    if order != "access point first":
        assert {scenario.no_bounds(address) for address in PHONES} == {Code.CELL_LEARNING}
    assert all(phone.sets == [] for phone in scenario.phones.values())
    assert all(phone.range() == (250, 400) for phone in scenario.phones.values())
    scenario.advance(1)
    scenario.access_point(SENDING)
    terminals(scenario)
    for address, phone in scenario.phones.items():
        [new] = phone.sets
        assert new.bounds
        assert new.generation > generations[address]
        assert phone.range() == (250, 400)
    scenario.keep_reporting(SENDING, 10)
    assert all(len(phone.sets) == 1 for phone in scenario.phones.values())
    assert all(phone.range() is not None for phone in scenario.phones.values())


def test_without_an_access_point_the_leases_end() -> None:
    scenario, _ = restarted()
    for _ in range(7):
        scenario.advance(1)
        terminals(scenario)
    assert all(phone.sets == [] for phone in scenario.phones.values())
    assert all(phone.range() is None for phone in scenario.phones.values())
    assert scenario.no_bounds(mac(0)) is Code.CELL_UNKNOWN


def test_a_phone_that_is_associated_nowhere_waits_for_its_lease() -> None:
    scenario, _ = restarted()
    others = {mac(0): 2.0, mac(1): 2.0}
    for _ in range(3):
        scenario.access_point(others)
        terminals(scenario)
        scenario.advance(1)
    assert scenario.no_bounds(mac(2)) is Code.CELL_UNKNOWN
    assert scenario.phones[mac(2)].sets == []


@pytest.mark.parametrize("parameters", [PAPER, Parameters()])
def test_every_generation_is_above_the_one_in_force(parameters: Parameters) -> None:
    scenario = uploading(1, parameters)
    for _ in range(5):
        scenario.restart()
        for _ in range(3):
            scenario.advance(0.4)
            before = scenario.phones[mac(0)].generation
            effects = scenario.access_point({mac(0): 2.0})
            effects += scenario.terminal(mac(0), upload())
            for effect in effects:
                if isinstance(effect, SetBounds):
                    assert effect.generation > before
                    assert effect.bounds
    assert scenario.phones[mac(0)].range() is not None


def test_a_phone_that_pauses_at_the_restart_is_not_released() -> None:
    """What the earlier process set ends with its lease; a phone that sends again before that has it all the time."""
    scenario, _ = restarted()
    phone = scenario.phones[mac(0)]
    others = {address: 2.0 for address in PHONES if address != mac(0)}
    scenario.terminal(mac(0))
    assert scenario.no_bounds(mac(0)) is Code.NOT_SENDING
    scenario.access_point(others, idle=[mac(0)])
    scenario.advance(1)
    for _ in range(3):
        scenario.access_point(others, idle=[mac(0)])
        scenario.terminal(mac(0))
        assert scenario.no_bounds(mac(0)) is Code.NOT_SENDING
        assert phone.range() == (250, 400)
        scenario.advance(1)
    scenario.access_point(SENDING)
    scenario.terminal(mac(0), upload())
    assert phone.range() is not None
    assert phone.sets[0].bounds


def test_a_phone_that_stopped_sending_is_free_when_its_lease_ends() -> None:
    scenario, _ = restarted()
    phone = scenario.phones[mac(0)]
    for _ in range(7):
        scenario.access_point({}, idle=PHONES)
        scenario.terminal(mac(0))
        scenario.advance(1)
    assert (phone.range(), phone.sets, phone.renewals) == (None, [], phone.renewals)
