# SPDX-License-Identifier: Apache-2.0
"""How many reports of a stream, lines of the log, or entries of one name's reports are taken in a second."""

import math
from collections.abc import Hashable

BUDGETS_MAX = 10_000


class RateLimit:
    """A token bucket: so many a second, and as many at once as come in two seconds."""

    __slots__ = ("_at_us", "_most", "_per_us", "_tokens")

    def __init__(self, per_s: float) -> None:
        self._per_us = per_s / 1e6
        self._tokens = self._most = max(1.0, 2 * per_s)
        self._at_us = 0

    def take(self, now_us: int) -> bool:
        """Whether one more is within the limit."""
        tokens = self._tokens + (now_us - self._at_us) * self._per_us
        self._at_us = now_us
        tokens = min(tokens, self._most)
        if tokens < 1:
            self._tokens = tokens
            return False
        self._tokens = tokens - 1
        return True


class Budget:
    """So many a second, and as many at once, of what is known only after it was taken: who has something left may
    take more than that once.
    """

    __slots__ = ("_at_us", "_most", "_per_us", "_tokens", "per_s")

    def __init__(self, per_s: float) -> None:
        self.per_s = per_s
        self._per_us = per_s / 1e6
        self._tokens = self._most = per_s
        self._at_us = 0

    def left(self, now_us: int) -> bool:
        """Whether there is something left."""
        self._tokens = min(self._tokens + (now_us - self._at_us) * self._per_us, self._most)
        self._at_us = now_us
        return self._tokens > 0

    def taken(self) -> int:
        """More than `per_s` if nothing is left."""
        return math.ceil(self.per_s - self._tokens)

    def spend(self, count: float) -> None:
        """So many were taken."""
        self._tokens -= count


class Budgets:
    """One for each of those that asked last."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[Hashable, Budget] = {}

    def budget(self, key: Hashable, per_s: float) -> Budget:
        """Of one, as it is or new."""
        budget = self._by_key.pop(key, None) or Budget(per_s)
        self._by_key[key] = budget
        if len(self._by_key) > BUDGETS_MAX:
            del self._by_key[next(iter(self._by_key))]  # asked longest ago
        return budget
