# SPDX-License-Identifier: Apache-2.0
"""The store in Redis: what a replica asks of it, as commands."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from airbound.core.addresses import Mac
from airbound.store.options import StoreOptions
from airbound.store.redis.connections import UNREADABLE, Connections
from airbound.store.redis.directory import Directory
from airbound.store.redis.messages import publication
from airbound.store.redis.nodes import Nodes
from airbound.store.redis.ownership import EPOCH_KEPT_MS, Ownership
from airbound.store.redis.records import Records
from airbound.store.redis.script import Command
from airbound.store.redis.subscriber import Subscriber
from airbound.store.types import Claim, FencedError, Handler, Place, StoreError, Token

T = TypeVar("T")

_TOGETHER_S = 0.1  # changes within this time are one


class RedisStore:
    """A replica's access to Redis."""

    kind = "redis"

    def __init__(self, options: StoreOptions, *, epoch_kept_ms: int = EPOCH_KEPT_MS) -> None:
        self._options = options
        self._ownership = Ownership(options.prefix, epoch_kept_ms)
        self._directory = Directory(options.prefix)
        self._records = Records(options.prefix)
        self._replica = ""
        self._nodes: Nodes | None = None
        self._subscriber: Subscriber | None = None
        self._reconnected: Callable[[], None] | None = None
        self._reporting: asyncio.TimerHandle | None = None

    async def start(self, replica: str, handler: Handler, reconnected: Callable[[], None]) -> None:
        """Connect and subscribe."""

        def handle(message: bytes) -> None:
            if self._subscriber is subscriber:
                handler(message)

        connections = Connections(self._options, replica)
        self._replica = replica
        nodes = self._nodes = Nodes(self._options, connections, self._changed)
        subscriber = self._subscriber = Subscriber(
            *self._channel(replica),
            nodes,
            connections,
            self._options.timeout_s,
            handler=handle,
            subscribed=self._changed,
        )
        try:
            await nodes.start()
            await subscriber.start()
        except BaseException:
            await self.close()
            raise
        self._reconnected = reconnected

    async def close(self) -> None:
        """End all connections; nothing is handled any more."""
        self._reconnected = None
        if self._reporting is not None:
            self._reporting.cancel()
            self._reporting = None
        subscriber, self._subscriber = self._subscriber, None
        nodes, self._nodes = self._nodes, None
        if subscriber is not None:
            await subscriber.close()
        if nodes is not None:
            await nodes.close()

    async def get(self, kind: str, name: str) -> bytes | None:
        """A record; none if there is none or its time is over."""
        return await self._run(self._records.get(kind, name), _octets_or_none)

    async def put(self, kind: str, name: str, value: bytes, *, ttl_ms: int = 0) -> None:
        """Write a record."""
        await self._run(self._records.put(kind, name, value, ttl_ms), _number)

    async def add(self, kind: str, name: str, value: bytes, *, ttl_ms: int = 0) -> bytes:
        """Write a record if there is none; the record that is there now."""
        was = await self._run(self._records.add(kind, name, value, ttl_ms), _octets_or_none)
        return value if was is None else was

    async def replace(self, kind: str, name: str, before: bytes, value: bytes, *, ttl_ms: int = 0) -> bool:
        """Write a record if it still is as it was; whether it was."""
        return bool(await self._run(self._records.replace(kind, name, before, value, ttl_ms), _number))

    async def remove(self, kind: str, name: str) -> bool:
        """Remove a record; whether there was one."""
        return bool(await self._run(self._records.remove(kind, name), _number))

    async def records(self, kind: str) -> dict[str, bytes]:
        """All records of a kind, by name."""
        return await self._run(self._records.list(kind), self._records.listed)

    async def claim(self, cells: Sequence[Mac], *, ttl_ms: int) -> list[Claim | None]:
        """Take cells that nobody owns and extend the leases of our own."""
        commands = [self._ownership.claim(cell, self._replica, ttl_ms) for cell in cells]
        return await self._run_all(commands, self._ownership.claimed)

    async def release(self, cell: Mac, token: Token, *, if_left_ms: int | None = None) -> bool:
        """End the ownership of a token; whether it was in force."""
        return bool(await self._run(self._ownership.release(cell, token, if_left_ms), _number))

    async def write_state(self, cell: Mac, token: Token, state: bytes, *, ttl_ms: int) -> None:
        """Keep what the next owner needs."""
        if not await self._run(self._ownership.write_state(cell, token, state, ttl_ms), _number):
            raise FencedError(f"cell {cell.hex(':')} is not owned by {token.replica} in epoch {token.epoch}")

    async def read_state(self, cell: Mac) -> bytes | None:
        """What was kept last."""
        return await self._run(self._ownership.read_state(cell), _octets_or_none)

    async def place(self, stations: Sequence[tuple[Mac, Place]], *, ttl_ms: int) -> list[frozenset[str] | None]:
        """Write where stations are; for each, the replicas that have a stream of its terminal."""
        commands = [self._directory.place(mac, place, ttl_ms) for mac, place in stations]
        return await self._run_all(commands, self._directory.replicas)

    async def displace(self, stations: Sequence[Mac], bssid: Mac, token: Token) -> None:
        """The cell no longer reports these stations."""
        await self._run_every([self._directory.displace(mac, bssid, token) for mac in stations])

    async def arrive(self, terminals: Sequence[Mac], *, ttl_ms: int) -> list[tuple[Place, ...] | None]:
        """Write that we have streams of these terminals; for each, where its station is."""
        commands = [self._directory.arrive(mac, self._replica, ttl_ms) for mac in terminals]
        return await self._run_all(commands, self._directory.places)

    async def depart(self, terminals: Sequence[Mac]) -> None:
        """We have no stream of these terminals any more."""
        await self._run_every([self._directory.depart(mac, self._replica) for mac in terminals])

    async def send(self, replica: str, message: bytes) -> bool:
        """Send a message; whether the replica listens."""
        if not message:
            raise ValueError("an empty message")
        heard = bool(await self._run(publication(*self._channel(replica), message), _number))
        if not heard:
            self._started.refresh()  # the channel may be at another server by now
        return heard

    def _channel(self, replica: str) -> tuple[bytes, str]:
        tag = quote(replica, safe="")  # a brace would end the tag
        return tag.encode(), f"{self._options.prefix}:replica:{{{tag}}}"

    @property
    def _started(self) -> Nodes:
        if self._nodes is None:
            raise StoreError("the store is closed")
        return self._nodes

    async def _run(self, command: Command, answer: Callable[[Any], T]) -> T:
        """What the reply to a command means.

        Raises:
            StoreError: there was none in time, it is an error, or nothing that the command replies.
        """
        return _meaning(await self._started.run(command), command, answer)

    async def _run_all(self, commands: Sequence[Command], answer: Callable[[Any], T]) -> list[T | None]:
        """What the replies mean; none where there was none that means something.

        Raises:
            StoreError: there was none at all.
        """
        answers, failures = list[T | None](), list[StoreError]()
        for command, reply in zip(commands, await self._started.run_all(commands) if commands else (), strict=True):
            try:
                if isinstance(reply, StoreError):
                    raise reply
                answers.append(_meaning(reply, command, answer))
            except StoreError as error:
                answers.append(None)
                failures.append(error)
        if failures and len(failures) == len(commands):
            raise failures[0]
        return answers

    async def _run_every(self, commands: Sequence[Command]) -> None:
        """Run commands whose replies say nothing.

        Raises:
            StoreError: there was none to one of them.
        """
        if commands:
            for reply in await self._started.run_all(commands):
                if isinstance(reply, StoreError):
                    raise reply

    def _changed(self) -> None:
        if self._subscriber is not None:
            self._subscriber.check()
        if self._reporting is None and self._reconnected is not None:
            self._reporting = asyncio.get_running_loop().call_later(_TOGETHER_S, self._report)

    def _report(self) -> None:
        self._reporting = None
        if self._reconnected is not None:
            self._reconnected()


def _meaning(reply: Any, command: Command, answer: Callable[[Any], T]) -> T:
    """What a reply means. One that no server with our scripts gives fails the call, and nothing but the call.

    Raises:
        StoreError: it means nothing.
    """
    try:
        return answer(reply)
    except UNREADABLE as error:
        raise StoreError(f"the reply about {command.tag.decode()} cannot be read: {error}") from error


def _number(reply: Any) -> int:
    if not isinstance(reply, int):
        raise TypeError(f"{type(reply).__name__} in place of a number")
    return reply


def _octets_or_none(reply: Any) -> bytes | None:
    if reply is not None and not isinstance(reply, bytes):
        raise TypeError(f"{type(reply).__name__} in place of octets")
    return reply
