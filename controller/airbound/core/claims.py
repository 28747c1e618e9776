# SPDX-License-Identifier: Apache-2.0
"""Which terminal is which station. Streams claim MACs; two live streams that claim one MAC cannot both be right.

A phone that lost its connection comes back on a new stream while the old one still looks open. So the newest claim
counts, and an older one counts as superseded, unless it goes on reporting: an agent never reports on two streams, thus
a superseded stream that is heard again belongs to somebody else. (Two reports are waited for, since one may have been
on its way when the stream was given up. Several may have, if they waited on the way: what comes at once counts as one.)
From then on neither claim counts.

Which claims come from the station at all, as far as its access point knows, is for the engine to find out; the others
take nothing from the station.
"""

from airbound.core.addresses import Mac
from airbound.core.cell.terminal import Terminal

HEARD_AGAIN = 2  # reports


def is_live(terminal: Terminal) -> bool:
    """Whether a claim counts: the newest one does, a superseded one if its stream was heard again."""
    return not terminal.superseded_at_us or terminal.reports_since_superseded >= HEARD_AGAIN


class Claims:
    """All claims, by MAC, the newest last."""

    def __init__(self) -> None:
        self._claims: dict[Mac, list[Terminal]] = {}

    def claimants(self, mac: Mac) -> tuple[Terminal, ...]:
        """Every terminal that claims a MAC."""
        return tuple(self._claims.get(mac, ()))

    def add(self, terminal: Terminal, now_us: int) -> list[Terminal]:
        """The terminal claims its MAC; the terminals that it supersedes by that."""
        others = self._claims.setdefault(terminal.mac, [])
        superseded = [other for other in others if not other.superseded_at_us]
        for other in superseded:
            other.superseded_at_us, other.reports_since_superseded = now_us, 0
        terminal.superseded_at_us, terminal.reports_since_superseded = 0, 0  # it may have been, under another MAC
        others.append(terminal)
        return superseded

    def remove(self, terminal: Terminal) -> None:
        """The terminal's claim is over. If none of the others counts, the newest does again."""
        others = self._claims.get(terminal.mac, [])
        if terminal in others:
            others.remove(terminal)
        if not others:
            self._claims.pop(terminal.mac, None)
        elif len(others) == 1 or not any(map(is_live, others)):
            others[-1].superseded_at_us, others[-1].reports_since_superseded = 0, 0

    def __len__(self) -> int:
        return len(self._claims)
