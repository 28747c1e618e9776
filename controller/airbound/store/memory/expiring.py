# SPDX-License-Identifier: Apache-2.0
"""A mapping whose entries end, each at its time. Times are milliseconds of any one clock."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

NEVER = 1 << 62
_FEW = 64


class Expiring(Generic[K, V]):
    """Entries with an end. What has ended is not returned, and is removed before the mapping is twice as large as when
    it was last looked through: so a write costs the same on average, however many entries there are.
    """

    __slots__ = ("_entries", "_limit", "_now_ms")

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._entries: dict[K, tuple[V, int]] = {}
        self._limit = _FEW

    def __len__(self) -> int:
        """How many entries there are, with those that have ended and are still to be removed."""
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value, or none."""
        entry = self._entries.get(key)
        return entry[0] if entry is not None and self._now_ms() < entry[1] else None

    def left_ms(self, key: K) -> int:
        """How long an entry still has; 0 if there is none."""
        entry = self._entries.get(key)
        return max(0, entry[1] - self._now_ms()) if entry is not None else 0

    def set(self, key: K, value: V, ends_ms: int = NEVER) -> None:
        """Write an entry that ends at that time."""
        self._entries[key] = value, ends_ms
        if len(self._entries) > self._limit:
            self.purge()

    def remove(self, key: K) -> bool:
        """Remove an entry; whether there was one."""
        entry = self._entries.pop(key, None)
        return entry is not None and self._now_ms() < entry[1]

    def items(self) -> Iterator[tuple[K, V]]:
        """All entries, in the order in which they were first written."""
        now_ms = self._now_ms()
        return ((key, value) for key, (value, ends_ms) in self._entries.items() if now_ms < ends_ms)

    def purge(self) -> int:
        """Remove what has ended; how many entries are left."""
        now_ms = self._now_ms()
        self._entries = {key: entry for key, entry in self._entries.items() if now_ms < entry[1]}
        self._limit = max(_FEW, 2 * len(self._entries))
        return len(self._entries)
