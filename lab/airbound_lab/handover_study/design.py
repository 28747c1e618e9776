# SPDX-License-Identifier: Apache-2.0
"""Which handovers are run, and over which of them each rival sends its records; pure.

The handovers are those that Nishikawa and Shiroshima saw from trains (2015, section 3): a queue before, everything
lost, then held until the handover completes, a queue after. lab/handover/path has the path itself.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass

from airbound_lab.errors import UsageError

RIVALS = {
    "udp": "UDP, the limit: what is lost never arrives",
    "tcp": "the kernel's TCP",
    "tcp-thin": "TCP, its timeout not doubled while fewer than four packets are in flight (tcp_thin_linear_timeouts)",
    "tcp-user-timeout": "TCP, given up after 3 s without an acknowledgement (TCP_USER_TIMEOUT), and connected again",
    "quic": "QUIC, one stream",
    "quic-migration": "QUIC, which migrates to another port when the handover is complete",
    "library": "phone-agent/handover without any event",
    "library-method": "phone-agent/handover, the paper's method alone: an event and a notice",
    "library-event": "phone-agent/handover, which switches when the handover is complete",
    "library-newest": "the same, newest records first",
    "connections": "each record over the next of 100 TCP connections (the paper's [5])",
}
"""By the names of lab/handover/rival."""
LIMIT, PLAIN = "udp", "tcp"
"""What the others are compared with."""

PERIOD_S = 0.1
"""The paper's: a record each 100 ms."""
LOSS_FROM_S = 20.0
LOSS_WITHIN_S = 2.0
"""When the losses begin is drawn from these two seconds: what a retransmission timer does depends on it."""
AFTER_COMPLETION_S = 20.0
"""For how long records are sent after the handover is complete."""
DRAIN_S = 150.0
"""For how long they may arrive after that: longer than the longest timeout of TCP, 120 s."""
JITTER_S = 0.01


@dataclass(frozen=True, slots=True, order=True)
class Handover:
    """One kind of handover; seconds, but for the round trip's milliseconds."""

    rtt_ms: float
    before_s: float
    lost_s: float
    held_s: float
    after_s: float
    down_shift_s: float

    def __str__(self) -> str:
        """Return its name in messages."""
        return (
            f"{self.rtt_ms:g} ms, queue {self.before_s:g} s, lost {self.lost_s:g} s, held {self.held_s:g} s, "
            f"queue {self.after_s:g} s after, down {self.down_shift_s:+g} s"
        )

    def loss_at_s(self, seed: int) -> float:
        """When the losses up begin, since the first record."""
        drawn = int.from_bytes(hashlib.sha256(f"loss {seed}".encode()).digest()[:8])
        return LOSS_FROM_S + LOSS_WITHIN_S * drawn / 2**64

    def complete_s(self, seed: int) -> float:
        """When the handover is complete."""
        return self.loss_at_s(seed) + self.lost_s + self.held_s

    def records(self) -> int:
        """How many records are sent."""
        end_s = LOSS_FROM_S + LOSS_WITHIN_S + self.lost_s + self.held_s + AFTER_COMPLETION_S
        return round(end_s / PERIOD_S)


@dataclass(frozen=True, slots=True)
class Case:
    """A handover with a seed: every rival is run over the same."""

    handover: Handover
    seed: int

    def __str__(self) -> str:
        """Return its name in messages."""
        return f"{self.handover}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Design:
    """All combinations of these, with every rival."""

    rtts_ms: tuple[float, ...] = (50.0, 256.0)
    lost_s: tuple[float, ...] = (1.0, 2.0, 3.0, 5.0, 10.0)
    before_s: tuple[float, ...] = (0.0, 1.0, 4.0)
    held_s: tuple[float, ...] = (0.0,)
    after_s: tuple[float, ...] = (0.0,)
    down_shifts_s: tuple[float, ...] = (0.0,)
    rivals: tuple[str, ...] = tuple(RIVALS)
    seeds: tuple[int, ...] = (1, 2, 3)
    ipv6: bool = False

    def check(self) -> None:
        """Raise UsageError if something is unknown, there twice, or impossible."""
        for option, given in (
            ("--rtts", self.rtts_ms),
            ("--lost", self.lost_s),
            ("--before", self.before_s),
            ("--held", self.held_s),
            ("--after", self.after_s),
            ("--down-shifts", self.down_shifts_s),
            ("--rivals", self.rivals),
            ("--seeds", self.seeds),
        ):
            if len(set(given)) != len(given):
                raise UsageError(f"{option}: each only once")
        for name in self.rivals:
            if name not in RIVALS:
                raise UsageError(f"--rivals: {name!r} is none of {', '.join(RIVALS)}")
        for name in (LIMIT, PLAIN):
            if name not in self.rivals:
                raise UsageError(f"--rivals: {name} is needed, the others are compared with it")
        self._check_values()

    def _check_values(self) -> None:
        for option, values, most in (
            ("--rtts", self.rtts_ms, 1000.0),
            ("--lost", self.lost_s, 60.0),
            ("--before", self.before_s, 5.0),
            ("--held", self.held_s, 60.0),
            ("--after", self.after_s, 30.0),
        ):
            for value in values:
                if not 0 <= value <= most:
                    raise UsageError(f"{option}: {value:g} is not from 0 to {most:g}")
        for shift_s in self.down_shifts_s:
            if abs(shift_s) > min(self.lost_s):
                raise UsageError(f"--down-shifts: {shift_s:g} is more than the shortest outage, {min(self.lost_s):g} s")

    def handovers(self) -> list[Handover]:
        """Return all kinds of handovers."""
        axes = (self.rtts_ms, self.before_s, self.lost_s, self.held_s, self.after_s, self.down_shifts_s)
        return [Handover(*values) for values in itertools.product(*axes)]

    def cases(self) -> list[Case]:
        """All handovers with all seeds."""
        return [Case(handover, seed) for handover in self.handovers() for seed in self.seeds]
