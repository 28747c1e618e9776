# SPDX-License-Identifier: Apache-2.0
"""Certificates that end before their time. The serial numbers are in memory: a stream is refused at its start without
asking the store, also while the store does not answer.
"""

import contextlib
from collections.abc import Callable, Iterable

from airbound.core.reasons import Code, Reason, RefusedError
from airbound.pki.certificates import Certificate, serial_of_text, serial_text
from airbound.pki.records import REVOKED, RecordError, Revoked, decoded, encoded
from airbound.store.types import Store, StoreError

Listener = Callable[[frozenset[int]], int]
"""Called with serial numbers that are revoked from now on; how many streams ended for it."""


# A certificate of which only the serial number is known may last as long as any that can be configured.
UNKNOWN_LIFETIME_S = 397 * 86_400


class Revocations:
    """Those that the store has. `now_s` is the time since 1970; `report` is called with what is wrong in the store."""

    def __init__(self, store: Store, now_s: Callable[[], float], report: Callable[[str], None]) -> None:
        self._store = store
        self._now_s = now_s
        self._report = report
        self._not_after_s: dict[int, int] = {}
        self._listeners: list[Listener] = []
        self._announce: list[Callable[[frozenset[int]], None]] = []

    def listen(self, listener: Listener) -> None:
        """Have streams of this process ended."""
        self._listeners.append(listener)

    def announce(self, announce: Callable[[frozenset[int]], None]) -> None:
        """Have other replicas informed: `announce` is called with what was revoked here, and each other replica is to
        call its own `revoked`.
        """
        self._announce.append(announce)

    def check(self, certificate: Certificate) -> None:
        """See that a certificate is neither revoked nor over.

        Raises:
            RefusedError: it is.
        """
        if certificate.serial in self._not_after_s:
            raise RefusedError(Reason(Code.CERTIFICATE_REVOKED, serial_text(certificate.serial)))
        if self._now_s() >= certificate.not_after_s:
            raise RefusedError(Reason(Code.CERTIFICATE_EXPIRED, after=certificate.not_after_s))

    def is_revoked(self, serial: int) -> bool:
        """Whether a certificate is."""
        return serial in self._not_after_s

    def __len__(self) -> int:
        """How many are, as far as is known here."""
        return len(self._not_after_s)

    async def load(self) -> None:
        """Read what the store has: at the start, now and then, and whenever messages may have been lost.

        Raises:
            StoreError: the store does not answer; what was known stays in force.
        """
        found: dict[int, int] = {}
        for name, value in (await self._store.records(REVOKED)).items():
            try:
                found[serial_of_text(name)] = decoded(Revoked, value).not_after_s
            except (RecordError, ValueError) as error:
                self._report(f"{REVOKED} {name}: {error}; it is ignored")
        fresh = found.keys() - self._not_after_s.keys()
        # What is not in the store any more has ended; or was revoked while we read, and is put there again by `add`.
        now_s = self._now_s()
        self._not_after_s = {
            serial: not_after_s
            for serial, not_after_s in (self._not_after_s | found).items()
            if not_after_s > now_s or serial in found
        }
        self._end(frozenset(fresh))

    async def load_or_log(self) -> bool:
        """As `load`; an error is reported. Whether it was read."""
        try:
            await self.load()
        except StoreError as error:
            self._report(f"revocations not read: {error}; those known so far stay in force")
            return False
        return True

    async def reasons(self) -> dict[int, str]:
        """Why each was revoked, in the operators' words.

        Raises:
            StoreError: the store does not answer.
        """
        found: dict[int, str] = {}
        for name, value in (await self._store.records(REVOKED)).items():
            with contextlib.suppress(RecordError, ValueError):
                found[serial_of_text(name)] = decoded(Revoked, value).reason
        return found

    async def add(self, records: dict[int, Revoked]) -> int:
        """Revoke; how many streams ended here.

        Raises:
            StoreError: some are not written. All are in force here nevertheless.
        """
        serials = frozenset(records)
        for serial, record in records.items():
            self._not_after_s[serial] = record.not_after_s
        ended = self._end(serials)
        for serial, record in records.items():
            ttl_ms = max(1, round((record.not_after_s - self._now_s()) * 1000))
            await self._store.put(REVOKED, serial_text(serial), encoded(record), ttl_ms=ttl_ms)
        for announce in self._announce:
            announce(serials)
        return ended

    def revoked(self, serials: Iterable[int]) -> int:
        """Another replica revoked them: until when, the store says. How many streams ended here."""
        fresh = frozenset(serials)
        for serial in fresh:
            self._not_after_s.setdefault(serial, int(self._now_s()) + UNKNOWN_LIFETIME_S)
        return self._end(fresh)

    def _end(self, serials: frozenset[int]) -> int:
        return sum(listener(serials) for listener in self._listeners) if serials else 0
