# SPDX-License-Identifier: Apache-2.0
"""Starts enrolment's process when the first device connects, watches it, and answers its calls.

The listening sockets belong to the controller, so that the port is ours as long as it runs: who connects while there is
no process waits in the kernel's queue. A process that ends, or is silent, is followed by another one, later each time.
Nothing else of the controller depends on it.
"""

import asyncio
import contextlib
import os
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from airbound.enrolling import messages
from airbound.enrolling.front import CAUSES, Cause, FrontLimits
from airbound.enrolling.messages import Call, Counts
from airbound.runtime import child, listening, log

SILENT_S = 30.0  # a process counts each second
AGAIN_FIRST_S, AGAIN_MAX_S = 1.0, 60.0
STEADY_S = 60.0  # a process that has lived for so long is no reason to wait
END_WITHIN_S = 3.0
USED_WITHIN_S = 5.0
WARNED_EVERY_S = 60.0
_ENVIRONMENT = ("PATH", "PYTHON", "LD_", "LANG", "LC_", "GRPC_", "TZ")  # nothing that may be a secret

Answer = Callable[[Call], Awaitable[Mapping[str, Any]]]
"""What is written as the answer of a call, without its number."""


def _above(cause: Cause) -> str:
    limits = FrontLimits()
    return {
        "octets": f"more than {limits.octets} octets",
        "seconds": f"longer than {limits.seconds:g} s",
        "displaced": f"all {limits.connections} places taken",
    }[cause]


class Supervisor:
    """Of one process at a time. `identity` returns key and chain that connections are shown, in PEM; `taken` is called
    with how many connections more the process has taken.
    """

    def __init__(
        self, identity: Callable[[], tuple[bytes, bytes]], answer: Answer, at_once: int, taken: Callable[[int], None]
    ) -> None:
        self.endpoint = ""
        self.closed = Counter[str](dict.fromkeys(CAUSES, 0))  # by cause
        self._identity, self._answer, self._taken = identity, answer, taken
        self._at_once = at_once
        self._processes_total = 0
        self._sockets: list[socket.socket] = []
        self._task: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._using = asyncio.Event()
        self._calls: set[asyncio.Task[None]] = set()
        self._unwarned = Counter[Cause]()
        self._most: dict[Cause, Counter[str]] = {cause: Counter() for cause in CAUSES}
        self._warned_at_s: dict[Cause, float] = {}

    def processes_total(self) -> int:
        """How many have been started."""
        return self._processes_total

    @property
    def pid(self) -> int | None:
        """Of the process that runs."""
        return None if self._process is None else self._process.pid

    def listen(self, endpoint: str) -> int:
        """Open ADDRESS:PORT; the real port.

        Raises:
            OSError: an address is taken, not ours, or no address.
        """
        self._sockets = listening.opened(endpoint)
        port: int = self._sockets[0].getsockname()[1]
        self.endpoint = f"{endpoint.rpartition(':')[0]}:{port}"
        return port

    def start(self) -> None:
        """Wait for devices from now on."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End the process, and listen no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.close()

    def close(self) -> None:
        """Listen no more."""
        for one in self._sockets:
            one.close()

    async def identity_changed(self) -> None:
        """Have connections shown the identity of now; returns when they are."""
        if self._writer is not None:
            self._using.clear()
            self._write_identity(self._writer)
            with contextlib.suppress(TimeoutError):  # it is watched elsewhere
                await asyncio.wait_for(self._using.wait(), USED_WITHIN_S)

    async def _run(self) -> None:
        loop, again_s = asyncio.get_running_loop(), AGAIN_FIRST_S
        while True:
            await self._somebody()
            began_s = loop.time()
            try:
                why = await self._one()
            except OSError as error:  # no descriptor is left, say
                why = str(error)
            if loop.time() - began_s >= STEADY_S:
                again_s = AGAIN_FIRST_S
            log.event("warning", "enrolling", self.endpoint, f"its process ended: {why}; again in {again_s:g} s")
            await asyncio.sleep(again_s)
            again_s = min(2 * again_s, AGAIN_MAX_S)

    async def _somebody(self) -> None:
        """Wait until somebody has connected."""
        loop, there = asyncio.get_running_loop(), asyncio.Event()
        for one in self._sockets:
            loop.add_reader(one, there.set)
        try:
            await there.wait()
        finally:
            for one in self._sockets:
                loop.remove_reader(one)

    async def _one(self) -> str:
        """One process, from its start to its end, and why it has ended."""
        ours, its = socket.socketpair()
        with ours, its:
            descriptors = [one.fileno() for one in self._sockets]
            arguments = [
                "-P", "-m", "airbound.enrolling.process", "--control", f"{its.fileno()}",
                "--listen", ",".join(map(str, descriptors)), "--at-once", f"{self._at_once}",
            ]  # fmt: skip
            environment = {name: value for name, value in os.environ.items() if name.startswith(_ENVIRONMENT)}
            try:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, *arguments, stdin=asyncio.subprocess.DEVNULL, env=environment,
                    pass_fds=(its.fileno(), *descriptors),
                )  # fmt: skip
            except OSError as error:
                return f"it cannot be started: {error}"
            self._processes_total += 1
            its.close()
            try:
                reader, writer = await asyncio.open_unix_connection(sock=ours.dup(), limit=messages.LINE_OCTETS_MAX)
            except OSError:
                self._process.kill()
                await child.ended(self._process, END_WITHIN_S)
                self._process = None
                raise
        self._writer = writer
        why = "the controller stops"
        try:
            self._write_identity(writer)
            why = await self._talk(reader)
        finally:
            self._writer = None
            writer.transport.abort()
            for call in self._calls:
                call.cancel()
            why += await child.ended(self._process, END_WITHIN_S)
            self._process = None
        return why

    async def _talk(self, reader: asyncio.StreamReader) -> str:
        """Take what the process writes, until there is no sense in it."""
        last = Counts("counts", 0, {}, {})
        while True:
            try:
                async with asyncio.timeout(SILENT_S):
                    line = await reader.readline()
                if not line:
                    return ""
                message = messages.parsed(line)
            except TimeoutError:
                return f"silent for {SILENT_S:g} s"
            except OSError as error:
                return str(error)
            except ValueError:
                return "it wrote what is no message"
            if isinstance(message, Call):
                call = asyncio.create_task(self._answered(message, is_taken=len(self._calls) < self._at_once))
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)
            elif isinstance(message, Counts):
                self._count(message, last)
                last = message
            else:
                self._using.set()

    async def _answered(self, call: Call, *, is_taken: bool) -> None:
        if not is_taken:
            answer: Mapping[str, Any] = {
                "kind": "refusal", "status": "RESOURCE_EXHAUSTED", "text": "too many at once", "code": ""
            }  # fmt: skip
        else:
            try:
                answer = await self._answer(call)
            except Exception as error:  # noqa: BLE001  # a device is answered whatever has failed here
                log.event("warning", "enrolling", self.endpoint, f"{type(error).__name__}: {error}")
                answer = {"kind": "refusal", "status": "INTERNAL", "text": "internal error", "code": ""}
        if self._writer is not None:
            self._writer.write(messages.line({"call": call.call, **answer}))
            with contextlib.suppress(OSError):
                await self._writer.drain()

    def _write_identity(self, writer: asyncio.StreamWriter) -> None:
        key, chain = self._identity()
        writer.write(messages.line({"kind": "identity", "key": key.decode(), "chain": chain.decode()}))

    def _count(self, counts: Counts, last: Counts) -> None:
        """Add what is new since the last counts of the same process, and warn of it now and then."""
        self._taken(max(0, counts.taken - last.taken))
        now_s = asyncio.get_running_loop().time()
        for cause, total in counts.closed.items():
            fresh = max(0, total - last.closed.get(cause, 0))
            self.closed[cause] += fresh
            self._unwarned[cause] += fresh
            address, count = counts.most.get(cause, ("", 0))
            if count:
                self._most[cause][address] += count
            if self._unwarned[cause] and now_s - self._warned_at_s.get(cause, -WARNED_EVERY_S) >= WARNED_EVERY_S:
                self._warned_at_s[cause] = now_s
                self._warn(cause)

    def _warn(self, cause: Cause) -> None:
        most = self._most[cause].most_common(1)
        of_whom = f", most of them of {most[0][0]}" if most else ""
        text = f"{self._unwarned[cause]} connections closed: {_above(cause)}{of_whom}"
        log.event("warning", "connections", "enrollment", text)
        self._unwarned[cause] = 0
        self._most[cause].clear()
