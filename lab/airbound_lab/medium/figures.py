# SPDX-License-Identifier: Apache-2.0
"""What the attempts of a part of a run say: how many contend, how many collide, how long an attempt takes; pure."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound_lab.medium.attempts import ACCESS_POINT, accesses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.medium.attempts import Attempt

NS_PER_MS, NS_PER_S = 1e6, 1e9
HEADING = [
    *("", "accesses/s", "contenders", "attempts that collide", "with the AP", "phone's attempt ms"),
    *("air: delivered", "collisions", "idle"),
]


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a trace; shares are of 1.

    An access is the moment at which one queue begins to send, or several, which then collide.
    """

    accesses_per_s: float
    contenders_shares: dict[int, float]
    """Of the accesses, by how many queues had a frame to send."""
    contenders_mean: float
    collided_attempts: float
    """Share of the attempts that collide."""
    with_access_point: float | None
    """Share of the collisions in which the access point has a part; None without any collision."""
    phone_attempt_ms: float | None
    """Mean air time of an attempt of a phone; None if no phone sent."""
    delivered_air: float
    collided_air: float
    """Shares of the time; the rest is idle: SIFS, AIFS and back-off."""


def figures(attempts: Sequence[Attempt]) -> Figures:
    """Return the figures of a trace that has an attempt at least."""
    together = accesses(attempts)
    length_ns = max(attempt.end_ns for attempt in attempts) - attempts[0].start_ns
    collisions = [access for access in together if len(access) > 1]
    by_phones_ns = [attempt.airtime_ns for attempt in attempts if attempt.station != ACCESS_POINT]
    count = Counter(access[0].contenders for access in together)
    return Figures(
        accesses_per_s=len(together) * NS_PER_S / length_ns,
        contenders_shares={contenders: count[contenders] / len(together) for contenders in sorted(count)},
        contenders_mean=statistics.fmean(access[0].contenders for access in together),
        collided_attempts=sum(attempt.outcome == "collision" for attempt in attempts) / len(attempts),
        with_access_point=(
            sum(access[0].station == ACCESS_POINT for access in collisions) / len(collisions) if collisions else None
        ),
        phone_attempt_ms=statistics.fmean(by_phones_ns) / NS_PER_MS if by_phones_ns else None,
        delivered_air=sum(access[0].airtime_ns for access in together if access[0].outcome == "delivered") / length_ns,
        collided_air=sum(max(attempt.airtime_ns for attempt in access) for access in collisions) / length_ns,
    )


def rows(named: Sequence[tuple[str, Figures]]) -> list[list[str]]:
    """Heading, and one row for each trace."""
    table = [HEADING]
    for name, trace_figures in named:
        shares = (
            trace_figures.delivered_air,
            trace_figures.collided_air,
            1 - trace_figures.delivered_air - trace_figures.collided_air,
        )
        table.append(
            [
                name,
                f"{trace_figures.accesses_per_s:.0f}",
                f"{trace_figures.contenders_mean:.1f}",
                f"{trace_figures.collided_attempts:.1%}",
                "-" if trace_figures.with_access_point is None else f"{trace_figures.with_access_point:.0%}",
                "-" if trace_figures.phone_attempt_ms is None else f"{trace_figures.phone_attempt_ms:.2f}",
                *(f"{share:.0%}" for share in shares),
            ]
        )
    return table


def typical_ns(attempts: Sequence[Attempt], length_ns: int) -> int:
    """The beginning of the stretch of that length which is most like the whole trace, so that none is picked by hand.

    Of stretches that follow one another, it is the one whose number of attempts, number of collided attempts and mean
    number of contenders differ least from the means of all: the sum of the three differences, each as a share of its
    mean. The beginning of the trace if it is shorter than one stretch.
    """
    first_ns = attempts[0].start_ns
    count = (attempts[-1].start_ns - first_ns) // length_ns
    if count == 0:
        return first_ns
    stretches: list[list[Attempt]] = [[] for _ in range(count)]
    for attempt in attempts:
        if (number := (attempt.start_ns - first_ns) // length_ns) < count:
            stretches[number].append(attempt)
    measures = [_measures(stretch) for stretch in stretches]
    means = [statistics.fmean(values) for values in zip(*measures, strict=True)]
    differences = [
        sum(abs(value - mean) / mean for value, mean in zip(measured, means, strict=True) if mean)
        for measured in measures
    ]
    return first_ns + differences.index(min(differences)) * length_ns


def _measures(stretch: Sequence[Attempt]) -> tuple[float, float, float]:
    return (
        len(stretch),
        sum(attempt.outcome == "collision" for attempt in stretch),
        statistics.fmean(attempt.contenders for attempt in stretch) if stretch else 0.0,
    )
