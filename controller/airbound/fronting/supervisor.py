# SPDX-License-Identifier: Apache-2.0
"""Starts HAProxy before a port, watches it, and shows its peers the certificate of now.

The listening sockets belong to the controller: peers that connect while there is no process wait in the kernel's
queue. Certificates, key and configuration are in memory that the process inherits, and in no file. It ends with the
controller, however that ends.
"""

import asyncio
import contextlib
import os
import re
import resource
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from airbound.core.addresses import Address, address_from_text, unmapped
from airbound.fronting import configuration, lines
from airbound.fronting.configuration import Limits, Places
from airbound.runtime import child, listening, log

if TYPE_CHECKING:
    import socket

BACKLOG = 4096
READY_S = 20.0
END_WITHIN_S = 3.0
AGAIN_FIRST_S, AGAIN_MAX_S = 0.2, 10.0
STEADY_S = 60.0
"""A process that has lived for so long is no reason to wait."""
COUNTED_EVERY_S = 5.0
READ_OCTETS, LINE_OCTETS_MAX = 65_536, 4_096
ADMIN_S = 5.0
KEPT_FREE = 200
"""Of open files, for itself."""
_DONE = "Success"
_SESSION = re.compile(rf"^(0x[0-9a-f]+): proto=\S+ src=(\S+):(\d+) fe={configuration.FRONTEND} ", re.MULTILINE)

Identity = Callable[[], tuple[bytes, bytes, bytes]]
"""Key, chain, and the authorities of peers, in PEM."""


class FrontError(OSError):
    """HAProxy does not start; the text is its own."""


class Supervisor:
    """Of one process at a time, before the ports of one kind, whose name the log has. `taken` is called with how many
    more handshakes have begun.
    """

    def __init__(
        self, program: str, port: str, identity: Identity, limits: Limits, taken: Callable[[int], None]
    ) -> None:
        self.failures = Counter[str]()
        """Handshakes that failed, by reason."""
        self._processes_total = 0
        self._program, self._identity, self._limits, self._taken = program, identity, limits, taken
        self.port = port
        self._sockets: list[socket.socket] = []
        self._directory: Path | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._names: tuple[str, str] = ("", "")
        self._identity_is_new = False
        self._complaint = ""

    def processes_total(self) -> int:
        """How many have been started."""
        return self._processes_total

    @property
    def pid(self) -> int | None:
        """Of the process that runs."""
        return None if self._process is None else self._process.pid

    @property
    def calls(self) -> Path:
        """The Unix socket that it passes calls on to.

        Raises:
            RuntimeError: it does not listen.
        """
        if self._directory is None:
            raise RuntimeError("it does not listen")
        return self._directory / "calls"

    def listen(self, endpoint: str) -> int:
        """Open ADDRESS:PORT, beside those that were opened before; the real port.

        Raises:
            OSError: an address is taken, not ours, or no address.
        """
        if not os.access(self._program, os.X_OK):
            raise FrontError(0, f"[tls] front: {self._program} is no program")
        if self._directory is None:  # for nobody but the controller's user
            self._directory = Path(tempfile.mkdtemp(prefix="airbound-front-", dir=os.environ.get("RUNTIME_DIRECTORY")))
        opened = listening.opened(endpoint, backlog=BACKLOG, receive_octets=None)
        self._sockets += opened
        port: int = opened[0].getsockname()[1]
        return port

    async def start(self) -> None:
        """Start it, and again whenever it ends.

        Raises:
            FrontError: it ends at once, or does not listen.
        """
        reading = await self._launch()
        try:
            await self._ready()
        except FrontError:
            await self._ended(reading)
            raise
        self._task = asyncio.create_task(self._run(reading))

    async def stop(self) -> None:
        """End it, and listen no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.close()

    def close(self) -> None:
        """Listen no more."""
        for one in self._sockets:
            one.close()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    async def identity_changed(self) -> None:
        """Have new connections shown the identity of now. Those that there are stay."""
        certificate, authorities = self._pem()
        for kind, name, pem in (
            ("cert", self._names[0], certificate),
            ("ca-file", self._names[1], authorities),
        ):
            # An empty line ends what is given, and PEM has none.
            given = "\n".join(line for line in pem.decode("ascii").splitlines() if line)
            try:
                await self._ask(f"set ssl {kind} {name} <<\n{given}\n\n")
                answer = await self._ask(f"commit ssl {kind} {name}\n")
            except (OSError, TimeoutError) as error:
                answer = str(error) or "no answer"
            if _DONE not in answer:
                self._identity_is_new = True  # for one that is being started with the identity before
                if self._process is not None and self._process.returncode is None:
                    text = f"it keeps the certificate before ({' '.join(answer.split())}); it is started again"
                    self._warn(text)
                    self._process.terminate()
                return

    async def end(self, address: Address, port: int) -> None:
        """End the connection from there, if there is one: that of a peer that does not read."""
        with contextlib.suppress(OSError, TimeoutError):
            for name in sessions_of(await self._ask("show sess\n"), address, port):
                await self._ask(f"shutdown session {name}\n")

    def _pem(self) -> tuple[bytes, bytes]:
        key, chain, roots = self._identity()
        return chain.rstrip(b"\n") + b"\n" + key, roots

    async def _run(self, reading: "asyncio.Task[None]") -> None:
        loop, again_s = asyncio.get_running_loop(), AGAIN_FIRST_S
        try:
            while True:
                began_s, process = loop.time(), self._process
                counting = asyncio.create_task(self._count())
                try:
                    if process is not None:
                        await process.wait()
                finally:
                    counting.cancel()
                if loop.time() - began_s >= STEADY_S:
                    again_s = AGAIN_FIRST_S
                why = f"it ended{await self._ended(reading)}" if process is not None else "it is not there"
                self._warn(f"{why}; again in {again_s:g} s")
                await asyncio.sleep(again_s)
                again_s = min(2 * again_s, AGAIN_MAX_S)
                try:
                    reading = await self._launch()
                except OSError as error:
                    self._warn(f"cannot be started: {error.strerror or error}")
        finally:
            await self._ended(reading)

    async def _launch(self) -> "asyncio.Task[None]":
        """One process; the task that reads its log."""
        directory, descriptors = self._directory, [one.fileno() for one in self._sockets]
        if directory is None:
            raise RuntimeError("it does not listen")
        self._identity_is_new, self._complaint = False, ""
        certificate, authorities = self._pem()
        with _memory(certificate) as own, _memory(authorities) as trusted:
            self._names = (f"/proc/self/fd/{own}", f"/proc/self/fd/{trusted}")
            places = Places(descriptors, *self._names, str(self.calls), str(directory / "admin"))
            limits = replace(self._limits, connections_max=_connections_max(self._limits.connections_max))
            with _memory(configuration.text(places, limits).encode()) as config:
                # It must not outlive the controller: the port would stay in use. HAProxy returns to the directory that
                # it was started in, which its user may not be allowed to enter.
                argv = ["--pdeathsig", "KILL", "--", self._program, "-db", "-f", f"/proc/self/fd/{config}"]
                try:
                    self._process = await asyncio.create_subprocess_exec(
                        "setpriv", *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                        stderr=asyncio.subprocess.STDOUT, pass_fds=(*descriptors, own, trusted, config), cwd="/",
                        env={"PATH": os.environ.get("PATH", os.defpath)},
                    )  # fmt: skip
                except OSError as error:
                    why = f"setpriv (util-linux), which starts {self._program}: {error.strerror or error}"
                    raise FrontError(error.errno, why) from error
        self._processes_total += 1
        if self._identity_is_new:
            self._process.terminate()
        if self._process.stdout is None:
            raise RuntimeError("a process that was given a pipe has none")
        return asyncio.create_task(self._read(self._process.stdout))

    async def _ready(self) -> None:
        """Wait until it answers.

        Raises:
            FrontError: it has ended, or does not answer in time.
        """
        try:
            async with asyncio.timeout(READY_S):
                while self._process is not None and self._process.returncode is None:
                    with contextlib.suppress(OSError):
                        await self._ask("show info\n")
                        return
                    await asyncio.sleep(0.02)
        except TimeoutError as error:
            raise FrontError(0, f"{self._program} does not answer") from error
        await asyncio.sleep(0.1)  # what it wrote is in the pipe
        raise FrontError(0, f"{self._program}: {self._complaint or 'it ended at once'}")

    async def _ask(self, command: str) -> str:
        """Ask it by its socket.

        Raises:
            OSError: it is not there.
            TimeoutError: it does not answer.
        """
        if self._directory is None:
            raise FileNotFoundError("it does not listen")
        async with asyncio.timeout(ADMIN_S):
            reader, writer = await asyncio.open_unix_connection(self._directory / "admin")
            try:
                writer.write(command.encode("ascii"))
                writer.write_eof()
                return (await reader.read()).decode(errors="replace")
            finally:
                writer.transport.abort()

    async def _count(self) -> None:
        """Count handshakes, until cancelled."""
        before = 0
        while True:
            await asyncio.sleep(COUNTED_EVERY_S)
            with contextlib.suppress(OSError, TimeoutError, ValueError):
                begun = int((await self._ask("show info\n")).partition("CumSslConns: ")[2].split("\n", 1)[0])
                self._taken(max(0, begun - before))
                before = begun

    async def _read(self, output: asyncio.StreamReader) -> None:
        part = b""
        while data := await output.read(READ_OCTETS):
            *whole, part = (part + data).split(b"\n")
            if len(part) > LINE_OCTETS_MAX:
                whole.append(part)
                part = b""
            for line in whole:
                self._take(line.decode(errors="replace"))

    def _take(self, line: str) -> None:
        reason = lines.failure(line)
        if reason is not None:
            self.failures[reason] += 1
            return
        found = lines.message(line)
        if found is not None and found.is_bad:
            self._complaint = self._complaint or found.text  # the first one has the cause
            self._warn(found.text)

    def _warn(self, text: str) -> None:
        log.event("warning", "front", self._program, f"before the port of {self.port}: {text}")

    async def _ended(self, reading: "asyncio.Task[None]") -> str:
        """See to the process' end, and say how it ended."""
        process = self._process
        if process is None:
            return ""
        if process.returncode is None:
            process.terminate()
        how = await child.ended(process, END_WITHIN_S)
        self._process = None
        await asyncio.wait([reading], timeout=END_WITHIN_S)
        reading.cancel()
        return how


def sessions_of(listed: str, address: Address, port: int) -> list[str]:
    """What HAProxy calls the streams of a peer's connection, by its list of them (`show sess`)."""
    found = []
    for name, host, number in _SESSION.findall(listed):
        with contextlib.suppress(ValueError):
            if int(number) == port and unmapped(address_from_text(host)) == address:
                found.append(name)
    return found


def _connections_max(wanted: int) -> int:
    """So many as are wanted and possible: each may be two open files."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if hard == resource.RLIM_INFINITY else max(1, min(wanted, (hard - KEPT_FREE) // 2))


@contextlib.contextmanager
def _memory(octets: bytes) -> Iterator[int]:
    """A descriptor of a file in memory, which a process that is started within this inherits."""
    descriptor = os.memfd_create("airbound-front", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(octets)
        yield descriptor
    finally:
        os.close(descriptor)
