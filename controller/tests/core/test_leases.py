# SPDX-License-Identifier: Apache-2.0
"""The lease of docs/leases.md: its tables are what is tested."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from airbound.core.leases import Lease, SentSet, Step, next_set, next_step, repeat_after_us
from airbound.core.reasons import Code, Reason

TEXT = (Path(__file__).parents[3] / "docs/leases.md").read_text(encoding="utf-8")
[SECTION] = [section for section in TEXT.split("\n## ") if section.startswith("In the controller\n")]
HEADS = (
    ["sent last", "wanted", "reported in force", "reported after the set", "last renewed", "step"],
    ["repetitions so far", "wait, s"],
    ["step", "generation", "first reason", "repetitions", "lease"],
)
LEASE_US, SET_AT_US = 6_000_000, 100_000_000
A_SET, ANOTHER_SET = ("a", "b"), ("a", "c")
CHANGED = (Reason(Code.POLICY, "bdp"), Reason(Code.CAPACITY))
SENT = {
    "nothing": None,
    "a set": SentSet(7, A_SET, CHANGED, LEASE_US, SET_AT_US, SET_AT_US, repeats=1),
    "an empty set": SentSet(7, (), CHANGED, LEASE_US, SET_AT_US, SET_AT_US, repeats=1),
}
WANTED = {
    "nothing": {"nothing": (), "a set": A_SET},
    "a set": {"the same": A_SET, "another set": ANOTHER_SET, "an empty set": ()},
    "an empty set": {"the same": (), "a set": A_SET},
}
IN_FORCE = {
    "nothing": {"0": 0, "another": 41},
    "a set": {"0": 0, "the generation sent": 7, "another": 41},
    "an empty set": {"0": 0, "another": 7},
}
REPORTED_AFTER_US = {"too early": (0, LEASE_US - 1), "late enough": (LEASE_US, 100 * LEASE_US)}  # once repeated
RENEWED_US_AGO = {
    "less than a third of the lease ago": (0, LEASE_US // 3 - 1),
    "a third of the lease ago": (LEASE_US // 3, 100 * LEASE_US),
}


def rows(head: list[str]) -> list[list[str]]:
    """The rows of the table with this head."""
    lines = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in SECTION.splitlines()]
    return list(itertools.takewhile(lambda row: len(row) == len(head), lines[lines.index(head) + 2 :]))


def test_every_table_of_the_document_is_tested() -> None:
    lines = SECTION.splitlines()
    heads = [before for before, line in itertools.pairwise(lines) if line.startswith("|---")]
    assert heads == [f"| {' | '.join(head)} |" for head in HEADS]


STATES = [
    (sent, *state)
    for sent in SENT
    for state in itertools.product(WANTED[sent], IN_FORCE[sent], REPORTED_AFTER_US, RENEWED_US_AGO)
]


@pytest.mark.parametrize("state", STATES, ids=", ".join)
def test_what_is_sent(state: tuple[str, ...]) -> None:
    """Each state is in one row, and the code does what that says."""
    [step] = [
        step
        for *cells, step in rows(HEADS[0])
        if all(cell == "any" or value in cell.split(", ") for cell, value in zip(cells, state, strict=True))
    ]
    name, wanted, in_force, reported, renewed = state
    for after_us, ago_us in itertools.product(REPORTED_AFTER_US[reported], RENEWED_US_AGO[renewed]):
        sent, now_us = SENT[name], SET_AT_US + 1000 * LEASE_US
        if sent is not None:
            sent = replace(sent, renewed_at_us=now_us - ago_us)
        found = next_step(sent, WANTED[name][wanted], IN_FORCE[name][in_force], SET_AT_US + after_us, now_us)
        assert found is Step[step.upper()]


@pytest.mark.parametrize("state", STATES, ids=", ".join)
def test_a_settled_lease_needs_nothing(state: tuple[str, ...]) -> None:
    """And one that needs nothing is settled, unless a set is waited for."""
    name, _, in_force, reported, renewed = state
    for after_us, ago_us in itertools.product(REPORTED_AFTER_US[reported], RENEWED_US_AGO[renewed]):
        sent, now_us = SENT[name], SET_AT_US + 1000 * LEASE_US
        if sent is not None:
            sent = replace(sent, renewed_at_us=now_us - ago_us)
        lease = Lease(sent, IN_FORCE[name][in_force])
        step = lease.step(sent.entries if sent is not None else (), SET_AT_US + after_us, now_us)
        if lease.is_settled(now_us):
            assert step is Step.NOTHING
        elif step is Step.NOTHING:
            assert reported == "too early"


def test_every_row_is_of_some_state() -> None:
    for *cells, _ in rows(HEADS[0]):
        for cell, domain in zip(cells, zip(*STATES, strict=True), strict=True):
            assert cell == "any" or set(cell.split(", ")) <= set(domain)


@pytest.mark.parametrize(("repeats", "wait_s"), rows(HEADS[1]))
def test_how_long_a_set_is_waited_for(repeats: str, wait_s: str) -> None:
    assert repeat_after_us(LEASE_US, int(repeats)) == int(wait_s) * 1_000_000


@pytest.mark.parametrize(("step", "generation", "reason", "repetitions", "lease"), rows(HEADS[2]))
def test_what_a_step_keeps(step: str, generation: str, reason: str, repetitions: str, lease: str) -> None:
    before, now_us = SENT["a set"], SET_AT_US + LEASE_US
    assert before is not None
    entries = {"renew": A_SET, "repeat": A_SET, "replace": ANOTHER_SET}[step]
    why = (Reason(Code.CONNECTIONS),)
    for in_force, above in itertools.product((0, 7, 41), (0, 50)):
        sent = replace(before)
        following = next_set(
            Step[step.upper()], sent, entries, why, in_force=in_force, lease_ms=9_000, now_us=now_us, above=above
        )
        new = max(7, in_force, above) + 1
        assert following.entries == entries
        assert following.generation == {"as before": 7, "a new one": new}[generation]
        repeated = Reason(Code.REPEATED, before=in_force)
        assert (
            following.reasons[0]
            == {"as before": CHANGED[0], "REPEATED": repeated, "why the set changed": why[0]}[reason]
        )
        assert following.repeats == {"as before": 1, "one more": 2, "0": 0}[repetitions]
        assert (following.renew_at_us, following.ends_at_us) == {
            "from now on": (now_us + 3_000_000, now_us + 9_000_000)
        }[lease]
        assert following.set_at_us == (SET_AT_US if step == "renew" else now_us)


def test_a_first_set_and_an_early_renewal() -> None:
    following = next_set(Step.REPLACE, None, A_SET, CHANGED, in_force=3, lease_ms=6_000, now_us=5, early_us=2)
    assert following == SentSet(4, A_SET, CHANGED, LEASE_US, 5, 3)
