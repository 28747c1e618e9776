# SPDX-License-Identifier: Apache-2.0
"""Open streams and the certificates that they were opened with. TLS looks at a certificate at the handshake only: an
open stream outlives its certificate and a revocation unless somebody ends it.
"""

import asyncio
import contextlib
import heapq
import itertools
from collections.abc import Callable, Iterator

from airbound.core.reasons import Code, Reason
from airbound.grpc.peers import Close
from airbound.pki.certificates import Certificate, serial_text

# The clock of certificates may be set while the timer runs.
SLEEP_MAX_S = 30.0
EVENT_LOOP_S = 0.01


class CertifiedStreams:
    """Ends streams with their certificates. `now_s` is the time since 1970."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._numbers = itertools.count()
        self._open: dict[int, tuple[Certificate, Close]] = {}
        self._by_serial: dict[int, set[int]] = {}
        self._ends: list[tuple[int, int]] = []  # (not_after_s, number), a heap; closed streams leave theirs behind
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """How many there are."""
        return len(self._open)

    @contextlib.contextmanager
    def during(self, certificate: Certificate, close: Close) -> Iterator[None]:
        """Within this, `close` is called once if the certificate ends or is revoked."""
        number = next(self._numbers)
        self._open[number] = certificate, close
        self._by_serial.setdefault(certificate.serial, set()).add(number)
        heapq.heappush(self._ends, (certificate.not_after_s, number))
        if self._timer is not None and self._ends[0][1] == number:  # none ends sooner
            self._timer.cancel()
            self._timer = None
        self._set_timer()
        try:
            yield
        finally:
            self._forget(number)
            self._set_timer()

    def revoked(self, serials: frozenset[int]) -> int:
        """End the streams of certificates that are revoked; how many."""
        numbers = [number for serial in serials for number in self._by_serial.get(serial, ())]
        for number in numbers:
            certificate, _ = self._open[number]
            self._end(number, Reason(Code.CERTIFICATE_REVOKED, serial_text(certificate.serial)))
        return len(numbers)

    def _end(self, number: int, reason: Reason) -> None:
        _, close = self._open[number]
        self._forget(number)
        close(reason)

    def _forget(self, number: int) -> None:
        found = self._open.pop(number, None)
        if found is None:
            return
        serial = found[0].serial
        self._by_serial[serial].discard(number)
        if not self._by_serial[serial]:
            del self._by_serial[serial]
        if len(self._ends) > 2 * len(self._open) + 100:  # mostly of streams that are closed
            self._ends = [(certificate.not_after_s, number) for number, (certificate, _) in self._open.items()]
            heapq.heapify(self._ends)

    def check(self) -> None:
        """End the streams whose certificates are over."""
        now_s = self._now_s()
        while self._ends and (self._ends[0][1] not in self._open or self._ends[0][0] <= now_s):
            not_after_s, number = heapq.heappop(self._ends)
            if number in self._open:
                self._end(number, Reason(Code.CERTIFICATE_EXPIRED, after=not_after_s))

    def _set_timer(self) -> None:
        if not self._open:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._sleep_s(), self._wake)

    def _sleep_s(self) -> float:
        left_s = self._ends[0][0] - self._now_s() if self._ends else SLEEP_MAX_S
        return min(SLEEP_MAX_S, max(EVENT_LOOP_S, left_s))

    def _wake(self) -> None:
        self._timer = None
        self.check()
        self._set_timer()
