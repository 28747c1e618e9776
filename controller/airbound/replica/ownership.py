# SPDX-License-Identifier: Apache-2.0
"""Which cells this replica owns.

A cell's natural owner is the replica with its access point's stream. It claims the cell from the store under a lease
and renews that every third of it. A lease can only be relied on by its holder's own clock, from before it was asked for
(a process may be stopped at any moment, and an answer be late): `until_us` is that, less a margin. Nothing is commanded
after it, whatever the store would say (Kleppmann, How to do distributed locking, 2016).

A claim that another replica's stands against is repeated: its owner may be gone, and its lease ends then. If the store
has had nobody listening for that owner for a second, although the cell's access point is here, the owner's process has
ended, and its lease is ended for it. (One that only lost its connection to the store, and the access point at the same
time without noticing, commands on for up to `cell_stale_ms`, since nobody reports the cell to it.)
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from airbound.core.addresses import Mac, mac_text
from airbound.core.cell.memory import CellMemory
from airbound.replica import memory
from airbound.runtime import log
from airbound.store.types import Claim, FencedError, Store, StoreError, Token

LEASE_MS = 8_000  # a store that pauses for 5 s, just before a renewal, stops nothing
RENEW_S = 2.0
MARGIN_US = 500_000  # for the store's clock to run faster than ours, and for a command on its way
RETRY_S = 0.5
GONE_S = 1.0
MEMORY_MS = 600_000  # as old as the entries themselves may be


@dataclass(slots=True)
class Owned:
    """A cell of ours."""

    token: Token
    until_us: int


class _Claiming:
    """A cell that is claimed again and again."""

    def __init__(self) -> None:
        self.wanted = True
        self.at_once = asyncio.Event()  # the next try
        self.task: asyncio.Task[None]


class Ownership:
    """Claims, renews and gives back. `owned`, `lost` and `refused` are called in the event loop; the last returns for
    how many seconds nobody has listened for the owner.
    """

    def __init__(
        self,
        store: Store,
        clock_us: Callable[[], int],
        owned: Callable[[Mac, Owned, CellMemory | None], None],
        lost: Callable[[Mac, Claim | None], None],
        refused: Callable[[Mac, Token], float],
    ) -> None:
        self.cells: dict[Mac, Owned] = {}
        self._store = store
        self._clock_us = clock_us
        self._owned, self._lost, self._refused = owned, lost, refused
        self._claiming: dict[Mac, _Claiming] = {}
        self._renewing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to renew."""
        self._renewing = asyncio.get_running_loop().create_task(self._renew())

    def token(self, cell: Mac, now_us: int) -> Token | None:
        """Our token of a cell, if we may command it now."""
        owned = self.cells.get(cell)
        return owned.token if owned is not None and now_us < owned.until_us else None

    def want(self, cell: Mac) -> None:
        """Claim a cell, at once and until it is ours, or until `unwant`."""
        if cell in self.cells:
            return
        claiming = self._claiming.get(cell)
        if claiming is None:
            claiming = self._claiming[cell] = _Claiming()
            claiming.task = asyncio.get_running_loop().create_task(self._claim_until_ours(cell, claiming))
        claiming.wanted = True

    def try_now(self, cell: Mac) -> None:
        """Claim a cell again without waiting, if it is wanted: its owner gave it away."""
        claiming = self._claiming.get(cell)
        if claiming is not None:
            claiming.at_once.set()

    def unwant(self, cell: Mac) -> None:
        """Its access point's stream is gone: no longer claim a cell that is not ours."""
        claiming = self._claiming.get(cell)
        if claiming is not None:
            claiming.wanted = False  # a claim under way may still succeed: it is given back then
            claiming.at_once.set()

    async def give(self, cell: Mac, learnt: CellMemory | None) -> None:
        """Give a cell back to whoever claims it next, with what was learnt of it. `lost` is not called."""
        owned = self.cells.pop(cell, None)
        if owned is None:
            return
        try:
            if learnt is not None:
                await self._store.write_state(cell, owned.token, memory.octets(learnt), ttl_ms=MEMORY_MS)
            await self._store.release(cell, owned.token)
        except StoreError as error:
            log.event("warning", "store", "release", str(error))  # the lease ends by itself

    async def keep(self, learnt: Iterable[tuple[Mac, CellMemory]]) -> None:
        """Write what was learnt of cells, for an owner that comes after us without being given it."""
        for cell, what in learnt:
            owned = self.cells.get(cell)
            if owned is not None:
                try:
                    await self._store.write_state(cell, owned.token, memory.octets(what), ttl_ms=MEMORY_MS)
                except FencedError:
                    self._lose(cell, None)
                except StoreError:
                    return  # is logged where leases are renewed

    async def stop(self) -> None:
        """Claim and renew nothing more."""
        tasks = [claiming.task for claiming in self._claiming.values()]
        if self._renewing is not None:
            tasks.append(self._renewing)
        self._claiming.clear()
        self._renewing = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Claims

    async def _claim_until_ours(self, cell: Mac, claiming: _Claiming) -> None:
        failed = ""
        while claiming.wanted:
            claiming.at_once.clear()
            asked_us = self._clock_us()
            try:
                if await self._claim(cell, claiming, asked_us):
                    return
                failed = ""
            except StoreError as error:
                if str(error) != failed:
                    failed = str(error)
                    log.event("warning", "store", "claim", failed)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RETRY_S):
                    await claiming.at_once.wait()
        del self._claiming[cell]

    async def _claim(self, cell: Mac, claiming: _Claiming, asked_us: int) -> bool:
        """Claim a cell once; whether it is ours now."""
        (claim,) = await self._store.claim([cell], ttl_ms=LEASE_MS)
        if claim is None:
            raise StoreError(f"the part of the store that has {mac_text(cell)} does not answer")
        if claim.mine:
            state = await self._store.read_state(cell)
            if not claiming.wanted:
                await self._store.release(cell, claim.token)
                return False
            del self._claiming[cell]
            self._take(cell, claim.token, asked_us, memory.parsed(state))
            return True
        silent_s = self._refused(cell, claim.token)
        if silent_s >= GONE_S and await self._store.release(cell, claim.token):
            why = f"its owner {claim.token.replica} does not listen"
            log.event("warning", "cell", mac_text(cell), why, cell=cell)
            claiming.at_once.set()
        return False

    def _take(self, cell: Mac, token: Token, asked_us: int, learnt: CellMemory | None) -> None:
        owned = self.cells[cell] = Owned(token, asked_us + LEASE_MS * 1000 - MARGIN_US)
        self._owned(cell, owned, learnt)

    async def _renew(self) -> None:
        failed = ""
        while True:
            await asyncio.sleep(RENEW_S)
            cells = list(self.cells)
            if not cells:
                continue
            asked_us = self._clock_us()
            try:
                claims = await self._store.claim(cells, ttl_ms=LEASE_MS)
            except StoreError as error:
                if str(error) != failed:
                    failed = str(error)
                    log.event("warning", "store", "renewal", f"{failed}; cells are commanded until their leases end")
                self._end_lapsed()
                continue
            if failed:
                log.event("info", "store", "renewal", "cells are renewed again")
                failed = ""
            for cell, claim in zip(cells, claims, strict=True):
                if cell not in self.cells or claim is None:
                    continue  # given away meanwhile, or to be renewed with the next
                if claim.mine:
                    self._take(cell, claim.token, asked_us, None)
                else:
                    self._lose(cell, claim)
            self._end_lapsed()  # of a part of the store that does not answer

    def _end_lapsed(self) -> None:
        """Cells whose leases ended are not ours: their access points may find a replica that has the store."""
        now_us = self._clock_us()
        for cell in [cell for cell, owned in self.cells.items() if now_us >= owned.until_us]:
            self._lose(cell, None)

    def _lose(self, cell: Mac, claim: Claim | None) -> None:
        if self.cells.pop(cell, None) is not None:
            self._lost(cell, claim)
