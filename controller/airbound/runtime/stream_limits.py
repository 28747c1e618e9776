# SPDX-License-Identifier: Apache-2.0
"""How many streams are taken: in all, and of one peer. With TLS a peer is whom its certificate names: behind a load
balancer, or where addresses are translated, one address stands for many. In plain text the address is all that is
known.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from airbound.core.addresses import Address, address_text
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason

STREAMS_MAX = 20_000
TERMINAL_STREAMS_MAX = 4  # a device has one; one that has just been lost counts for up to 45 s


@dataclass(slots=True)
class StreamLimits:
    """The limits, and who has how many streams. 0 of one peer: no such limit."""

    all_max: int = STREAMS_MAX
    per_address_max: int = 0
    per_name_max: int = 0
    _all: int = 0
    _by_address: Counter[Address] = field(default_factory=Counter)
    _by_principal: Counter[Principal] = field(default_factory=Counter)

    def refusal(self, principal: Principal, address: Address) -> Reason | None:
        """Why one more is not taken."""
        if self._all >= self.all_max:
            return Reason(Code.TOO_MANY_STREAMS, limit=self.all_max)
        if address and 0 < self.per_address_max <= self._by_address[address]:
            return Reason(Code.TOO_MANY_STREAMS, address_text(address), limit=self.per_address_max)
        name_max = min(self.per_name_max, TERMINAL_STREAMS_MAX) if principal.role == "terminal" else self.per_name_max
        if 0 < name_max <= self._by_principal[principal]:
            return Reason(Code.TOO_MANY_STREAMS, f"{principal.role}/{principal.name}", limit=name_max)
        return None

    def opened(self, stream: Stream) -> None:
        """There is one more."""
        self._all += 1
        self._by_address[stream.address] += 1
        self._by_principal[stream.principal] += 1

    def closed(self, stream: Stream) -> None:
        """There is one fewer."""
        self._all -= 1
        _take(self._by_address, stream.address)
        _take(self._by_principal, stream.principal)

    def peers(self) -> int:
        """How many addresses and names are counted."""
        return len(self._by_address) + len(self._by_principal)


def _take(counter: Counter[Any], key: Address | Principal) -> None:
    """One fewer; nothing is kept of a key that has none."""
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
