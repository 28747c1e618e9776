# SPDX-License-Identifier: Apache-2.0
"""What is due when: a heap, so that neither an event nor a tick walks over what is not due.

An item has at most one entry that counts. Moving a deadline later costs nothing until its old time comes: then the item
is handed out and, being asked, sets its true deadline. Only moving one earlier adds an entry; the old one is skipped.
"""

import heapq
import itertools
from collections.abc import Iterator
from typing import Protocol


class Item(Protocol):
    """Has a deadline. Both attributes belong to Deadlines: time and number of its entry that counts, 0 without one."""

    due_us: int
    due_number: int


class Deadlines:
    """A heap of items by the time at which they are due, microseconds of the engine's clock."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Item]] = []
        self._count = itertools.count(1)  # between equal times: items are not compared

    def at(self, item: Item, due_us: int) -> None:
        """Hand the item out by `due_us` at the latest. A time that is later than its present one waits for that."""
        if item.due_us and item.due_us <= due_us:
            return
        item.due_us, item.due_number = due_us, next(self._count)
        heapq.heappush(self._heap, (due_us, item.due_number, item))

    def next_us(self) -> int | None:
        """The earliest time at which an item may be due; none if there is none."""
        while self._heap and self._heap[0][1] != self._heap[0][2].due_number:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now_us: int) -> Iterator[Item]:
        """Items whose time has come, each without an entry now. The caller enters an item again by `at`; a time that is
        past again is due at the next call, so that no call lasts for ever.
        """
        first_of_next_call = next(self._count)
        next_call = list[tuple[int, int, Item]]()
        try:
            while self._heap and self._heap[0][0] <= now_us:
                entry = heapq.heappop(self._heap)
                _, number, item = entry
                if number != item.due_number:
                    continue
                if number > first_of_next_call:
                    next_call.append(entry)
                    continue
                item.due_us = item.due_number = 0
                yield item
        finally:
            for entry in next_call:
                heapq.heappush(self._heap, entry)

    def forget(self, item: Item) -> None:
        """The item is gone: its entry is skipped when its time comes."""
        item.due_us = item.due_number = 0

    def __len__(self) -> int:
        return len(self._heap)
