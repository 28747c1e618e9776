# SPDX-License-Identifier: Apache-2.0
"""What is run of the study of `airbound check`; pure.

A check sets a cell's mode turn by turn while its phones send, and says what that changed. What is so comes from two
runs more of the same cell, one without Airbound and one with it all the time. Of the 20 cells

    8 gain      phones upload all they can by CUBIC, an access point with OpenWrt
    6 lose      the same with the policy that knows no aggregates, where that carries less
    6 neither   phones upload by TCP, each so little that the air could carry several times that
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from airbound_lab.compare.one_cell import OneCell
from airbound_lab.errors import UsageError
from airbound_lab.settings.lists import check_each_once, check_known
from airbound_lab.settings.parameters import CHECK_BEGINS_WITHIN_S, Parameters
from airbound_lab.settings.scenario import Action, Scenario

if TYPE_CHECKING:
    from airbound_lab.settings.radio import PhyName

Kind = Literal["gain", "lose", "neither"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Part = Literal["check", "without", "with"]
PARTS: tuple[Part, ...] = get_args(Part)
WITHOUT_AGGREGATES = 'policy = "bdp"\n'
CHECK_WARMUP_S = 20
TRUE_S, TRUE_WARMUP_S = 500, 60
"""Of the two runs that say what is so: more than twice what a check counts of a mode, so that it is the check's chance
that decides; without the time in which the search for the length of aggregates is on its way.
"""
WITHOUT, WITH = "cubic", "airbound"


class Cell(NamedTuple):
    """A cell; `rate_mbps` is each phone's, none: all that it can."""

    kind: Kind
    phy: PhyName
    phones: int
    delay_ms: float
    rate_mbps: float | None = None

    @property
    def name(self) -> str:
        """As in the table."""
        rate = "" if self.rate_mbps is None else f" of {self.rate_mbps:g} Mb/s"
        return f"{self.kind}: {self.phy}, {self.phones} phones{rate}, {self.delay_ms:g} ms"


CELLS = (
    Cell("gain", "11ac-80", 3, 4),
    Cell("gain", "11ac-80", 5, 4),
    Cell("gain", "11ac-80", 10, 4),
    Cell("gain", "11ac-80", 5, 16),
    Cell("gain", "11n-20", 5, 16),
    Cell("gain", "11n-20", 10, 4),
    Cell("gain", "11n-40", 5, 4),
    Cell("gain", "11n-40", 10, 16),
    Cell("lose", "11ac-80", 3, 4),
    Cell("lose", "11ac-80", 5, 4),
    Cell("lose", "11ac-80", 10, 4),
    Cell("lose", "11n-20", 10, 4),
    Cell("lose", "11n-40", 10, 4),
    Cell("lose", "11n-40", 15, 4),
    Cell("neither", "11ac-80", 2, 4, 5),
    Cell("neither", "11ac-80", 5, 16, 5),
    Cell("neither", "11n-20", 2, 16, 1),
    Cell("neither", "11n-20", 5, 4, 1),
    Cell("neither", "11n-40", 5, 4, 2),
    Cell("neither", "11n-40", 3, 64, 2),
)


@dataclass(frozen=True, slots=True)
class Case(OneCell):
    """One run."""

    cell: Cell
    part: Part
    mode: str
    parameters: Parameters

    @property
    def row(self) -> str:
        """Where it is run, where runs are listed."""
        return f"{self.cell.name}: {self.part}"


@dataclass(frozen=True, slots=True)
class Design:
    """What is asked for."""

    kinds: tuple[str, ...] = KINDS
    minutes: int = 10
    seeds: tuple[int, ...] = (1,)

    def check(self) -> None:
        """Raise UsageError if something is unknown, there twice, or impossible."""
        check_known({"--kinds": (self.kinds, KINDS)})
        check_each_once({"--kinds": self.kinds, "--seeds": self.seeds})
        if not self.seeds or min(self.seeds) < 1:
            raise UsageError("--seeds: they count from 1")

    def cases(self) -> list[Case]:
        """All runs, in the order of the table.

        Raises:
            ValidationError: the numbers are out of limits.
        """
        return [
            self._case(cell, part, seed * len(CELLS) + number)
            for number, cell in enumerate(CELLS)
            if cell.kind in self.kinds
            for seed in self.seeds
            for part in PARTS
        ]

    def _case(self, cell: Cell, part: Part, seed: int) -> Case:
        """Each cell has seeds of its own: with one for all, chance would be the same in all."""
        mode = WITHOUT if part == "without" else WITH
        minutes = self.minutes if part == "check" else None
        parameters = Parameters(
            modes=("cubic",),
            scenario=Scenario("uploads", (Action(0, "start-traffic", rate_mbps=cell.rate_mbps),)),
            phy=cell.phy,
            ap="openwrt",
            kernel_line="6.12",
            terminals=cell.phones,
            wired_delays_ms=(cell.delay_ms,),
            seconds=TRUE_S if minutes is None else minutes * 60 + CHECK_BEGINS_WITHIN_S,
            warmup_seconds=TRUE_WARMUP_S if minutes is None else CHECK_WARMUP_S,
            check_minutes=minutes,
            controller_config=WITHOUT_AGGREGATES if cell.kind == "lose" and mode == WITH else None,
            seeds=(seed,),
        ).of_mode(mode)
        return Case(cell, part, mode, parameters)
