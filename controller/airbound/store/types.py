# SPDX-License-Identifier: Apache-2.0
"""The interface of a store. `memory` implements it within one process, `redis` for any number of replicas.

Everything has a lifetime or an owner: a record may have a time to live, an owned cell has a lease, a place in the
directory has both an owner and a time to live. What a store does for one cell, one station or one record is atomic.

A store may have parts that fail apart (the masters of a Redis Cluster). A call for many cells or stations returns None
for those whose part did not answer, and raises StoreError if no part did. For these, too, the call may have been done
or not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from airbound.core.addresses import Mac


class StoreError(Exception):
    """The store did not answer, or refused; the text says which and why. The call may have been done or not."""


class FencedError(StoreError):
    """Another replica owns the cell by now."""


class Token(NamedTuple):
    """Proof of owning a cell. Of two tokens for a cell the one with the greater epoch is the later one."""

    epoch: int
    replica: str


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to a claim: the token in force. It is ours, or says who has the cell."""

    token: Token
    mine: bool


class Place(NamedTuple):
    """A cell that reports a station."""

    bssid: Mac
    token: Token  # of the cell's owner
    age_ms: int  # since the station associated, by the owner's clock; a later association has a smaller age


Handler = Callable[[bytes], None]
"""Called in the event loop with each message."""


class Store(Protocol):
    """What every store does. Every call may raise StoreError."""

    kind: str  # "memory" or "redis"

    async def start(self, replica: str, handler: Handler, reconnected: Callable[[], None]) -> None:
        """Begin, and have messages to `replica` handled: a name that no other process has or had. `reconnected` is
        called in the event loop whenever messages or records may have been lost, once the store answers again: it reads
        what its replica relies on again. Raises StoreError if the store does not answer now; may then be called again.
        """

    async def close(self) -> None:
        """End; nothing is handled any more."""

    # Records: operators' choices, enrolment, replicas. Those of a kind can be listed; there are thousands at most.

    async def get(self, kind: str, name: str) -> bytes | None:
        """A record; none if there is none or its time is over."""

    async def put(self, kind: str, name: str, value: bytes, *, ttl_ms: int = 0) -> None:
        """Write a record; `ttl_ms` 0: until it is removed."""

    async def add(self, kind: str, name: str, value: bytes, *, ttl_ms: int = 0) -> bytes:
        """Write a record if there is none; the record that is there now."""

    async def replace(self, kind: str, name: str, before: bytes, value: bytes, *, ttl_ms: int = 0) -> bool:
        """Write a record if it still is as it was; whether it was."""

    async def remove(self, kind: str, name: str) -> bool:
        """Remove a record; whether there was one."""

    async def records(self, kind: str) -> dict[str, bytes]:
        """All records of a kind, by name."""

    # Ownership: a cell is owned by one replica at a time.

    async def claim(self, cells: Sequence[Mac], *, ttl_ms: int) -> list[Claim | None]:
        """Take cells that nobody owns and extend the leases of our own; the tokens in force, in the same order. A new
        owner's epoch is greater than every earlier one of the cell, whatever happened to the store meanwhile.
        """

    async def release(self, cell: Mac, token: Token, *, if_left_ms: int | None = None) -> bool:
        """End the ownership of a token, if that is the one in force; whether it was. With `if_left_ms` only if its
        lease has no more than that left, so that one which was extended meanwhile stays.
        """

    async def write_state(self, cell: Mac, token: Token, state: bytes, *, ttl_ms: int) -> None:
        """Keep what the next owner needs.

        Raises:
            FencedError: the token is not the one in force.
        """

    async def read_state(self, cell: Mac) -> bytes | None:
        """What was kept last."""

    # Directory: owners write which stations their cells have, replicas which terminals have a stream with them. Each
    # call returns the other side, so that the second of the two to write finds the first. Entries are written again
    # before their time is over.

    async def place(self, stations: Sequence[tuple[Mac, Place]], *, ttl_ms: int) -> list[frozenset[str] | None]:
        """Write where stations are; for each, the replicas that have a stream of its terminal. An entry of a later
        owner of the cell stays.
        """

    async def displace(self, stations: Sequence[Mac], bssid: Mac, token: Token) -> None:
        """The cell no longer reports these stations. An entry of another owner stays."""

    async def arrive(self, terminals: Sequence[Mac], *, ttl_ms: int) -> list[tuple[Place, ...] | None]:
        """Write that we have streams of these terminals; for each, where its station is, the latest association
        first. Ages are as of now.
        """

    async def depart(self, terminals: Sequence[Mac]) -> None:
        """We have no stream of these terminals any more."""

    # Messages

    async def send(self, replica: str, message: bytes) -> bool:
        """Send a message of at least one octet to a replica; whether it listens, as far as the store knows. Messages
        from one replica to another stay in order, and are lost together with the connection to the store; while the
        store's servers change roles, a message may also come twice, or late.
        """
