# SPDX-License-Identifier: Apache-2.0
"""How many reports of a stream, or lines of the log, are taken in a second."""


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
