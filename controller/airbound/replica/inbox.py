# SPDX-License-Identifier: Apache-2.0
"""Messages of other replicas, each once and in the order in which its sender numbered them.

While a Redis Cluster changes roles, a message may come twice (by both servers, or since its sender learnt of no
subscriber and sent it again), late (servers pass it on to one another), or not at all. A state machine without a clock:
time comes in, and messages come out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from airbound.v1 import replica_pb2

# For this long the messages behind a missing one wait for it. A sender tries again every 0.1 s while nobody listens,
# and servers of a Cluster pass messages on within milliseconds. Of a lease a tenth is lost by that.
MISSING_S = 0.7
EARLY_MAX = 10_000  # messages of one sender that wait
SENDERS_MAX = 1_000  # each start of a process is another one; the one that was silent for longest is forgotten


class _Early(NamedTuple):
    message: replica_pb2.ReplicaMessage
    at_s: float


@dataclass(slots=True)
class _Sender:
    next: int = 1  # the number of the message that is due
    early: dict[int, _Early] = field(default_factory=dict)  # by number; the one that is due is not there


class Overdue(NamedTuple):
    """Messages of a sender that are to be handled although others are missing before them."""

    sender: str
    missing: int
    messages: list[replica_pb2.ReplicaMessage]


@dataclass(slots=True)
class InboxCounts:
    """Messages, since the start."""

    received_total: int = 0  # to be handled, each once
    repeated_total: int = 0  # came again, or after they counted as missing; not handled
    reordered_total: int = 0  # handled after they had waited for an earlier one
    missing_total: int = 0  # did not come


class Inbox:
    """What came from each sender."""

    def __init__(self) -> None:
        self.counts = InboxCounts()
        self._senders: dict[str, _Sender] = {}

    def take(self, batch: replica_pb2.ReplicaMessages, now_s: float) -> Sequence[replica_pb2.ReplicaMessage]:
        """A batch arrived; the messages to be handled now, in order."""
        if not batch.number:  # of a sender that does not number
            self.counts.received_total += len(batch.messages)
            return batch.messages
        sender = self._sender(batch.sender)
        if batch.number == sender.next and not sender.early:
            sender.next += len(batch.messages)
            self.counts.received_total += len(batch.messages)
            return batch.messages
        for number, message in enumerate(batch.messages, batch.number):
            if number < sender.next or number in sender.early:
                self.counts.repeated_total += 1
            else:
                sender.early[number] = _Early(message, now_s)
        ready = self._in_order(sender, now_s)
        if len(sender.early) > EARLY_MAX:
            ready += self._up_to(sender, max(sender.early))
        return ready

    def overdue(self, now_s: float) -> list[Overdue]:
        """Messages that have waited for long enough: what is missing before them counts as lost."""
        found = []
        for name, sender in self._senders.items():
            waited = [number for number, early in sender.early.items() if early.at_s + MISSING_S <= now_s]
            if waited:
                before = self.counts.missing_total
                ready = self._up_to(sender, max(waited))
                found.append(Overdue(name, self.counts.missing_total - before, ready))
        return found

    @property
    def due_s(self) -> float | None:
        """When `overdue` is to be called; none if nothing waits."""
        times_s = [early.at_s for sender in self._senders.values() for early in sender.early.values()]
        return min(times_s) + MISSING_S if times_s else None

    def _sender(self, name: str) -> _Sender:
        sender = self._senders.pop(name, None) or _Sender()
        self._senders[name] = sender  # the last one heard is the last one in the dictionary
        if len(self._senders) > SENDERS_MAX:
            del self._senders[next(iter(self._senders))]
        return sender

    def _in_order(self, sender: _Sender, now_s: float) -> list[replica_pb2.ReplicaMessage]:
        """Take out what is due."""
        ready = []
        while (early := sender.early.pop(sender.next, None)) is not None:
            ready.append(early.message)
            sender.next += 1
            self.counts.received_total += 1
            self.counts.reordered_total += early.at_s < now_s
        return ready

    def _up_to(self, sender: _Sender, last: int) -> list[replica_pb2.ReplicaMessage]:
        """Take out what is early up to a number, and what is due after it."""
        ready = [sender.early.pop(number).message for number in sorted(sender.early) if number <= last]
        self.counts.received_total += len(ready)
        self.counts.reordered_total += len(ready)
        self.counts.missing_total += last + 1 - sender.next - len(ready)
        sender.next = last + 1
        return ready + self._in_order(sender, float("inf"))
