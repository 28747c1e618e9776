# SPDX-License-Identifier: Apache-2.0
"""What a run's record says: requests, bytes and time of an insert, reads of a select, what a cut left; pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from airbound_lab.io_study.records import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.io_study.design import Case
    from airbound_lab.io_study.devices import Times
    from airbound_lab.io_study.records import Request

NS_PER_S = 1e9
KIB_SECTORS = 2
INSERT, SELECT, SELECT_COLD = "insert", "select", "select-cold"


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of a run."""

    case: Case
    inserts_per_s: float
    requests_per_insert: float
    flushes_per_insert: float
    kib_per_insert: float
    predicted_inserts_per_s: float
    """By `predicted_s`."""
    reads_warm: int
    """Of all selects after the inserts."""
    reads_cold: int
    """Of one select after the cache was dropped."""


def measured(case: Case, result: dict[str, Any], requests: Sequence[Request], times: Times) -> Measured:
    """Return the figures of a run from the guest's result and the kernel's record."""
    inserting = [request for request in requests if request.phase == INSERT]
    seconds = result["insert_ns"] / NS_PER_S
    kinds = Counter(request.kind for request in inserting)
    reads = Counter(request.phase for request in requests if request.kind is Kind.READ)
    return Measured(
        case=case,
        inserts_per_s=case.rows / seconds,
        requests_per_insert=len(inserting) / case.rows,
        flushes_per_insert=kinds[Kind.FLUSH] / case.rows,
        kib_per_insert=sum(r.sectors for r in inserting if r.kind is Kind.WRITE) / KIB_SECTORS / case.rows,
        predicted_inserts_per_s=case.rows / predicted_s(inserting, times) if inserting else 0.0,
        reads_warm=reads[SELECT],
        reads_cold=reads[SELECT_COLD],
    )


def predicted_s(requests: Sequence[Request], times: Times) -> float:
    """Return how long the requests take one after the other, by the device's times alone.

    Every write is taken for one that does not go on where the last one ended, in a unit that is open, or a third of
    the disk and half a turn away.
    """
    total_ns = 0.0
    away_ns = times.jump_ns + times.turn_ns / 2 + times.seek_ns + 0.577 * (times.seek_most_ns - times.seek_ns)
    for request in requests:
        kib = -(-request.sectors // KIB_SECTORS)
        programming_ns = kib * times.program_kib_ns + away_ns
        if request.kind is Kind.READ:
            total_ns += times.read_ns + kib * times.read_kib_ns
        elif request.kind is Kind.FLUSH:
            total_ns += times.flush_ns
        elif request.kind is Kind.WRITE:
            # What is cached now is programmed by a later flush, which waits for it.
            total_ns += times.write_ns + kib * times.write_kib_ns + programming_ns
        else:
            total_ns += times.discard_ns
    return total_ns / NS_PER_S


class Outcome(Enum):
    """What a cut of the power left of the database."""

    WHOLE = "whole"
    """Every row that was committed, and at most the transaction that was under way."""
    LOST = "lost"
    """Less than was committed, but what is there is right."""
    DAMAGED = "damaged"
    """SQLite finds errors, or rows that nobody wrote."""


def outcome(case: Case, cut: dict[str, Any]) -> Outcome:
    """Return what a cut left."""
    table_was_made = cut["committed"] > 0 or cut["verdict"] == "ok"
    if cut["verdict"] != "ok" or not cut["in_order"]:
        return Outcome.DAMAGED if table_was_made else Outcome.WHOLE
    if cut["rows"] < cut["committed"]:
        return Outcome.LOST
    return Outcome.WHOLE if cut["rows"] <= cut["committed"] + case.rows_per_transaction else Outcome.DAMAGED


def outcomes(case: Case, cuts: Sequence[dict[str, Any]]) -> Counter[Outcome]:
    """Count what the cuts left."""
    return Counter(outcome(case, cut) for cut in cuts)
