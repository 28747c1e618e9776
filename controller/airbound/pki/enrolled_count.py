# SPDX-License-Identifier: Apache-2.0
"""How many names have a certificate, and how many of them should have renewed it."""

from collections.abc import Iterable
from typing import NamedTuple

from airbound.pki.records import Issued

LIFE_LEFT = 0.25  # devices renew between half and two thirds of a certificate's life: there is 1/12 of it for retries


class EnrolledCount(NamedTuple):
    """Of one role."""

    enrolled: int = 0
    overdue: int = 0  # of them, those with less than LIFE_LEFT of the last certificate's life left

    def plus(self, certificates: Iterable[Issued], now_s: float) -> "EnrolledCount":
        """With one more name, if one of its certificates has not ended."""
        last = max(certificates, key=lambda item: item.not_after_s, default=None)
        if last is None or last.not_after_s <= now_s:
            return self
        left_s, life_s = last.not_after_s - now_s, last.not_after_s - last.issued_at_s
        return EnrolledCount(self.enrolled + 1, self.overdue + (left_s < LIFE_LEFT * life_s))
