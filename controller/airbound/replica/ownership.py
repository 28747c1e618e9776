# SPDX-License-Identifier: Apache-2.0
"""Which cells this replica owns.

A cell's natural owner is the replica with its access point's stream. It claims the cell from the store under a lease
and renews that every third of it. A lease can only be relied on by its holder's own clock, from before it was asked for
(a process may be stopped at any moment, and an answer be late): `until_us` is that, less a margin. Nothing is commanded
after it, whatever the store would say (Kleppmann, How to do distributed locking, 2016).

Nor is anything commanded while a cell is *in doubt*: its last access point's stream ended here, this process stood
still (stall.py), or the store refused what was written as its owner. The doubt ends when the store confirms a claim
that was asked for later.

A claim that another replica's stands against is repeated: its owner may be gone, and its lease ends then. It is ended
for the owner, if the cell's access point is here and was the owner's before, when

- the store has had nobody listening for the owner for a second: its process has ended; or
- the owner has not renewed it for `UNRENEWED_MS` and sent nothing while it was asked for the cell `ASKED` times: it is
  stopped, or cut off from the store.

An owner that is stopped, or that is cut off and lost the access point, has the cell in doubt by then. One whose access
point left without its noticing is past `cell_stale_ms` and commands nothing: the access point has waited for an answer
for two seconds at least, and `ASKED` takes one and a half more.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from airbound.core.addresses import Mac, mac_text
from airbound.core.cell.memory import CellMemory
from airbound.replica import memory
from airbound.replica.stall import Stall
from airbound.runtime import log
from airbound.store.types import Claim, FencedError, Store, StoreError, Token

LEASE_MS = 8_000  # a store that pauses for 5 s, just before a renewal, stops nothing
RENEW_S = 2.0
MARGIN_US = 500_000  # for the store's clock to run faster than ours, and for a command on its way
RETRY_S = 0.5
GONE_S = 1.0
UNRENEWED_MS = 3_000  # one renewal was missed and a second is late
ASKED = 4
MEMORY_MS = 600_000  # as old as the entries themselves may be


@dataclass(slots=True)
class Owned:
    """A cell of ours."""

    token: Token
    until_us: int
    doubted_us: int = 0  # in doubt since then; 0: it is not
    doubt_lasted_us: int = 0  # until this lease

    def commanded_until_us(self) -> int:
        """Until when it may be commanded."""
        return 0 if self.doubted_us else self.until_us


@dataclass(frozen=True, slots=True)
class OtherOwner:
    """What is known here of the owner of a cell that we want."""

    silent_s: float  # for how long nobody has listened for it
    heard: int  # messages that came from it so far
    access_point: str = ""  # principal of the cell's access point here; empty: it is not here


class _Claiming:
    """A cell that is claimed again and again."""

    def __init__(self) -> None:
        self.wanted = True
        self.at_once = asyncio.Event()  # the next try
        self.heard, self.asked = -1, 0  # messages of its owner when it was asked first, and how often it was since
        self.task: asyncio.Task[None]


class Ownership:
    """Claims, renews and gives back. `owned`, `doubted`, `lost` and `refused` are called in the event loop."""

    def __init__(
        self,
        store: Store,
        clock_us: Callable[[], int],
        *,
        owned: Callable[[Mac, Owned, CellMemory | None], None],
        doubted: Callable[[Mac], None],
        lost: Callable[[Mac, Claim | None], None],
        refused: Callable[[Mac, Token], OtherOwner],
    ) -> None:
        self.cells: dict[Mac, Owned] = {}
        self.confirmed_at_us = clock_us()  # when the store last answered a renewal
        self.stall = Stall(clock_us, self._stalled)
        self._stalled_us = 0
        self._renew_now = asyncio.Event()
        self._beating: asyncio.Task[None] | None = None
        self._store = store
        self._clock_us = clock_us
        self._owned, self._doubted, self._lost, self._refused = owned, doubted, lost, refused
        self._claiming: dict[Mac, _Claiming] = {}
        self._renewing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to renew."""
        self.stall.start()
        loop = asyncio.get_running_loop()
        self._renewing, self._beating = loop.create_task(self._renew()), loop.create_task(self.stall.run())

    def token(self, cell: Mac, now_us: int) -> Token | None:
        """Our token of a cell, if we may command it now."""
        owned = self.cells.get(cell)
        return owned.token if owned is not None and now_us < owned.commanded_until_us() else None

    def doubt(self, cell: Mac) -> None:
        """Another replica may have a cell of ours: command nothing until the store has confirmed it once more."""
        owned = self.cells.get(cell)
        if owned is not None:
            owned.doubted_us = self._clock_us()
            self._doubted(cell)
            self._renew_now.set()

    def _stalled(self, now_us: int) -> None:
        self._stalled_us = now_us
        self.confirmed_at_us = now_us  # nobody asked meanwhile
        for cell in self.cells:
            self.doubt(cell)

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
        """Give up a cell for the next replica that claims it, with what was learnt of it. `lost` is not called."""
        owned = self.cells.pop(cell, None)
        if owned is None:
            return
        if learnt is not None:
            try:
                await self._store.write_state(cell, owned.token, memory.octets(learnt), ttl_ms=MEMORY_MS)
            except StoreError as error:
                log.event("warning", "store", "state", str(error))  # the next owner learns again
        try:
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
                except FencedError:  # another replica has the cell, or the store has lost whose it is: ask
                    self.doubt(cell)
                except StoreError:
                    return  # is logged where leases are renewed

    async def stop(self) -> None:
        """Claim and renew nothing more."""
        tasks = [claiming.task for claiming in self._claiming.values()]
        tasks += [task for task in (self._renewing, self._beating) if task is not None]
        self._claiming.clear()
        self._renewing = self._beating = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Claims

    async def _claim_until_ours(self, cell: Mac, claiming: _Claiming) -> None:
        failed = ""
        try:
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
        finally:  # otherwise no later report would have the cell claimed
            if self._claiming.get(cell) is claiming:
                del self._claiming[cell]

    async def _claim(self, cell: Mac, claiming: _Claiming, asked_us: int) -> bool:
        """Claim a cell once; whether it is ours now."""
        (claim,) = await self._store.claim([cell], ttl_ms=LEASE_MS)
        self.stall.check()
        if claim is None:
            raise StoreError(f"the part of the store that has {mac_text(cell)} does not answer")
        if claim.mine:
            try:
                state = await self._store.read_state(cell)
            except StoreError as error:
                state = None  # a cell without an owner is worse than one of which is learnt again
                log.event("warning", "store", "state", str(error))
            if not claiming.wanted:
                await self._store.release(cell, claim.token)
                return False
            self.stall.check()
            if asked_us < self._stalled_us:
                claiming.at_once.set()
                return False
            del self._claiming[cell]
            self._take(cell, claim.token, asked_us, memory.parsed(state))
            return True
        owner = self._refused(cell, claim.token)
        claiming.asked = 1 if owner.heard != claiming.heard else claiming.asked + 1
        claiming.heard = owner.heard
        if await self._end_lease(cell, claim.token, owner, claiming.asked):
            claiming.at_once.set()
        return False

    async def _end_lease(self, cell: Mac, token: Token, owner: OtherOwner, asked: int) -> bool:
        """End the lease of an owner that cannot do so; whether it ended."""
        if owner.silent_s >= GONE_S:
            ended, why = await self._store.release(cell, token), "does not listen"
        elif asked < ASKED or not owner.access_point:
            return False
        else:
            state = memory.parsed(await self._store.read_state(cell))
            if state is None or state.access_point != owner.access_point:
                return False  # it may have another access point that reports the same BSSID
            ended = await self._store.release(cell, token, if_left_ms=LEASE_MS - UNRENEWED_MS)
            why = "neither renews its lease nor answers"
        if ended:
            log.event("warning", "cell", mac_text(cell), f"its owner {token.replica} {why}", cell=cell)
        return ended

    def _take(self, cell: Mac, token: Token, asked_us: int, learnt: CellMemory | None) -> None:
        before = self.cells.get(cell)
        owned = self.cells[cell] = Owned(token, asked_us + LEASE_MS * 1000 - MARGIN_US)
        if before is not None and asked_us <= before.doubted_us:
            owned.doubted_us = before.doubted_us
        elif before is not None and before.doubted_us:
            owned.doubt_lasted_us = self._clock_us() - before.doubted_us
        self._owned(cell, owned, learnt)

    async def _renew(self) -> None:
        failed = ""
        while True:
            await self._until_renewal()
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
            finally:
                self.stall.check()
            self.confirmed_at_us = self._clock_us()
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

    async def _until_renewal(self) -> None:
        """Wait for the next renewal; a shorter time if a cell is in doubt."""
        in_doubt = any(owned.doubted_us for owned in self.cells.values())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RETRY_S if in_doubt else RENEW_S):
                await self._renew_now.wait()
        self._renew_now.clear()

    def _end_lapsed(self) -> None:
        """Cells whose leases ended are not ours: their access points may find a replica that has the store."""
        now_us = self._clock_us()
        for cell in [cell for cell, owned in self.cells.items() if now_us >= owned.until_us]:
            self._lose(cell, None)

    def _lose(self, cell: Mac, claim: Claim | None) -> None:
        if self.cells.pop(cell, None) is not None:
            self._lost(cell, claim)
