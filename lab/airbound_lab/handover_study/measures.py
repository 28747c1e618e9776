# SPDX-License-Identifier: Apache-2.0
"""Figures of a rival in a case; pure.

All are of records as the application sees them: a record is due when the application makes it, and arrives when the
server's application has it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound_lab.handover_study.observed import US_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.handover_study.design import Case
    from airbound_lab.handover_study.observed import Observed, Record

SWITCHED = "switches: "
"""How a note of a switch begins, as lab/handover/rival writes it."""
FRESH_S = 0.7
"""The paper's: a record is fresh if its delay is at most that of a UDP record of the same moment and this."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one rival in one case."""

    silence_s: float
    """The longest time between two arrivals that ends after the losses began."""
    worst_delay_s: float
    """Of the records that arrived."""
    lost: int
    """Records that never arrived."""
    later_than_udp_s: float | None
    """By how much later than by UDP the first record arrives that UDP brings through after the losses, or a newer one;
    None if none does."""
    fresh_after_s: float | None
    """When the first fresh record is due, after that first one of UDP; None if none is fresh."""
    switched_after_s: float | None
    """When the rival switched for the first time after the losses began, since the completion; None if it did not."""
    switched_delay_s: float | None
    """Delay of the first record that was made after that."""
    udp_delay_s: float | None
    """UDP's, of the same moment."""
    again: int
    late: int
    """Records that arrived after one with a larger number."""
    packets: int
    bytes: int
    """Both directions, with link-layer headers."""


def first_through(case: Case, udp: Observed) -> int:
    """Return the number of the first record that is sent after the losses began and arrives by UDP."""
    loss_at_s = case.handover.loss_at_s(case.seed)
    for number, record in enumerate(udp.lane.records):
        if record.due_s >= loss_at_s and record.arrived_us is not None:
            return number
    raise ValueError(f"{case}: no record arrives by UDP after the losses")


def is_fresh(record: Record, by_udp: Record) -> bool:
    """Whether a record arrives as one of the same moment does by UDP, or at most FRESH_S later."""
    if record.delay_s is None or by_udp.delay_s is None:
        return False
    return record.delay_s <= by_udp.delay_s + FRESH_S


def figures(case: Case, rival: Observed, udp: Observed) -> Figures:
    """Return the figures of a rival."""
    records, by_udp = rival.lane.records, udp.lane.records
    first = first_through(case, udp)
    arrivals_s = sorted(record.arrived_s for record in records if record.arrived_s is not None)
    loss_at_s = case.handover.loss_at_s(case.seed)
    gaps_s = [after - before for before, after in itertools.pairwise(arrivals_s) if after >= loss_at_s]
    newer_s = [record.arrived_s for record in records[first:] if record.arrived_s is not None]
    udp_s = by_udp[first].arrived_s or 0.0
    fresh = _first_fresh(records, by_udp, first)
    up, down = rival.traffic.up, rival.traffic.down
    switched_s = _switched_s(rival, loss_at_s)
    switched = None if switched_s is None else _first_from(records, switched_s)
    return Figures(
        silence_s=max(gaps_s, default=0.0),
        worst_delay_s=max((record.delay_s for record in records if record.delay_s is not None), default=0.0),
        lost=sum(record.arrived_us is None for record in records),
        later_than_udp_s=min(newer_s) - udp_s if newer_s else None,
        fresh_after_s=None if fresh is None else by_udp[fresh].due_s - by_udp[first].due_s,
        switched_after_s=None if switched_s is None else switched_s - case.handover.complete_s(case.seed),
        switched_delay_s=None if switched is None else records[switched].delay_s,
        udp_delay_s=None if switched is None else by_udp[switched].delay_s,
        again=rival.lane.again,
        late=rival.lane.late,
        packets=up.packets + down.packets,
        bytes=up.bytes + down.bytes,
    )


def _first_fresh(records: Sequence[Record], by_udp: Sequence[Record], first: int) -> int | None:
    for number in range(first, len(records)):
        if is_fresh(records[number], by_udp[number]):
            return number
    return None


def _switched_s(rival: Observed, loss_at_s: float) -> float | None:
    moments_s = (note.at_us / US_PER_S for note in rival.lane.notes if note.text.startswith(SWITCHED))
    return min((moment_s for moment_s in moments_s if moment_s >= loss_at_s), default=None)


def _first_from(records: Sequence[Record], moment_s: float) -> int | None:
    return next((number for number, record in enumerate(records) if record.due_s >= moment_s), None)
