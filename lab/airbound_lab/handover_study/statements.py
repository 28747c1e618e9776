# SPDX-License-Identifier: Apache-2.0
"""What is checked of the rivals, and whether it is so; pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from airbound_lab.handover_study.design import LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airbound_lab.handover_study.design import Case, Design
    from airbound_lab.handover_study.measures import Figures


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that was checked: in how many cases it could be, and in how many it is so."""

    rival: str
    stated: str
    cases: int
    so: int
    share_wanted: float

    @property
    def agrees(self) -> bool | None:
        """Whether it is so often enough; None without a case."""
        return None if not self.cases else self.so >= self.share_wanted * self.cases


def all_of(design: Design, by_case: Mapping[Case, Mapping[str, Figures]]) -> list[Statement]:
    """Check all that the design has rivals for."""
    return [never_before_udp(by_case, name) for name in design.rivals if name != LIMIT] + [
        nothing_lost(by_case, name) for name in design.rivals if name != LIMIT
    ]


def never_before_udp(by_case: Mapping[Case, Mapping[str, Figures]], rival: str) -> Statement:
    """UDP is the limit: nothing of after the losses arrives before it; a millisecond is the phone's own timer."""
    every = [found[rival].later_than_udp_s for found in by_case.values() if rival in found]
    so = sum(value is None or value >= -0.002 for value in every)  # noqa: PLR2004  (timers of two lanes)
    return Statement(rival, "no record of after the losses arrives before UDP's", len(every), so, 1.0)


def nothing_lost(by_case: Mapping[Case, Mapping[str, Figures]], rival: str) -> Statement:
    """Every record arrives in the end."""
    every = [found[rival].lost for found in by_case.values() if rival in found]
    return Statement(rival, "every record arrives", len(every), sum(not lost for lost in every), 1.0)


def rows(statements: list[Statement]) -> list[list[str]]:
    """Heading and a row for each statement."""
    table = [["", "stated", "so in", "agrees"]]
    for each in statements:
        verdict = {None: "no case", True: "yes", False: "NO"}[each.agrees]
        table.append([each.rival, each.stated, f"{each.so} of {each.cases}", verdict])
    return table


def document(statement: Statement) -> dict[str, Any]:
    """Return a statement for JSON."""
    return asdict(statement) | {"agrees": statement.agrees}
