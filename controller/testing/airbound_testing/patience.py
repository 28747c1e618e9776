# SPDX-License-Identifier: Apache-2.0
"""For how long an agent waits for an answer to its reports: as internal/controllerclient/answers.go."""

import math
from collections import deque

LIMIT_MIN_S, LIMIT_MAX_S = 2.0, 10.0
FACTOR = 3
DELAYS_KEPT = 8


class Patience:
    """Of one agent, over all of its streams. Times are seconds of any one clock; `slowness` multiplies the limits."""

    def __init__(self, slowness: int = 1) -> None:
        self._slowness = slowness
        self._delays = deque[float](maxlen=DELAYS_KEPT)
        self._since_s = math.inf  # the first report after which nothing came
        self._answers = False

    def opened(self) -> None:
        """A stream begins; whether its controller answers is not known yet."""
        self._since_s, self._answers = math.inf, False

    def sent(self, now_s: float) -> None:
        """A report was sent."""
        self._since_s = min(self._since_s, now_s)

    def received(self, now_s: float, *, answer: bool) -> None:
        """Something came; an answer or a command."""
        if self._since_s < math.inf:
            self._delays.append(now_s - self._since_s)
        self._since_s, self._answers = math.inf, self._answers or answer

    def left_s(self, now_s: float) -> float:
        """Until the stream is to be given up."""
        if not self._answers:
            return math.inf
        limit_s = max(LIMIT_MIN_S * self._slowness, FACTOR * max(self._delays, default=0.0))
        return self._since_s + min(limit_s, LIMIT_MAX_S * self._slowness) - now_s
