# SPDX-License-Identifier: Apache-2.0
"""When two replicas count as owners of one cell at one time."""

import pytest

from airbound_testing.faults import Outcome

A1, B1, B2, A2 = ("cell", 1, "a"), ("cell", 1, "b"), ("cell", 2, "b"), ("cell", 2, "a")


@pytest.mark.parametrize(
    ("rounds", "twice"),
    [
        ([{A1}, {A1}, {B2}, {B2}], 0),
        ([{A1}, set(), {A2}], 0),
        ([{A1}, {A1, B2}, {B2}], 0),  # the cell may have gone from one to the other between their answers
        ([{A1}, {A1, B2}, {A1, B2}], 1),
        ([{A1}, {B2}, {A1}], 1),
        ([{A1, B1}], 1),
        ([{A1}, {B1}], 1),
        ([{A1, ("other", 1, "b")}], 0),
    ],
)
def test_two_owners_at_one_time(rounds: list[set[tuple[str, int, str]]], twice: int) -> None:
    outcome = Outcome()
    for owned in rounds:
        outcome.note(owned)
    assert outcome.owned_twice == twice
