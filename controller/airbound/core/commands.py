# SPDX-License-Identifier: Apache-2.0
"""From decisions to what, if anything, must be sent to the terminal."""

from dataclasses import dataclass, replace
from typing import Literal

from airbound.core.decisions import Decision
from airbound.core.effects import Bound
from airbound.core.reports import BackEnd

REPEATED_AFTER_AT_MOST_US = 60_000_000


@dataclass(frozen=True, slots=True)
class Held:
    """The set last sent on the terminal's present stream. Times are the controller's."""

    generation: int
    bounds: tuple[Bound, ...]
    decisions: tuple[Decision, ...]
    lease_us: int  # what the terminal was last given, whatever is configured now
    set_at_us: int
    renewed_at_us: int
    repeats: int = 0  # how often the same set had to be sent again because the terminal did not hold it

    @property
    def renew_at_us(self) -> int:
        """When the lease is to be renewed: two more may be lost before it ends."""
        return self.renewed_at_us + self.lease_us // 3


def fit_to_back_end(decisions: tuple[Decision, ...], back_end: BackEnd) -> tuple[tuple[Bound, ...], str]:
    """The bounds as the back end can take them, and why there are none if it can take none at all."""
    if not back_end.can_set_max:
        return (), f"the back end {back_end.name!r} cannot set a maximum"
    bounds = [decision.bound for decision in decisions]
    if not back_end.can_set_min:
        bounds = [replace(bound, min_segs=1) for bound in bounds]
    if bounds and not back_end.can_select_destination:
        bounds = [Bound("", min(bound.min_segs for bound in bounds), min(bound.max_segs for bound in bounds))]
    if back_end.rules_max and len(bounds) > back_end.rules_max:
        # Those held tightest matter most: they are the nearest servers, where a queue hurts first.
        bounds = sorted(bounds, key=lambda bound: (bound.max_segs, bound.prefix))[: back_end.rules_max]
    return tuple(sorted(bounds)), ""


def action(
    held: Held | None,
    wanted: tuple[Bound, ...],
    *,
    in_force_generation: int,
    reported_at_us: int,
    now_us: int,
) -> Literal["set", "renew", "nothing"]:
    """What must be sent to a terminal.

    `held` is what was sent on its present stream, `in_force_generation` what it said at `reported_at_us` to be in
    force. A terminal that still does not hold what it was sent half a lease ago gets it again, each time after twice
    the wait, at most a minute.
    """
    if held is None:
        return "set" if wanted or in_force_generation else "nothing"
    if wanted != held.bounds:
        return "set"
    expected = held.generation if held.bounds else 0
    patience_us = min(held.lease_us // 2 << min(held.repeats, 16), REPEATED_AFTER_AT_MOST_US)
    if in_force_generation != expected and reported_at_us - held.set_at_us >= patience_us:
        return "set"
    if held.bounds and now_us >= held.renew_at_us:
        return "renew"
    return "nothing"
