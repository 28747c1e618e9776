# SPDX-License-Identifier: Apache-2.0
"""What a mutant is, and in which order mutants are drawn; pure."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Place(NamedTuple):
    """Where in a file a mutant changes something; several mutants share a place if they change the same thing."""

    path: str
    start: tuple[int, int]
    """Line from 1, column from 0."""
    kind: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed operator, constant, condition, or one removed statement."""

    place: Place
    operator: str
    """The name of the change."""
    apply: Callable[[str], str | None]
    """From the file's text to the mutated text; None if that is no program or the same program."""


class Change(NamedTuple):
    """The lines that a mutant replaces, without indentation; the same wherever in a file they are."""

    before: str
    after: str

    @property
    def diff(self) -> str:
        """The lines as a diff shows them."""
        removed = [f"- {line}" for line in self.before.splitlines()]
        added = [f"+ {line}" for line in self.after.splitlines()]
        return "\n".join(removed + added)


def change(original: str, mutated: str) -> tuple[int, Change]:
    """What differs between two texts, in whole lines, and the number of the first of them."""
    old, new = original.splitlines(), mutated.splitlines()
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    stripped = ("\n".join(line.strip() for line in lines[start : len(lines) - end]) for lines in (old, new))
    return start + 1, Change(*stripped)


def draw(mutants: Iterable[Mutant], seed: str) -> list[Mutant]:
    """All mutants in a random order that depends on the seed alone.

    First comes one mutant of each place, then a second one of each place that has a second one: else a place that can
    be changed in many ways would count more than a removed statement.
    """
    choice = random.Random(seed)  # noqa: S311 - a sample that can be repeated, no secret
    places: dict[Place, list[Mutant]] = {}
    for mutant in sorted(mutants, key=lambda mutant: (mutant.place, mutant.operator)):
        places.setdefault(mutant.place, []).append(mutant)
    groups = list(places.values())
    choice.shuffle(groups)
    for group in groups:
        choice.shuffle(group)
    return [mutant for turn in zip_longest(*groups) for mutant in turn if mutant is not None]
