# SPDX-License-Identifier: Apache-2.0
"""A wire to a Redis that garbles replies: octets that are no RESP, lengths without end, other types, errors of every
kind, lists in lists, replies of megabytes, twice, in halves, late or never. What it does follows from a seed.
"""

import asyncio
import random
from typing import TYPE_CHECKING

from airbound_testing.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable

LATE_MAX_S = 0.2
LATER_S, LATER = 0.5, 0.02  # later than any call waits, and the share of it
LARGE_OCTETS = 4 << 20
FLIPPED = 0.1  # of the octets, where bits are flipped
_HUGE = (10**5, 2**31 - 1, 2**32 - 1, 2**63 - 1, 10**30, -2)
_TYPES = b"+-:$*%~#_,(=!>|garbage\x00\xff"
_ERRORS = (
    "ERR", "WRONGTYPE x", "OOM x", "READONLY x", "LOADING x", "NOSCRIPT x", "BUSY x", "NOAUTH x", "WRONGPASS x",
    "MOVED", "MOVED x", "MOVED 1 x", "MOVED 1 127.0.0.1:1", "MOVED 99999 127.0.0.1:0", "ASK", "ASK 1 x", "ASK x y z",
    "TRYAGAIN", "CLUSTERDOWN x", "MASTERDOWN x", "NOPERM x", "UNKILLABLE x", "EXECABORT x", "\xff\xfe", "",
)  # fmt: skip
_VALUES = (b"$5\r\nhello\r\n", b":7\r\n", b"+OK\r\n", b"$-1\r\n", b"*-1\r\n", b"*0\r\n", b"*2\r\n:1\r\n$3\r\n7:a\r\n")


class GarbledRedis(Wire):
    """Forwards to a server, and garbles a part of what comes back while `share` of it is not 0."""

    def __init__(self, to_port: int, seed: int, share: float = 0.5) -> None:
        super().__init__(to_port)
        self.share = share
        self.garbled = 0  # replies so far
        self._dice = random.Random(seed)  # noqa: S311  # no secret

    @property
    def url(self) -> str:
        """What a store connects to."""
        return f"redis://{self.target}"

    async def _returned(self, data: bytes) -> bytes:
        if self._dice.random() >= self.share:
            return data
        self.garbled += 1
        return await self._garble(data)

    async def _garble(self, data: bytes) -> bytes:
        dice = self._dice
        kinds: tuple[Callable[[], bytes], ...] = (
            lambda: dice.randbytes(dice.randrange(1, 200)),
            lambda: b"",
            lambda: data[: dice.randrange(len(data))],
            lambda: data * dice.randrange(2, 5),
            lambda: bytes(octet ^ (1 << dice.randrange(8)) if dice.random() < FLIPPED else octet for octet in data),
            lambda: b"%c%d\r\n" % (dice.choice(b"$*%~="), dice.choice(_HUGE)),
            lambda: b"*1\r\n" * dice.randrange(2, 2_000) + b":1\r\n",
            lambda: b"*2\r\n" * dice.randrange(2, 2_000) + b"$-1\r\n" * dice.randrange(2_000),
            lambda: b"$%d\r\n%s\r\n" % (LARGE_OCTETS, bytes(LARGE_OCTETS)),
            lambda: b"*%d\r\n%s" % (10**5, b":1\r\n" * dice.choice((10**4, 10**5))),
            lambda: b"%c%s\r\n" % (dice.choice(_TYPES), dice.randbytes(dice.randrange(8)).hex().encode()),
            lambda: f"-{dice.choice(_ERRORS)}\r\n".encode("latin-1"),
            lambda: dice.choice(_VALUES),
            lambda: b"".join(dice.choices(_VALUES, k=dice.randrange(1, 8))),
        )
        late_s = LATER_S if dice.random() < LATER else dice.uniform(0.0, LATE_MAX_S)
        await asyncio.sleep(dice.choice((0.0, 0.0, 0.0, late_s)))
        return dice.choice(kinds)()
