# SPDX-License-Identifier: Apache-2.0
"""What a saturated cell carries when each access sends an A-MPDU; pure. `bianchi.py`, extended by

- exchanges of any length: an access carries several MPDUs, a collision costs the whole PPDU or the RTS alone, and an
  A-MPDU of which nothing is received counts as a failure. So do Y. Lin, V. Wong: Frame Aggregation and Optimal Frame
  Size Adaptation for IEEE 802.11n WLANs (with loss by collisions and by noise, for one rate);
- classes with exchanges of their own: a collision lasts as long as its longest PPDU;
- AIFSN by class: in the slots between the shortest AIFS and its own a class neither sends nor counts down (J. Robinson,
  T. Randhawa: Saturation Throughput Analysis of IEEE 802.11e Enhanced Distributed Coordination Function. IEEE JSAC
  22(5), 2004: contention zones).

In Bianchi's model a back-off counter goes down in the slot in which somebody else sends. In the standard it does not:
the first slot after AIFS belongs to who has just sent, and draws 0. With `refined` that slot is counted apart, as in
I. Tinnirello, G. Bianchi, Y. Xiao: Refinements on IEEE 802.11 Distributed Coordination Function Modeling Approaches.
IEEE Transactions on Vehicular Technology, 2010; other than there also after a collision, since in the medium all
wait for EIFS. In total both are within 3 % of drawn accesses; for classes that differ in their windows Bianchi's is
within 12 % of each, the refined one within 2 %; in their AIFSN, Bianchi's within a quarter, the refined within a tenth.
With one class the refined one is within 1 %.

After a failure everybody waits for EIFS (which ends with AIFS), as in the lab's medium. Missing MPDUs of an A-MPDU are
sent again in the next ones, which are full all the same: the window of the block-ack session does not get stuck.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound_lab.medium_theory import bianchi
from airbound_lab.medium_theory.exchange import SLOT_NS, aifs_ns, eifs_less_difs_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.medium_theory.exchange import Exchange
    from airbound_lab.medium_theory.ppdu import Band

ROUNDS_MAX = 2000
STEP = 0.2
"""How far each round moves towards what the last one found: a whole step would oscillate with many stations."""
NEAR = 1e-13
"""The search ends when no probability changes by more."""


@dataclass(frozen=True, slots=True)
class Senders:
    """A class of stations (or access points) that always have something to send."""

    count: int
    exchange: Exchange
    aifsn: int = 3
    cw_min: int = bianchi.CW_MIN
    cw_max: int = bianchi.CW_MAX
    mpdu_loss: float = 0.0
    """Probability that an MPDU is lost to noise, independently of the others."""

    def __post_init__(self) -> None:
        """Raise ValueError for a class without a station, without AIFS or with an impossible probability."""
        if self.count < 1:
            raise ValueError(f"count: {self.count} is not a positive number")
        if self.aifsn < 1:
            raise ValueError(f"aifsn: {self.aifsn} is not a positive number")
        if not 0 <= self.mpdu_loss < 1:
            raise ValueError(f"mpdu_loss: {self.mpdu_loss} is not a probability below 1")

    @property
    def unanswered(self) -> float:
        """Probability that nothing of an A-MPDU is received although it was alone."""
        return self.mpdu_loss**self.exchange.mpdus


@dataclass(frozen=True, slots=True)
class Saturation:
    """A class in the cell's steady state."""

    payload_mbps: float
    """Of the class together."""
    attempt_probability: float
    """Of a station in a slot in which it may send."""
    collision_probability: float
    """Of an attempt: that it overlaps with another one."""
    airtime: float
    """Share of the time in which its exchanges that do not collide are on air."""


@dataclass(frozen=True, slots=True)
class _Backoff:
    """What a class does in the steady state."""

    attempt: float
    """Probability that a station sends in a slot in which it counts down."""
    after_success: float = 0.0
    after_failure: float = 0.0
    """Probability that it sends in the first slot after its own success or failure, when nobody else does."""


def saturation(*classes: Senders, band: Band, refined: bool = False) -> list[Saturation]:
    """The steady state, by class; refined as the head of this file describes.

    Raises:
        ValueError: no class.
    """
    if not classes:
        raise ValueError("no senders")
    taus = [2 / (senders.cw_min + 2) for senders in classes]
    backoff = _refined_backoff if refined else _plain_backoff
    first = min(senders.aifsn for senders in classes)
    for _ in range(ROUNDS_MAX):
        found = [
            backoff(senders, 1 - (1 - collision) * (1 - senders.unanswered), first=senders.aifsn == first)
            for senders, collision in zip(classes, _collisions(classes, taus), strict=True)
        ]
        errors = [result.attempt - tau for result, tau in zip(found, taus, strict=True)]
        taus = [tau + STEP * error for tau, error in zip(taus, errors, strict=True)]
        if max(map(abs, errors)) < NEAR:
            break
    return _figures(classes, taus, found, band, SLOT_NS if refined else 0)


def _plain_backoff(senders: Senders, failure: float, *, first: bool) -> _Backoff:
    del first
    return _Backoff(bianchi.attempt_probability(failure, senders.cw_min, senders.cw_max))


def _refined_backoff(senders: Senders, failure: float, *, first: bool) -> _Backoff:
    """With the first slot apart; a class that is not the first to have one shares it with the earlier classes.

    Of a window of w slots a counter of 0 has the probability 1 / (w + 1), the others take (w + 1) / 2 slots on average.
    """
    windows = [min((senders.cw_min + 1 << doublings) - 1, senders.cw_max) for doublings in range(bianchi.ATTEMPTS_MAX)]
    attempts = slots = at_once = 0.0
    reach = 1.0
    for window, following in zip(windows, [*windows[1:], senders.cw_min], strict=True):
        zero = 1 / (following + 1) if first else 0.0
        attempts += reach
        slots += reach * ((window + 1) / 2 if first else window / 2 + 1 / (window + 1))
        at_once += reach * zero
        reach *= failure * (1 - zero)
    return _Backoff(attempts / slots, 1 / (senders.cw_min + 1) if first else 0.0, at_once / attempts)


def _figures(
    classes: Sequence[Senders], taus: Sequence[float], backoffs: Sequence[_Backoff], band: Band, first_slot_ns: int
) -> list[Saturation]:
    """What follows from the probabilities: all is counted per slot, busy or not.

    A busy slot ends with the first slot after it, and with what is sent there.
    """
    aifs = aifs_ns(band, min(senders.aifsn for senders in classes))
    mean_slot_ns = 0.0
    attempts, collided, carried = ([0.0] * len(classes) for _ in range(3))
    for share, sending in _slots(classes, taus):
        alone = _alone(classes, sending)
        slot_ns = _duration_ns(classes, sending, alone, band) + (1 - _idle(classes, sending)) * first_slot_ns
        for at, (senders, tau, own, backoff) in enumerate(zip(classes, sending, alone, backoffs, strict=True)):
            collisions = senders.count * tau - own
            again = own * (1 - senders.unanswered) * backoff.after_success
            again += (collisions + own * senders.unanswered) * backoff.after_failure
            again /= 1 - backoff.after_success
            slot_ns += again * (aifs + _exchange_ns(senders) + senders.unanswered * eifs_less_difs_ns(band))
            attempts[at] += share * (own + collisions + again)
            collided[at] += share * collisions
            carried[at] += share * (own + again)
        mean_slot_ns += share * slot_ns
    return [
        Saturation(
            payload_mbps=own * (1 - senders.mpdu_loss) * senders.exchange.payload_bits * 1000 / mean_slot_ns,
            attempt_probability=tau,
            collision_probability=max(0.0, lost / tried),
            airtime=own * _exchange_ns(senders) / mean_slot_ns,
        )
        for senders, own, tau, lost, tried in zip(classes, carried, taus, collided, attempts, strict=True)
    ]


def _slots(classes: Sequence[Senders], taus: Sequence[float]) -> list[tuple[float, list[float]]]:
    """The kinds of slot after an exchange: which share each is of, and the tau of each class in it.

    The first kinds are the single slots in which some classes still wait for their AIFS, the last one is all slots
    after these. A busy slot leads back to the first, an idle one to the next.
    """
    first, last = min(senders.aifsn for senders in classes), max(senders.aifsn for senders in classes)
    kinds = []
    reached = 1.0
    for aifsn in range(first, last + 1):
        sending = [tau if senders.aifsn <= aifsn else 0.0 for senders, tau in zip(classes, taus, strict=True)]
        idle = _idle(classes, sending)
        kinds.append((reached if aifsn < last else reached / (1 - idle), sending))
        reached *= idle
    total = math.fsum(weight for weight, _ in kinds)
    return [(weight / total, sending) for weight, sending in kinds]


def _collisions(classes: Sequence[Senders], taus: Sequence[float]) -> list[float]:
    """Of each class's attempts, the share that collides."""
    attempts = [0.0] * len(classes)
    alone = [0.0] * len(classes)
    for share, sending in _slots(classes, taus):
        for at, own in enumerate(_alone(classes, sending)):
            attempts[at] += share * classes[at].count * sending[at]
            alone[at] += share * own
    return [max(0.0, 1 - own / attempted) for own, attempted in zip(alone, attempts, strict=True)]


def _idle(classes: Sequence[Senders], sending: Sequence[float]) -> float:
    return math.prod((1 - tau) ** senders.count for senders, tau in zip(classes, sending, strict=True))


def _alone(classes: Sequence[Senders], sending: Sequence[float]) -> list[float]:
    """Probability, by class, that just one of its stations sends, and nobody else."""
    idle = _idle(classes, sending)
    return [senders.count * tau * idle / (1 - tau) for senders, tau in zip(classes, sending, strict=True)]


def _exchange_ns(senders: Senders) -> float:
    return (1 - senders.unanswered) * senders.exchange.success_ns + senders.unanswered * senders.exchange.unanswered_ns


def _duration_ns(classes: Sequence[Senders], sending: Sequence[float], alone: Sequence[float], band: Band) -> float:
    """Mean duration of a slot, busy or not, to the first slot after it in which anybody may send."""
    failure_ns = eifs_less_difs_ns(band)
    idle = _idle(classes, sending)
    total = idle * SLOT_NS + (1 - idle) * aifs_ns(band, min(senders.aifsn for senders in classes))
    # The longest of those that collide is of a class if nobody sends who would take longer, and one of the class does.
    nobody_longer = 1.0
    for senders, tau, own in sorted(
        zip(classes, sending, alone, strict=True), key=lambda row: row[0].exchange.collision_ns, reverse=True
    ):
        nobody = nobody_longer * (1 - tau) ** senders.count
        collided = nobody_longer - nobody - own
        nobody_longer = nobody
        total += collided * (senders.exchange.collision_ns + failure_ns)
        total += own * (_exchange_ns(senders) + senders.unanswered * failure_ns)
    return total
