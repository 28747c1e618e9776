# SPDX-License-Identifier: Apache-2.0
"""What is checked of the rivals, and whether it is so; pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from airbound_lab.handover_study.design import LIMIT, PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


METHOD, WITH_EVENT = "library-method", "library-event"
LONG_S = 3.0
"""The paper's T_recvinterval: after shorter outages its method has no reason to act."""
FRESH_S = 0.7
"""The paper's delay after the switch."""
SILENT_S, LESS = 14.0, 0.95
"""The paper's delay without its method, and by which share less it is with it."""
WITH_EVENT_LATER_S = 0.2
MOST = 19 / 20


def all_of(design: Design, by_case: Mapping[Case, Mapping[str, Figures]]) -> list[Statement]:
    """Check all that the design has rivals for."""
    others = [name for name in design.rivals if name != LIMIT]
    checked = [never_before_udp(by_case, name) for name in others] + [nothing_lost(by_case, name) for name in others]
    if METHOD in design.rivals:
        checked += [
            method_is_fresh(by_case, queued=False),
            method_is_fresh(by_case, queued=True),
            method_against_tcp(by_case),
            method_rests(by_case),
        ]
    if WITH_EVENT in design.rivals:
        checked.append(event_is_soon(by_case))
    return checked


def method_is_fresh(by_case: Mapping[Case, Mapping[str, Figures]], *, queued: bool) -> Statement:
    """After outages of 3 s and more the method switches, and its first record is as fresh as the paper's.

    With a queue before, the server is silent for less than the outage: what was queued arrives meanwhile.
    """
    every = _method(by_case, lambda case: case.handover.lost_s >= LONG_S and (case.handover.before_s > 0) == queued)
    so = sum(_is_fresh(one) for one, _ in every)
    queue = "a queue" if queued else "no queue"
    text = f"{queue} before, lost for {LONG_S:g} s and more: switches, then at most {FRESH_S:g} s behind UDP's delay"
    return Statement(METHOD, text, len(every), so, MOST)


def _is_fresh(one: Figures) -> bool:
    if one.switched_delay_s is None or one.udp_delay_s is None:
        return False
    return one.switched_delay_s <= one.udp_delay_s + FRESH_S


def method_against_tcp(by_case: Mapping[Case, Mapping[str, Figures]]) -> Statement:
    """Where TCP delays a record by more than 14 s, without a queue after, the method has 95 % less."""
    every = [
        (one, tcp)
        for one, tcp in _method(by_case, lambda case: case.handover.lost_s >= LONG_S and not case.handover.after_s)
        if tcp.worst_delay_s > SILENT_S
    ]
    so = sum(
        one.switched_delay_s is not None and one.switched_delay_s <= (1 - LESS) * tcp.worst_delay_s
        for one, tcp in every
    )
    text = f"where TCP delays a record by over {SILENT_S:g} s: first record after the switch {LESS:.0%} less"
    return Statement(METHOD, text, len(every), so, MOST)


def method_rests(by_case: Mapping[Case, Mapping[str, Figures]]) -> Statement:
    """After shorter outages, if nothing is held, the method does not act."""
    every = _method(by_case, lambda case: case.handover.lost_s < LONG_S and not case.handover.held_s)
    so = sum(one.switched_after_s is None for one, _ in every)
    return Statement(METHOD, f"lost for less than {LONG_S:g} s, nothing held: does not switch", len(every), so, MOST)


def event_is_soon(by_case: Mapping[Case, Mapping[str, Figures]]) -> Statement:
    """With an event the first record of after the losses is nearly as early as UDP's."""
    every = [found[WITH_EVENT].later_than_udp_s for found in by_case.values() if WITH_EVENT in found]
    so = sum(value is not None and value <= WITH_EVENT_LATER_S for value in every)
    text = f"first record of after the losses at most {WITH_EVENT_LATER_S:g} s later than by UDP"
    return Statement(WITH_EVENT, text, len(every), so, 1.0)


def _method(
    by_case: Mapping[Case, Mapping[str, Figures]], concerns: Callable[[Case], bool]
) -> list[tuple[Figures, Figures]]:
    return [
        (found[METHOD], found[PLAIN])
        for case, found in by_case.items()
        if METHOD in found and PLAIN in found and concerns(case)
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
