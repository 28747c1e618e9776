# SPDX-License-Identifier: Apache-2.0
"""Messages that come twice, late, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound.replica import inbox as module
from airbound.replica.inbox import MISSING_S, Inbox, Overdue
from airbound.v1 import replica_pb2

SOON_S, LATE_S = MISSING_S / 2, MISSING_S + 0.001


def _batch(number: int, count: int = 1, sender: str = "a") -> replica_pb2.ReplicaMessages:
    """Messages whose stream is their number."""
    messages = [_message(stream) for stream in range(number, number + count)]
    return replica_pb2.ReplicaMessages(sender=sender, number=number, messages=messages)


def _message(stream: int) -> replica_pb2.ReplicaMessage:
    return replica_pb2.ReplicaMessage(stream_closed=replica_pb2.StreamClosed(stream=stream))


class _Inbox:
    """An inbox, and what was handled."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.handled: list[int] = []

    def take(self, number: int, count: int = 1, sender: str = "a", at_s: float = 0.0) -> None:
        messages = self.inbox.take(_batch(number, count, sender), at_s)
        self.handled += [message.stream_closed.stream for message in messages]

    def wait(self, until_s: float) -> list[Overdue]:
        late = self.inbox.overdue(until_s)
        self.handled += [message.stream_closed.stream for each in late for message in each.messages]
        return late

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Received, repeated, reordered, missing."""
        counts = self.inbox.counts
        return counts.received_total, counts.repeated_total, counts.reordered_total, counts.missing_total


def test_messages_that_come_in_order_are_handled_at_once() -> None:
    a = _Inbox()
    a.take(1, 3)
    a.take(4)
    assert (a.handled, a.counts, a.inbox.due_s) == ([1, 2, 3, 4], (4, 0, 0, 0), None)


def test_messages_that_come_again_are_handled_once() -> None:
    a = _Inbox()
    a.take(1, 3)
    a.take(1, 3)
    a.take(2, 4)  # sent again, with those that came meanwhile
    assert (a.handled, a.counts) == ([1, 2, 3, 4, 5], (5, 5, 0, 0))


def test_a_message_that_is_overtaken_is_handled_first() -> None:
    a = _Inbox()
    a.take(3, 2)
    assert a.handled == []
    a.take(1, 2, at_s=SOON_S)
    assert (a.handled, a.counts, a.inbox.due_s) == ([1, 2, 3, 4], (4, 0, 2, 0), None)


def test_messages_of_other_senders_do_not_wait() -> None:
    a = _Inbox()
    a.take(2, sender="a")
    a.take(1, 2, sender="b")
    assert a.handled == [1, 2]


def test_what_does_not_come_is_waited_for_and_counted() -> None:
    a = _Inbox()
    a.take(1)
    a.take(4, at_s=1.0)
    a.take(6, at_s=1.0 + SOON_S)
    assert a.inbox.due_s == 1.0 + MISSING_S
    assert a.wait(1.0 + SOON_S) == []
    assert a.wait(1.0 + LATE_S) == [Overdue("a", 2, [_message(4)])]
    assert (a.handled, a.counts) == ([1, 4], (2, 0, 1, 2))
    assert a.inbox.due_s == pytest.approx(1.0 + SOON_S + MISSING_S)
    a.take(5, at_s=2.0)  # in time
    a.take(2, 2, at_s=2.0)  # too late
    assert (a.handled, a.counts, a.inbox.due_s) == ([1, 4, 5, 6], (4, 2, 2, 2), None)


def test_what_is_due_behind_a_late_message_does_not_wait_again() -> None:
    a = _Inbox()
    a.take(2, at_s=0.0)
    a.take(3, at_s=SOON_S)
    assert a.wait(LATE_S) == [Overdue("a", 1, [_message(2), _message(3)])]
    assert a.inbox.due_s is None


def test_a_sender_that_does_not_number_is_handled_as_it_comes() -> None:
    a = Inbox()
    for _ in range(2):
        assert list(a.take(replica_pb2.ReplicaMessages(sender="old", messages=[_message(7)]), 0.0)) == [_message(7)]
    assert a.counts.received_total == 2


def test_too_many_messages_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EARLY_MAX", 3)
    a = _Inbox()
    a.take(2, 3)
    assert a.handled == []
    a.take(6)
    assert (a.handled, a.counts, a.inbox.due_s) == ([2, 3, 4, 6], (4, 0, 4, 2), None)


def test_the_sender_that_was_silent_for_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SENDERS_MAX", 2)
    a = _Inbox()
    for number, sender in ((1, "a"), (1, "b"), (2, "a"), (1, "c")):
        a.take(number, sender=sender)
    a.take(2, sender="a")  # which is known
    a.take(1, sender="b")  # which is not
    assert a.handled == [1, 1, 2, 1, 1]


@given(st.data())
def test_whatever_the_way_does_each_is_handled_once_and_in_order(data: st.DataObject) -> None:
    """Batches in any order, repeated and lost, at any times."""
    count = data.draw(st.integers(1, 12))
    batches = st.tuples(st.integers(1, count), st.integers(1, 4), st.floats(0, MISSING_S))
    a, now_s = _Inbox(), 0.0
    came = set[int]()
    for number, size, later_s in data.draw(st.lists(batches, max_size=30)):
        now_s += later_s
        a.wait(now_s)
        a.take(number, size, at_s=now_s)
        came |= set(range(number, number + size))
    a.wait(now_s + LATE_S)
    received, _, _, missing = a.counts
    assert a.handled == sorted(set(a.handled))
    assert set(a.handled) <= came
    assert received == len(a.handled)
    assert received + missing == max(came, default=0)
    assert a.inbox.due_s is None


@given(st.permutations(range(1, 9)), st.lists(st.integers(1, 8), max_size=8))
def test_what_comes_in_time_is_handled_whatever_the_order(order: list[int], again: list[int]) -> None:
    a = _Inbox()
    for number in [*order, *again]:
        a.take(number)
    assert a.handled == list(range(1, 9))
    assert a.counts[0::3] == (8, 0)
