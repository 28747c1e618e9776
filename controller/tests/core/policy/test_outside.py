# SPDX-License-Identifier: Apache-2.0
"""A policy from outside of the controller: what it does wrongly frees the phones concerned, and nothing else."""

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from airbound.core import policy_names
from airbound.core.effects import Note
from airbound.core.events import Reconfigured
from airbound.core.parameters import Parameters
from airbound.core.policy import POLICIES, CellFacts, Policy, PolicyInput, Range, register
from airbound.core.policy.bdp import Bdp
from airbound.core.policy.outside import PolicyFailedError, outside
from airbound.core.reasons import Code
from airbound_testing.scenario import OTHER_SERVER, Scenario, mac, upload, uploading

NAME = "mine:decide"
OF = PolicyInput(3, 1, 300_000, 256_500, 1500, 20e6)
FACTS = CellFacts(3, 20e6, 10e6, 0.0)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(policy_names, "_loaded", [])
    before = dict(POLICIES)
    yield
    POLICIES.clear()
    POLICIES.update(before)


def made(given: Any) -> Policy:
    register(NAME, given)
    return POLICIES[NAME](Parameters(policy=NAME))


def returning(answer: Any) -> Callable[[PolicyInput], Any]:
    def decide(given: PolicyInput) -> Any:  # noqa: ARG001
        """As told"""
        return answer

    return decide


class Own(Policy):
    """One that says what it uses."""

    uses_capacity = False
    uses_rtt_ratio = False

    def __init__(self, parameters: Parameters) -> None:
        self.segs = parameters.bdp.floor_segs

    def decide(self, given: PolicyInput) -> Range:  # noqa: ARG002
        return Range(self.segs, self.segs + 1)

    def formula(self, given: PolicyInput) -> str:  # noqa: ARG002
        return f"{self.segs} and one"


def test_a_function_is_a_policy_that_may_look_at_everything() -> None:
    policy = made(returning((3, 7)))
    assert policy.decide(OF) == Range(3, 7)
    assert (policy.name, policy.title) == (NAME, NAME)
    assert (policy.uses_capacity, policy.uses_rtt_ratio, policy.shares_air, policy.widens) == (True, True, True, True)
    assert policy.formula(OF) == "As told: 6.7 Mb/s, min RTT 256.5 ms, 1 connections"
    assert (policy.found, policy.trials_total, policy.observe(FACTS, 1)) == (1.0, 0, False)


def test_a_class_says_what_its_ranges_follow_from() -> None:
    policy = made(Own)
    assert policy.decide(OF) == Range(2, 3)
    assert policy.formula(OF) == "2 and one"
    assert (policy.uses_capacity, policy.uses_rtt_ratio, policy.shares_air, policy.widens) == (False,) * 4


@pytest.mark.parametrize(
    "wrong", [None, 5, "12", (1,), (1, 2, 3), (2.0, 4.0), (float("nan"), 4), (2, float("inf")), (None, None)]
)
def test_what_is_no_range_is_an_error_that_shows_it(wrong: Any) -> None:
    with pytest.raises(PolicyFailedError) as caught:
        made(returning(wrong)).decide(OF)
    assert str(caught.value) == f"policy {NAME} returned {wrong!r}: a Range of two whole numbers is expected"


@pytest.mark.parametrize("wrong", [(0, 4), (-1, 4), (5, 4), (2, 65_536)])
def test_so_is_one_out_of_the_kernels_limits(wrong: Any) -> None:
    with pytest.raises(PolicyFailedError, match="1 <= min_segs <= max_segs <= 65535 is expected"):
        made(returning(wrong)).decide(OF)


def test_what_it_raises_names_the_policy_the_function_and_the_line() -> None:
    def decide(given: PolicyInput) -> Range:
        return Range(1, 1 // (given.connections - 1))

    with pytest.raises(PolicyFailedError) as caught:
        made(decide).decide(OF)
    line = decide.__code__.co_firstlineno + 1
    expected = (
        f"policy {NAME}: ZeroDivisionError: integer division or modulo by zero, in decide, test_outside.py line {line}"
    )
    assert str(caught.value) == expected


def test_a_class_without_a_method_is_refused_when_it_is_loaded() -> None:
    class Unfinished(Bdp):
        formula = Policy.formula

    with pytest.raises(TypeError, match="the class lacks formula"):
        register(NAME, Unfinished)
    assert NAME not in POLICIES


@pytest.mark.parametrize("given", [5, "decide", int, object])
def test_what_is_neither_a_function_nor_a_policy_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="neither a function nor a subclass"):
        register(NAME, given)
    assert NAME not in POLICIES


def test_a_class_that_does_not_say_what_it_uses_is_refused() -> None:
    silent = type("Silent", (Own,), {"uses_rtt_ratio": None})
    with pytest.raises(TypeError, match="neither true nor false of uses_rtt_ratio"):
        register(NAME, silent)


class Search(Own):
    """Fails when told to."""

    answers: tuple[Any, ...] = ()

    def observe(self, facts: CellFacts, now_us: int) -> bool:  # noqa: ARG002
        answer = self.answers[now_us]
        if answer == "raise":
            raise ValueError("lost")
        self.segs += 1
        return bool(answer)

    @property
    def found(self) -> float:
        return float("nan") if self.segs == 4 else 1.5

    @property
    def trials_total(self) -> int:
        return self.segs


def test_a_search_that_fails_fails_all_decisions_until_it_does_not() -> None:
    made_search = type("Told", (Search,), {"answers": (False, "raise", "raise", False, True)})
    policy = made(made_search)
    assert not policy.observe(FACTS, 0)
    assert policy.decide(OF) == Range(3, 4)
    assert policy.observe(FACTS, 1)  # the cell is decided again, and all of it fails
    with pytest.raises(PolicyFailedError, match="ValueError: lost, in observe"):
        policy.decide(OF)
    assert not policy.observe(FACTS, 2)
    assert not policy.observe(FACTS, 3)  # what it has found is no number now
    with pytest.raises(PolicyFailedError, match="found is nan"):
        policy.decide(OF)
    assert (policy.found, policy.trials_total) == (1.5, 3)  # metrics have the last ones that were right
    assert policy.observe(FACTS, 4)
    assert policy.decide(OF) == Range(5, 6)


def test_one_that_cannot_be_made_frees_everything_and_says_so_when_asked() -> None:
    class Unmade(Own):
        def __init__(self, parameters: Parameters) -> None:
            raise KeyError(parameters.policy)

    policy = made(Unmade)
    assert not policy.observe(FACTS, 0)
    with pytest.raises(PolicyFailedError, match="KeyError"):
        policy.decide(OF)
    assert "KeyError" in policy.formula(OF)


def test_an_error_in_its_formula_is_shown_in_its_place() -> None:
    class Mute(Own):
        def formula(self, given: PolicyInput) -> str:  # noqa: ARG002
            raise ValueError("no words")

    assert "ValueError: no words" in made(Mute).formula(OF)


def fails_for_slow(given: PolicyInput) -> Range:
    if given.min_rtt_us > 200_000:
        raise RuntimeError("too slow for me")
    return Range(2, 9)


def test_only_the_phones_are_freed_whose_decisions_failed_and_it_is_counted_and_logged() -> None:
    register(NAME, fails_for_slow)
    scenario = Scenario(Parameters(policy=NAME))
    sending = {mac(0): 2.0, mac(1): 2.0}
    for _ in range(2):
        scenario.advance(1)
        scenario.access_point(sending)
    scenario.terminal(mac(0), upload(60, 40))
    assert scenario.phones[mac(0)].range() == (2, 9)
    effects = scenario.terminal(mac(1), upload(400, 250, address=OTHER_SERVER))
    assert scenario.phones[mac(0)].range() == (2, 9)
    assert scenario.phones[mac(1)].range() is None
    assert scenario.no_bounds(mac(1)) is Code.INTERNAL_ERROR
    [terminal] = [found for found in scenario.engine.terminals() if found.mac == mac(1)]
    assert terminal.failures_total >= 1
    [note, *_] = [effect for effect in effects if isinstance(effect, Note) and effect.kind == "failed"]
    assert note.level == "warning"
    assert "policy mine:decide: RuntimeError: too slow for me, in fails_for_slow" in note.reasons[0].subject


def test_a_cell_that_gets_another_policy_is_well_again() -> None:
    register(NAME, returning(None))
    scenario = uploading(2, Parameters(policy=NAME))
    assert all(phone.range() is None for phone in scenario.phones.values())
    scenario.do(Reconfigured(Parameters(policy="bdp"), ()))
    assert all(phone.range() is not None for phone in scenario.phones.values())


def test_a_failure_that_lasts_takes_no_more_memory_with_each_decision() -> None:
    """An exception that is raised again gets more frames each time, with all that their variables refer to."""

    class Broken(Bdp):
        def __init__(self, _parameters: Parameters) -> None:
            raise RuntimeError("no")

    made = outside("mine:Broken", Broken)(Parameters())
    depths = []
    for _ in range(3):
        with pytest.raises(PolicyFailedError) as caught:
            made.decide(OF)
        depths.append(len(list(traceback.walk_tb(caught.value.__traceback__))))
    assert len(set(depths)) == 1
