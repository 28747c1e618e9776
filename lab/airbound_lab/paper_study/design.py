# SPDX-License-Identifier: Apache-2.0
"""Which runs the study consists of; pure.

The paper measured 1 to 10 phones at 4 and 256 ms (at 16 ms: ten), of two generations of Android, with and without its
middleware. What differs between the generations, as far as their TCP is concerned, is the limit of the congestion
window. The radios of these phones are unknown: each rate control is a study of its own.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound_lab.compare.matrix import Condition, Task
from airbound_lab.errors import UsageError
from airbound_lab.settings import parameters
from airbound_lab.settings.scenario import built_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airbound_lab.figures.results import Run
    from airbound_lab.settings.values import RateControl

UNCONTROLLED, PAPER, AIRBOUND = "cubic", "paper", "airbound"
CONTROLS = (UNCONTROLLED, PAPER, AIRBOUND)
"""Without control, with the paper's tables, with this project's controller as it starts without arguments."""


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation of Android."""

    title: str
    paper_mode: str
    cwnd_clamp_segs: int | None
    several: int
    """With how many phones the paper shows its middleware over time."""


GENERATIONS = {
    "gb": Generation("GB (Android 2.3)", "paper-gb", 63, 9),
    "jb": Generation("JB (Android 4.1)", "paper-jb", None, 10),
}
LOW_MS, MIDDLE_MS, HIGH_MS = 4.0, 16.0, 256.0
MANY = 10

DELAYS_MS = (LOW_MS, MIDDLE_MS, HIGH_MS)
TERMINALS = tuple(range(1, MANY + 1))


@dataclass(frozen=True, slots=True)
class Point:
    """What a figure of the paper is of, and one point of its curves."""

    rate_control: RateControl
    generation: str
    delay_ms: float
    terminals: int
    control: str

    @property
    def mode(self) -> str:
        """Return the lab's mode."""
        return GENERATIONS[self.generation].paper_mode if self.control == PAPER else self.control

    @property
    def variant(self) -> str:
        """Return the mode with the generation's window, as a comparison names it."""
        clamp_segs = GENERATIONS[self.generation].cwnd_clamp_segs
        return self.mode if clamp_segs is None else f"{self.mode}@cwnd-clamp={clamp_segs}"


@dataclass(frozen=True, slots=True)
class Design:
    """The sweep over phones and delays, and whether what the paper shows over time is run as well."""

    rate_controls: tuple[RateControl, ...] = ("minstrel", "aarf")
    generations: tuple[str, ...] = tuple(GENERATIONS)
    delays_ms: tuple[float, ...] = DELAYS_MS
    terminals: tuple[int, ...] = TERMINALS
    controls: tuple[str, ...] = CONTROLS
    seeds: tuple[int, ...] = (1,)
    seconds: int = 30
    warmup_seconds: int = 10
    has_series: bool = True

    def check(self) -> None:
        """Raise UsageError if something is unknown or there twice, or if a run cannot be made."""
        for option, given, known in (
            ("--generations", self.generations, tuple(GENERATIONS)),
            ("--modes", self.controls, CONTROLS),
            ("--delays", self.delays_ms, None),
            ("--terminals", self.terminals, None),
            ("--rate-control", self.rate_controls, None),
            ("--seeds", self.seeds, None),
        ):
            if len(set(given)) != len(given):
                raise UsageError(f"{option}: each only once")
            for item in given if known is not None else ():
                if item not in (known or ()):
                    raise UsageError(f"{option}: {item!r} is none of {', '.join(known or ())}")
        for task in self.tasks():
            task.condition.parameters(task.variant, task.seed)

    def sweep(self, rate_control: RateControl) -> list[Point]:
        """The points of the figures of throughput by the number of phones."""
        axes = (self.terminals, self.generations, self.delays_ms, self.controls)
        return [
            Point(rate_control, generation, delay_ms, terminals, control)
            for terminals, generation, delay_ms, control in itertools.product(*axes)
        ]

    def series(self, rate_control: RateControl) -> list[Point]:
        """The points that are shown over time."""
        if not self.has_series:
            return []
        uncontrolled = [(delay_ms, MANY, UNCONTROLLED) for delay_ms in DELAYS_MS]
        return [
            Point(rate_control, name, *which)
            for name in self.generations
            for which in (*uncontrolled, *((HIGH_MS, GENERATIONS[name].several, control) for control in CONTROLS))
            if which[2] in self.controls
        ]

    def task(self, point: Point, seed: int) -> Task:
        """Return the run of a point."""
        condition = Condition(
            scenario=built_in("uplink"),
            wired_delays_ms=(point.delay_ms,),
            terminals=point.terminals,
            rate_control=point.rate_control,
            seconds=self.seconds,
            warmup_seconds=self.warmup_seconds,
        )
        return Task(condition, parameters.variant(point.variant), seed)

    def tasks(self) -> list[Task]:
        """All runs, each once: the sweep with every seed, what is shown over time with the first."""
        wanted: list[tuple[Point, int]] = []
        for seed in self.seeds:
            for rate_control in self.rate_controls:
                series = self.series(rate_control) if seed == self.seeds[0] else []
                wanted += [(point, seed) for point in (*self.sweep(rate_control), *series)]
        return list(dict.fromkeys(self.task(*pair) for pair in wanted))

    def runs(self, point: Point, found: Mapping[Task, Run]) -> list[Run]:
        """The runs of a point, in the order of the seeds, as far as there are any."""
        tasks = (self.task(point, seed) for seed in self.seeds)
        return [found[task] for task in tasks if task in found]

    def first(self, point: Point, found: Mapping[Task, Run]) -> Run | None:
        """Return the run of a point that is shown over time."""
        return found.get(self.task(point, self.seeds[0]))


QUICK = Design(rate_controls=("aarf",), delays_ms=(LOW_MS, HIGH_MS), terminals=(1, 2, 5, MANY))
