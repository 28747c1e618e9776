# SPDX-License-Identifier: Apache-2.0
"""The mutants of a target, tested in their order until there are enough results."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mutants.mutant import Change, Mutant, change, draw
from mutants.stage import Copies, Outcome, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mutants.equivalent import Equivalents


class Target(NamedTuple):
    """What is mutated and tested with one command."""

    name: str
    files: list[str]
    mutants: Callable[[list[str]], Iterable[Mutant]]
    stages: Callable[[str], list[Stage]]
    part: Callable[[str], str]
    """From a file to the row of the table that it counts in."""


class Drawn(NamedTuple):
    """A mutant that is a program."""

    mutant: Mutant
    text: str
    line: int
    change: Change


@dataclass(frozen=True, slots=True)
class Result:
    """A mutant that was tested."""

    path: str
    line: int
    operator: str
    change: Change
    part: str
    outcome: Outcome
    output: str


class Sample:
    """The mutants of a target in the order that the seed gives them."""

    def __init__(self, root: Path, target: Target, seed: str, equivalents: Equivalents) -> None:
        self._root, self._target, self._equivalents = root, target, equivalents
        order = draw(target.mutants(target.files), seed)
        self.possible = len(order)
        self._order = iter(order)
        self.equivalent = 0
        """Met on the way and listed as equivalent."""
        self.no_programs = 0
        """Tested, and found not to compile."""

    def draw(self) -> Drawn | None:
        """The next mutant that is a program and not listed as equivalent; None after the last."""
        for mutant in self._order:
            original = (self._root / mutant.place.path).read_text()
            mutated = mutant.apply(original)
            if mutated is None:
                continue
            line, changed = change(original, mutated)
            if (mutant.place.path, changed) not in self._equivalents:
                return Drawn(mutant, mutated, line, changed)
            self.equivalent += 1
        return None

    def run(self, copies: Copies, workers: int, wanted: int) -> Iterator[Result]:
        """Results as they come. For a mutant that does not compile another one is drawn.

        The sample is the beginning of the order, however fast each test is: a further mutant is begun only if all that
        are under way would not be enough.
        """
        running: set[Future[Result]] = set()
        counted = 0
        with ThreadPoolExecutor(workers) as pool:
            try:
                while True:
                    while counted + len(running) < wanted and len(running) < workers and (drawn := self.draw()):
                        running.add(pool.submit(self._test, copies, drawn))
                    if not running:
                        return
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        result = future.result()
                        if result.outcome is Outcome.NO_PROGRAM:
                            self.no_programs += 1
                        else:
                            counted += 1
                            yield result
            except BaseException:
                copies.stop()  # else leaving the pool would wait for tests under way
                raise

    def _test(self, copies: Copies, drawn: Drawn) -> Result:
        path = drawn.mutant.place.path
        outcome, output = copies.test(path, drawn.text, self._target.stages(path))
        part = self._target.part(path)
        return Result(path, drawn.line, drawn.mutant.operator, drawn.change, part, outcome, output)
