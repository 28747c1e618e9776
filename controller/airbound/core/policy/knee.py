# SPDX-License-Identifier: Apache-2.0
"""A search for the length of an aggregate at which more delay carries no more: one factor for a cell, by which the
formula's aggregates are multiplied. The best length depends on what no report says (RTS, A-MSDU, firmware that splits
aggregates, how many collide), so it is tried out.

    score = ln(carried) - delay_weight x ln(RTT)      means over MEASURED_US, after SETTLED_US without counting

One trial: the factor times STEP, or over it, for as long as a measurement takes. If its score is better by more than
MARGIN the factor stays and the next trial goes the same way; if not, the factor is as before. After both ways have
failed in a row it rests, for RESTS_US the first time, twice as long each time after that. It begins anew, from where it
is, when the number of senders or the fastest rate changed; and goes back to 1 after FORGOTTEN_US without senders. While
no round trips are known, as in observe mode, it waits; and after that for as long again, RESUMES_US at most: windows
that grew meanwhile have left a queue, and the factor is not to be measured by how long that takes to drain.

So in a cell in which nothing changes there are at most log(LARGEST / SMALLEST) / log(STEP) steps that stay, each trial
that fails is undone by the next report, and between two rests at most two trials fail: it does not oscillate.
"""

import math
from dataclasses import dataclass, field
from enum import Enum

from airbound.core.policy.types import CellFacts

STEP = 1.25
SMALLEST, LARGEST = 0.5, 4.0
MARGIN = 0.01
SETTLED_US, MEASURED_US = 1_000_000, 2_000_000
RESTS_US, RESTS_MOST_US = 30_000_000, 240_000_000
RESUMES_US = 10_000_000
FORGOTTEN_US = 60_000_000
RATE_CHANGE = 1.2
SENDERS_LEAST = 2
WAYS = 2  # up and down
FULL = 0.7  # of the cell's capacity, that it carries; below, nothing is learned


class State(Enum):
    """What is going on."""

    WATCHES = "watches"  # measures the factor as it is
    TRIES = "tries"  # measures another
    RESTS = "rests"


@dataclass(slots=True)
class Measurement:
    """Sums over reports."""

    since_us: int
    count: int = 0
    carried_bps: float = 0.0
    rtt_us: float = 0.0

    def take(self, facts: CellFacts) -> None:
        """Count a report."""
        self.count += 1
        self.carried_bps += facts.uplink_bps + facts.downlink_bps
        self.rtt_us += facts.rtt_us

    def score(self, delay_weight: float) -> float:
        """Of their means."""
        return math.log(self.carried_bps / self.count) - delay_weight * math.log(self.rtt_us / self.count)


@dataclass(slots=True)
class Knee:
    """Of one cell."""

    delay_weight: float
    factor: float = 1.0
    state: State = State.WATCHES
    steps_total: int = 0  # that stayed
    trials_total: int = 0
    _kept: float = 1.0  # the factor, but for a trial
    _score: float = 0.0  # of `_kept`
    _upward: bool = True
    _failed: int = 0  # ways in a row
    _rest_us: int = RESTS_US
    _until_us: int = 0
    _measured: Measurement = field(default_factory=lambda: Measurement(0))
    _conditions: tuple[int, float] = (0, 0.0)
    _seen_us: int = 0
    _waits_since_us: int | None = None
    _resumes_at_us: int = 0

    def observe(self, facts: CellFacts, now_us: int) -> bool:
        """Take in a report; whether the factor changed."""
        before = self.factor
        self._observe(facts, now_us)
        return self.factor != before

    def _observe(self, facts: CellFacts, now_us: int) -> None:
        if not facts.active_senders:
            if now_us - self._seen_us > FORGOTTEN_US:
                self.factor = self._kept = 1.0
                self._watch(now_us)
            return
        self._seen_us = now_us
        senders, rate_bps = self._conditions
        changed = facts.active_senders != senders
        changed |= not rate_bps / RATE_CHANGE <= facts.fastest_bps <= rate_bps * RATE_CHANGE
        waits = self._waits(facts, now_us)
        if waits and not changed:
            if self.state is not State.RESTS:
                self.factor = self._kept
                self._watch(now_us)
            return
        if changed or not self._is_full(facts):
            self._conditions = facts.active_senders, facts.fastest_bps
            self.factor = self._kept
            self._rest_us = RESTS_US
            self._watch(now_us)
            return
        if self.state is State.RESTS:
            if now_us >= self._until_us:
                self._watch(now_us)
            return
        elapsed_us = now_us - self._measured.since_us
        if elapsed_us <= SETTLED_US:
            return
        self._measured.take(facts)
        if elapsed_us >= SETTLED_US + MEASURED_US:
            self._conclude(now_us)

    def _waits(self, facts: CellFacts, now_us: int) -> bool:
        """Whether round trips are unknown, or were until just now."""
        if facts.rtt_us <= 0:
            if self._waits_since_us is None:
                self._waits_since_us = now_us
            self._resumes_at_us = now_us + min(now_us - self._waits_since_us, RESUMES_US)
            return True
        self._waits_since_us = None
        return now_us < self._resumes_at_us

    @staticmethod
    def _is_full(facts: CellFacts) -> bool:
        carried_bps = facts.uplink_bps + facts.downlink_bps
        return facts.active_senders >= SENDERS_LEAST and carried_bps > FULL * facts.capacity_bps

    def _watch(self, now_us: int) -> None:
        self.state, self._measured, self._failed = State.WATCHES, Measurement(now_us), 0

    def _conclude(self, now_us: int) -> None:
        score = self._measured.score(self.delay_weight)
        if self.state is State.WATCHES:
            self._score = score
        elif score > self._score + MARGIN:
            self._kept, self._score, self._failed = self.factor, score, 0
            self.steps_total += 1
        else:
            self._failed += 1
            self._upward = not self._upward
        self._try(now_us)

    def _try(self, now_us: int) -> None:
        """The next trial, or a rest if neither way is better."""
        for _ in range(WAYS):
            if self._failed >= WAYS:
                break
            factor = self._kept * STEP if self._upward else self._kept / STEP
            if SMALLEST <= factor <= LARGEST:
                self.factor, self.state, self._measured = factor, State.TRIES, Measurement(now_us)
                self.trials_total += 1
                return
            self._failed += 1
            self._upward = not self._upward
        self.factor, self.state, self._failed = self._kept, State.RESTS, 0
        self._until_us = now_us + self._rest_us
        self._rest_us = min(2 * self._rest_us, RESTS_MOST_US)
