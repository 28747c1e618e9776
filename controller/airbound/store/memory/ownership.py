# SPDX-License-Identifier: Apache-2.0
"""Who owns which cell, and what the next owner needs."""

from collections.abc import Callable

from airbound.core.addresses import Mac
from airbound.store.memory.expiring import Expiring
from airbound.store.types import Claim, FencedError, Token


class Ownership:
    """The owners of cells.

    An epoch is the time of day in microseconds, or one more than the last where the clock does not say more. So epochs
    grow over a restart too, unless the clock was set back meanwhile; `epoch` may then be raised to the last one.
    """

    __slots__ = ("_now_ms", "_owners", "_states", "_time_us", "epoch")

    def __init__(self, now_ms: Callable[[], int], time_us: Callable[[], int]) -> None:
        self._now_ms, self._time_us = now_ms, time_us
        self._owners: Expiring[Mac, Token] = Expiring(now_ms)
        self._states: Expiring[Mac, bytes] = Expiring(now_ms)
        self.epoch = 0  # the greatest so far

    def claim(self, cell: Mac, replica: str, ttl_ms: int) -> Claim:
        """Take a cell that nobody owns, or extend the lease of our own."""
        token = self._owners.get(cell)
        if token is not None and token.replica != replica:
            return Claim(token, mine=False)
        if token is None:
            self.epoch = max(self.epoch + 1, self._time_us())
            token = Token(self.epoch, replica)
        self._owners.set(cell, token, self._now_ms() + ttl_ms)
        return Claim(token, mine=True)

    def release(self, cell: Mac, token: Token, if_left_ms: int | None = None) -> bool:
        """End the ownership of a token, if its lease has no more than that left; whether it did."""
        if self._owners.get(cell) != token:
            return False
        if if_left_ms is not None and self._owners.left_ms(cell) > if_left_ms:
            return False
        return self._owners.remove(cell)

    def write_state(self, cell: Mac, token: Token, state: bytes, ttl_ms: int) -> None:
        """Keep what the next owner needs.

        Raises:
            FencedError: the token is not the one in force.
        """
        if self._owners.get(cell) != token:
            raise FencedError(f"cell {cell.hex(':')} is not owned by {token.replica} in epoch {token.epoch}")
        self._states.set(cell, state, self._now_ms() + ttl_ms)

    def read_state(self, cell: Mac) -> bytes | None:
        """What was kept last."""
        return self._states.get(cell)

    def purge(self) -> int:
        """Remove what has ended; how many entries are left."""
        return self._owners.purge() + self._states.purge()
