# SPDX-License-Identifier: Apache-2.0
"""A saturated cell, access by access: what the formulas of saturation.py leave to chance, drawn."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from airbound_lab.medium_theory import bianchi
from airbound_lab.medium_theory.exchange import SLOT_NS, eifs_less_difs_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.medium_theory.ppdu import Band
    from airbound_lab.medium_theory.saturation import Senders

Contend = Callable[..., list[tuple[float, float]]]


@pytest.fixture(scope="session")
def contend() -> Contend:
    return drawn


@dataclass(slots=True)
class Sender:
    number: int
    senders: Senders
    window: int
    backoff: int = 0
    failures: int = 0

    def succeed(self, chance: random.Random) -> None:
        self.failures = 0
        self.window = self.senders.cw_min
        self.backoff = chance.randint(0, self.window)

    def fail(self, chance: random.Random) -> None:
        self.failures += 1
        if self.failures == bianchi.ATTEMPTS_MAX:
            self.succeed(chance)
            return
        self.window = min(2 * self.window + 1, self.senders.cw_max)
        self.backoff = chance.randint(0, self.window)


@dataclass(slots=True)
class Outcome:
    attempts: int = 0
    collided: int = 0
    payload_bits: int = 0


def drawn(classes: Sequence[Senders], band: Band, accesses: int, seed: int) -> list[tuple[float, float]]:
    """Payload in Mb/s and share of the attempts that collide, by class.

    The rules are those at the top of dcf_model.c: a queue sends AIFSN and its back-off after a SIFS; what is left of a
    back-off when somebody else begins stays for the next time; everybody waits for EIFS after a failure.
    """
    chance = random.Random(seed)  # noqa: S311
    senders = [
        Sender(number, class_, class_.cw_min) for number, class_ in enumerate(classes) for _ in range(class_.count)
    ]
    for sender in senders:
        sender.backoff = chance.randint(0, sender.window)
    outcomes = [Outcome() for _ in classes]
    now_ns = 0
    for _ in range(accesses):
        slot = min(sender.senders.aifsn + sender.backoff for sender in senders)
        sending = []
        for sender in senders:
            if sender.senders.aifsn + sender.backoff == slot:
                sending.append(sender)
            else:
                sender.backoff -= max(0, slot - sender.senders.aifsn)
        now_ns += band.sifs_ns + slot * SLOT_NS
        now_ns += access(sending, outcomes, band, chance)
    return [(outcome.payload_bits * 1000 / now_ns, outcome.collided / outcome.attempts) for outcome in outcomes]


def access(sending: list[Sender], outcomes: list[Outcome], band: Band, chance: random.Random) -> int:
    """Its duration, with EIFS after it if it failed."""
    for sender in sending:
        outcomes[sender.number].attempts += 1
    if len(sending) > 1:
        for sender in sending:
            outcomes[sender.number].collided += 1
            sender.fail(chance)
        return max(sender.senders.exchange.collision_ns for sender in sending) + eifs_less_difs_ns(band)
    (sender,) = sending
    exchange = sender.senders.exchange
    received = sum(chance.random() >= sender.senders.mpdu_loss for _ in range(exchange.mpdus))
    if not received:
        sender.fail(chance)
        return exchange.unanswered_ns + eifs_less_difs_ns(band)
    outcomes[sender.number].payload_bits += exchange.payload_bits * received // exchange.mpdus
    sender.succeed(chance)
    return exchange.success_ns
