# SPDX-License-Identifier: Apache-2.0
"""The servers of a store: one, or the masters of a Cluster, and which of them a command goes to.

redis-py's own Cluster client is not used: its pipelines refuse EVALSHA, it opens a connection for each caller, and it
looks for a new master only when a command fails.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from redis.exceptions import AskError, MovedError, NoScriptError, ReadOnlyError, ResponseError, TryAgainError

from airbound.store.options import StoreOptions, servers
from airbound.store.redis.backoff import Backoff
from airbound.store.redis.connections import UNREADABLE, Connections, describe
from airbound.store.redis.link import Link
from airbound.store.redis.script import Command, Part, Script
from airbound.store.redis.slots import SLOTS, Server, ranges, slot
from airbound.store.types import StoreError

REFRESH_S = 5.0
_BETWEEN_REFRESHES_S = 0.1
_TRY_AGAIN_S = 0.02


class _Attempt(NamedTuple):
    link: Link
    parts: tuple[tuple[Part, ...], ...]


class Nodes:
    """Runs commands where they belong. `changed` is called when records or messages may have been lost and the servers
    answer again: after a lost connection, and when a slot has got another master.
    """

    def __init__(self, options: StoreOptions, connections: Connections, changed: Callable[[], None]) -> None:
        self._timeout_s = options.timeout_s
        self._connections = connections
        self._changed = changed
        self._seeds = [Server(*server) for server in servers(options.url)]
        self._links: dict[Server, Link] = {}
        self._wake = asyncio.Event()
        self._single = None if options.cluster else self._link(self._seeds[0])
        self._masters: list[Server | None] = [None] * SLOTS
        self._replicas: set[Server] = set()
        self._keeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Connect, and keep connected.

        Raises:
            StoreError: no server answers.
        """
        failures = await self._refresh()
        masters = {self._single.server} if self._single else set(self._masters)
        if not any(link.is_connected for server, link in self._links.items() if server in masters):
            raise StoreError("; ".join(failures))
        self._keeping = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """End all connections."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await asyncio.gather(*(link.close() for link in self._links.values()))

    @property
    def seed(self) -> Server:
        """The first server of the options."""
        return self._seeds[0]

    def master(self, tag: bytes) -> Server:
        """The server that has the keys and the channels of a tag.

        Raises:
            StoreError: none has.
        """
        return self._of(tag).server

    def refresh(self) -> None:
        """Look soon which servers there are."""
        self._wake.set()

    def refused(self, server: Server, error: ResponseError, tag: bytes = b"") -> StoreError:
        """What a server's error means; `tag` is that of the command."""
        text, hint = describe(error), ""
        if self._single is not None and isinstance(error, MovedError):
            hint = ", set cluster = true"
        elif tag and text.startswith("WRONGTYPE"):  # Redis does not say which key
            hint = f" (a key of {{{tag.decode()}}})"
        return StoreError(f"{server}: {text}{hint}")

    async def run(self, command: Command) -> Any:
        """The reply to a command.

        Raises:
            StoreError: there was none in time, or it is an error.
        """
        (reply,) = await self.run_all([command])
        if isinstance(reply, StoreError):
            raise reply
        return reply

    async def run_all(self, commands: Sequence[Command]) -> list[Any]:
        """The replies to commands, in their order; where there was none in time or it is an error, a StoreError.

        The commands for a server go to it in one piece. What was not executed (MOVED, ASK, TRYAGAIN, NOSCRIPT) is asked
        again within the time-out, and nothing else.
        """
        replies: list[Any] = [None] * len(commands)
        attempts: dict[int, _Attempt] = {}
        for index, command in enumerate(commands):
            try:
                attempts[index] = _Attempt(self._of(command.tag), (command.parts,))
            except StoreError as error:
                replies[index] = error
        await self._attempt(attempts, replies)
        if any(isinstance(reply, ResponseError) for reply in replies):
            await self._again(commands, attempts, replies)
        return replies

    async def _attempt(self, attempts: dict[int, _Attempt], replies: list[Any]) -> None:
        """Fill in the replies to attempts, by their index."""
        by_link: dict[Link, list[int]] = {}
        for index, attempt in attempts.items():
            by_link.setdefault(attempt.link, []).append(index)
        groups = [self._at(link, indices, attempts, replies) for link, indices in by_link.items()]
        if len(groups) == 1:
            await groups[0]
        else:
            await asyncio.gather(*groups)

    async def _at(self, link: Link, indices: list[int], attempts: dict[int, _Attempt], replies: list[Any]) -> None:
        try:
            answers = iter(await link.call([parts for index in indices for parts in attempts[index].parts]))
        except StoreError as error:
            self.refresh()
            for index in indices:
                replies[index] = error
            return
        for index in indices:
            for _ in attempts[index].parts:
                replies[index] = next(answers)  # the last one counts: before it there is the one to ASKING

    async def _again(self, commands: Sequence[Command], attempts: dict[int, _Attempt], replies: list[Any]) -> None:
        """Ask again what was answered with an error, until there is a reply or the time is over."""
        deadline_s = asyncio.get_running_loop().time() + self._timeout_s
        while True:
            has_text: set[tuple[Link, Script]] = set()
            next_attempts: dict[int, _Attempt] = {}
            pause = False
            for index, attempt in attempts.items():
                error = replies[index]
                if not isinstance(error, ResponseError):
                    continue
                pause |= isinstance(error, TryAgainError)
                late = asyncio.get_running_loop().time() > deadline_s
                attempt_again = None if late else self._next(commands[index], attempt.link, error, has_text)
                if attempt_again is None:
                    replies[index] = self.refused(attempt.link.server, error, commands[index].tag)
                else:
                    next_attempts[index] = attempt_again
            if not next_attempts:
                return
            if pause:
                await asyncio.sleep(_TRY_AGAIN_S)
            attempts = next_attempts
            await self._attempt(attempts, replies)

    def _next(
        self, command: Command, link: Link, error: ResponseError, has_text: set[tuple[Link, Script]]
    ) -> _Attempt | None:
        """Where and how to ask again; none if the error is the answer."""
        if isinstance(error, NoScriptError) and command.script is not None:
            if (link, command.script) in has_text:
                return _Attempt(link, (command.parts,))
            has_text.add((link, command.script))
            return _Attempt(link, (command.with_text().parts,))
        if isinstance(error, ReadOnlyError):  # was a master; its name may lead to another server by now
            link.drop("is read-only")
        self.refresh()
        if self._single is not None:
            return None
        if isinstance(error, AskError):
            target = Server(error.host.strip("[]") or link.server.host, error.port)
            if not isinstance(error, MovedError):
                return _Attempt(self._link(target), (("ASKING",), command.with_text().parts))
            self._masters[slot(command.tag)] = target
            return _Attempt(self._link(target), (command.parts,))
        return _Attempt(self._of(command.tag), (command.parts,)) if isinstance(error, TryAgainError) else None

    def _of(self, tag: bytes) -> Link:
        if self._single is not None:
            return self._single
        number = slot(tag)
        master = self._masters[number]
        if master is None:
            raise StoreError(f"no server has hash slot {number}")
        return self._link(master)

    def _link(self, server: Server) -> Link:
        link = self._links.get(server)
        if link is None:
            link = self._links[server] = Link(
                server, self._connections, self._timeout_s, lost=self.refresh, connected=self._changed
            )
        return link

    async def _keep(self) -> None:
        """Notice other masters, and lost connections that nobody needs at the moment."""
        backoff = Backoff()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_S * random.uniform(0.8, 1.2)):  # noqa: S311  # no secret
                    await self._wake.wait()
            self._wake.clear()
            if await self._refresh():
                self._wake.set()
                await asyncio.sleep(backoff.next_s())
            else:
                backoff.reset()
                await asyncio.sleep(_BETWEEN_REFRESHES_S)

    async def _refresh(self) -> list[str]:
        """Look which servers there are, and connect to every master; what failed."""
        if self._single is not None:
            return await _connected([self._single])
        failures = []
        for link in self._candidates():
            try:
                (reply,) = await link.call([("CLUSTER", "SLOTS")])
            except StoreError as error:
                failures.append(str(error))
                continue
            if isinstance(reply, ResponseError):
                failures.append(f"{link}: {reply}")
                continue
            try:
                return await self._take(reply, link.server)
            except UNREADABLE as error:
                failures.append(f"{link}: its reply to CLUSTER SLOTS cannot be read: {error}")
        return failures

    def _candidates(self) -> list[Link]:
        """Whom to ask: those with a connection first, and not always the same one, whose view may be out of date."""
        known = {*self._seeds, *self._replicas, *(master for master in self._masters if master is not None)}
        links = [self._link(server) for server in known]
        random.shuffle(links)
        return sorted(links, key=lambda link: not link.is_connected)

    async def _take(self, reply: Any, asked: Server) -> list[str]:
        masters: list[Server | None] = [None] * SLOTS
        self._replicas = set()
        for found in ranges(reply, asked):
            masters[found.first : found.last + 1] = [found.master] * (found.last + 1 - found.first)
            self._replicas.update(found.replicas)
        before, self._masters = self._masters, masters
        wanted = {master for master in masters if master is not None}
        unwanted = [server for server, link in self._links.items() if server not in wanted and link.is_idle]
        await asyncio.gather(*(self._links.pop(server).close() for server in unwanted))
        if any(was is not None and was != now for was, now in zip(before, masters, strict=True)):
            self._changed()
        failures = await _connected([self._link(server) for server in wanted])
        return [*failures, "not every hash slot has a master"] if None in masters else failures


async def _connected(links: Sequence[Link]) -> list[str]:
    """Connect to servers; what failed."""
    failures = await asyncio.gather(*(link.connect() for link in links), return_exceptions=True)
    for failure in failures:
        if failure is not None and not isinstance(failure, StoreError):
            raise failure
    return [str(failure) for failure in failures if failure is not None]
