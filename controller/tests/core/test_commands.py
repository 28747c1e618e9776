# SPDX-License-Identifier: Apache-2.0

from dataclasses import replace

import pytest

from airbound.core.commands import Held, action, fit_to_back_end
from airbound.core.decisions import Decision, Sending, decide, explain_change, settle
from airbound.core.effects import Bound
from airbound.core.parameters import BdpParameters, Parameters
from airbound.core.reports import BackEnd
from airbound.testing.scenario import upload

SECOND_US = 1_000_000
BOUNDS = (Bound("10.0.4.1/32", 20, 35),)
HELD = Held(generation=3, bounds=BOUNDS, decisions=(), lease_us=6 * SECOND_US, set_at_us=0, renewed_at_us=0)
RELEASED = replace(HELD, bounds=())


@pytest.mark.parametrize(
    ("held", "wanted", "in_force", "now_s", "expected"),
    [
        (None, (), 0, 0, "nothing"),
        (None, BOUNDS, 0, 0, "set"),
        (None, (), 7, 0, "set"),  # holds something of somebody else's
        (HELD, BOUNDS, 3, 1.9, "nothing"),
        (HELD, BOUNDS, 3, 2, "renew"),
        (HELD, (), 3, 0, "set"),
        (HELD, (Bound("10.0.4.1/32", 20, 36),), 3, 0, "set"),
        (HELD, BOUNDS, 0, 1.9, "nothing"),  # it had no time yet
        (HELD, BOUNDS, 0, 2.9, "renew"),
        (HELD, BOUNDS, 0, 3, "set"),
        (replace(HELD, repeats=1), BOUNDS, 0, 5.9, "renew"),
        (replace(HELD, repeats=1), BOUNDS, 0, 6, "set"),
        (replace(HELD, repeats=99), BOUNDS, 0, 59, "renew"),
        (replace(HELD, repeats=99), BOUNDS, 0, 60, "set"),
        (RELEASED, (), 0, 100, "nothing"),
        (RELEASED, (), 3, 2, "nothing"),
        (RELEASED, (), 3, 3, "set"),
        (RELEASED, BOUNDS, 0, 0, "set"),
    ],
)
def test_what_must_be_sent(
    held: Held | None, wanted: tuple[Bound, ...], in_force: int, now_s: float, expected: str
) -> None:
    now_us = round(now_s * SECOND_US)
    decided = action(held, wanted, in_force_generation=in_force, reported_at_us=now_us, now_us=now_us)
    assert decided == expected


def decisions(*addresses: str, n: int = 10, capacity_bps: float = 24e6, parameters: Parameters) -> tuple[Decision, ...]:
    sending = {address: Sending(upload(address=address), 0, now=True) for address in addresses}
    return decide(sending, {}, n, capacity_bps, parameters)


def test_the_tightest_bounds_survive_a_back_end_with_few_rules() -> None:
    near = Sending(upload(5, 4, address="10.0.9.9"), 0, now=True)
    far = {f"10.0.0.{number}": Sending(upload(address=f"10.0.0.{number}"), 0, now=True) for number in (1, 2, 3)}
    made = decide({"10.0.9.9": near, **far}, {}, 10, 24e6, Parameters())
    bounds, why = fit_to_back_end(made, BackEnd(rules_max=2))
    assert [bound.prefix for bound in bounds] == ["10.0.0.1/32", "10.0.9.9/32"]
    assert why == ""


def test_settling_keeps_what_noise_moved_and_says_so() -> None:
    parameters = Parameters()
    held = decisions("10.0.4.1", parameters=parameters)
    noisy = decisions("10.0.4.1", capacity_bps=25e6, parameters=parameters)
    kept = settle(held, noisy, parameters)
    assert kept[0].bound == held[0].bound != noisy[0].bound
    assert kept[0].capacity_bps == 25e6
    assert "kept, near enough" in kept[0].reason


@pytest.mark.parametrize(("n", "capacity_bps"), [(9, 24e6), (10, 30e6)])
def test_settling_passes_on_what_matters(n: int, capacity_bps: float) -> None:
    parameters = Parameters()
    held = decisions("10.0.4.1", parameters=parameters)
    fresh = decisions("10.0.4.1", n=n, capacity_bps=capacity_bps, parameters=parameters)
    assert settle(held, fresh, parameters) == fresh


def test_the_papers_tables_are_never_settled() -> None:
    parameters = Parameters(policy="paper")
    held = decisions("10.0.4.1", parameters=parameters)
    moved = tuple(replace(entry, bound=replace(entry.bound, max_segs=36)) for entry in held)
    assert settle(moved, held, parameters) == held


def test_a_change_is_explained_by_what_moved() -> None:
    parameters = Parameters()
    before = decisions("10.0.4.1", "10.0.5.1", parameters=parameters)
    after = decisions("10.0.4.1", "10.0.6.1", n=5, parameters=parameters)
    text = explain_change(before, after)
    assert "10.0.5.1 no longer sent to" in text
    assert "10.0.6.1 sent to" in text
    assert "10.0.4.1: n 10 -> 5;" in text
    alone = decisions("10.0.4.1", parameters=parameters)
    faster = decisions("10.0.4.1", capacity_bps=48e6, parameters=parameters)
    assert explain_change(alone, faster) == "10.0.4.1: capacity 24.0 -> 48.0 Mb/s"
    paper = decisions("10.0.4.1", parameters=Parameters(policy="paper"))
    assert explain_change(alone, paper) == "10.0.4.1: policy bdp -> paper"
    wider = decisions("10.0.4.1", parameters=Parameters(bdp=BdpParameters(gain=10)))
    assert explain_change(alone, wider).startswith("10.0.4.1: other parameters")
