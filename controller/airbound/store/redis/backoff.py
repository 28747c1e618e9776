# SPDX-License-Identifier: Apache-2.0
"""How long to wait before the next attempt."""

import random

_FIRST_S, _MOST_S = 0.05, 0.5
_DOUBLED_MOST = 10


class Backoff:
    """Twice as long after each failure, up to half a second, and half of it at random: replicas that lost the same
    server do not come back in step. A lease is a few seconds, so that the search for a new master must not be slower.
    """

    __slots__ = ("_failures",)

    def __init__(self) -> None:
        self._failures = 0

    def next_s(self) -> float:
        """The time to wait after one more failure, in seconds."""
        most_s: float = min(_MOST_S, _FIRST_S * 2.0 ** min(self._failures, _DOUBLED_MOST))
        self._failures += 1
        return most_s * random.uniform(0.5, 1.0)  # noqa: S311  # no secret

    def reset(self) -> None:
        """It succeeded."""
        self._failures = 0
