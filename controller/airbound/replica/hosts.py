# SPDX-License-Identifier: Apache-2.0
"""The host's side of terminals: streams that end here, each with the replica that owns its terminal's cell.

Every terminal is with exactly one engine, by a stream of its own number there. It begins with the one of this process;
once the directory has its station in a cell of another owner's, it goes to that engine: a new stream there, the end of
the one here, no word to the terminal. The owner's commands count while the terminal is with it, and none of an epoch
that is over.

A report goes to the owner if something changed in it that decisions follow from, or at least every two seconds: a
message costs as much as a report.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from airbound.core.addresses import Mac
from airbound.core.effects import Command, SetBounds
from airbound.core.events import TerminalReported
from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason
from airbound.grpc import command_convert, convert
from airbound.runtime import log
from airbound.store.types import Place, Store, StoreError
from airbound.v1 import replica_pb2, terminal_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from airbound.core.reports import Destination, TerminalReport
    from airbound.replica.outbox import Outbox
    from airbound.runtime.reception import Connection
    from airbound.runtime.runner import Runner

DIRECTORY_MS = 30_000
REFRESH_S = 10.0
FORWARD_US = 1_900_000  # a sender reports each second: every other report at least
SILENT_US = 1_000_000
SRTT_RATIO = 1.25
LOOK_UP_MAX = 500  # terminals in one call
LOOK_UP_AGAIN_S = 0.5  # after the store has not answered: until a terminal is found it has no bounds


class Port:
    """A terminal's stream as the engine of this process sees it after it was elsewhere."""

    def __init__(self, stream: Stream, session: Connection) -> None:
        self.stream = stream
        self._session = session

    def send(self, command: Command) -> None:
        """Have a command written."""
        self._session.send(command)

    def close(self, reason: Reason) -> None:
        """End the connection."""
        self._session.close(reason)


class Hosted:
    """A terminal's connection and whom it is with."""

    __slots__ = ("agent", "bssid", "epoch", "forwarded", "forwarded_at_us", "last", "mac", "owner", "port", "session")

    def __init__(self, session: Connection) -> None:
        self.session = session
        self.port: Port | None = None  # its stream at our engine, if that is not the connection's own
        self.mac: Mac = b""
        self.last = b""  # TerminalServiceConnectRequest
        self.agent: terminal_pb2.Agent | None = None
        self.owner = ""  # a replica; empty: the engine here
        self.bssid: Mac = b""
        self.epoch = 0
        self.forwarded: tuple[Destination, ...] = ()
        self.forwarded_at_us = 0

    @property
    def number(self) -> int:
        """Number of the stream at the replica that has the terminal."""
        return self.port.stream.number if self.port is not None else self.session.stream.number


class Hosts:
    """All terminals whose connections end here."""

    def __init__(
        self, name: str, runner: Runner, store: Store, outbox: Outbox, is_there: Callable[[str], bool]
    ) -> None:
        self._name = name
        self._runner = runner
        self._store = store
        self._outbox = outbox
        self._is_there = is_there
        self._by_connection: dict[int, Hosted] = {}
        self._by_number: dict[int, Hosted] = {}  # of the stream at another replica
        self._by_mac: dict[Mac, set[Hosted]] = {}
        self._unknown = set[Mac]()  # to be looked up
        self._silent: dict[str, int] = {}  # replicas that did not get what they were sent, and until when that counts
        self._looking: asyncio.Task[None] | None = None

    @property
    def of_others(self) -> int:
        """Terminals that are with other replicas."""
        return len(self._by_number)

    def __len__(self) -> int:
        return len(self._by_connection)

    # Streams

    def opened(self, session: Connection) -> None:
        """A terminal's connection has begun."""
        self._by_connection[session.stream.number] = Hosted(session)
        self._runner.open(session)

    def closed(self, session: Connection) -> None:
        """A terminal's connection has ended."""
        hosted = self._by_connection.pop(session.stream.number, None)
        if hosted is not None:
            if hosted.owner or hosted.port is not None:
                self._leave(hosted, ended=True)
            self._forget_mac(hosted)
        self._runner.close(session)

    def route_report(self, session: Connection, report: TerminalReport, octets: bytes, now_us: int) -> None:
        """A terminal's report arrived."""
        hosted = self._by_connection.get(session.stream.number)
        if hosted is None:
            return
        hosted.last = octets
        if report.agent is not None:
            hosted.agent = terminal_pb2.TerminalServiceConnectRequest.FromString(octets).report.agent
        if report.mac != hosted.mac:
            self._forget_mac(hosted)
            hosted.mac = report.mac
            self._by_mac.setdefault(report.mac, set()).add(hosted)
            self.look_up([report.mac])
        if not hosted.owner:
            stream = hosted.port.stream if hosted.port is not None else session.stream
            self._runner.submit(TerminalReported(stream, report, octets), now_us)
            return
        news = report.agent is not None or _differ(hosted.forwarded, report.destinations)
        if news or now_us - hosted.forwarded_at_us >= FORWARD_US:
            hosted.forwarded, hosted.forwarded_at_us = report.destinations, now_us
            message = replica_pb2.StreamReported(stream=hosted.number, report=octets)
            self._outbox.send(hosted.owner, replica_pb2.ReplicaMessage(stream_reported=message), batch=not news)

    def _forget_mac(self, hosted: Hosted) -> None:
        of_mac = self._by_mac.get(hosted.mac)
        if of_mac is None:
            return
        of_mac.discard(hosted)
        if not of_mac:
            del self._by_mac[hosted.mac]
            asyncio.get_running_loop().create_task(self._depart(hosted.mac))

    async def _depart(self, mac: Mac) -> None:
        with contextlib.suppress(StoreError):  # the entry ends by itself
            await self._store.depart([mac])

    # Directory

    def look_up(self, macs: Iterable[Mac]) -> None:
        """Find out whose these terminals are."""
        self._unknown.update(macs)
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look_up())

    async def _look_up(self) -> None:
        try:
            while self._unknown:
                macs = [self._unknown.pop() for _ in range(min(LOOK_UP_MAX, len(self._unknown)))]
                macs = [mac for mac in macs if mac in self._by_mac]
                try:
                    found = await self._store.arrive(macs, ttl_ms=DIRECTORY_MS)
                except StoreError:  # is logged where leases are renewed
                    found = [None] * len(macs)
                for mac, places in zip(macs, found, strict=True):
                    if places is None:
                        self._unknown.add(mac)
                        continue
                    place = next((place for place in places if self._can_have(place.token.replica)), None)
                    for hosted in list(self._by_mac.get(mac, ())):
                        self._settle(hosted, place)
                if None in found:
                    await asyncio.sleep(LOOK_UP_AGAIN_S)
        finally:
            self._looking = None

    async def refresh(self) -> None:
        """Keep the directory's entries alive, and find what was missed; for ever."""
        while True:
            await asyncio.sleep(REFRESH_S)
            self.refresh_now()

    def _can_have(self, replica: str) -> bool:
        if not self._is_there(replica):
            return False
        until_us = self._silent.get(replica, 0)
        if until_us and self._runner.now_us() >= until_us:
            del self._silent[replica]
        return replica not in self._silent

    def refresh_now(self) -> None:
        """Look up every terminal."""
        self.look_up(list(self._by_mac))

    def _settle(self, hosted: Hosted, place: Place | None) -> None:
        """Have the terminal be with its cell's owner. One whose station is nowhere stays with the last, who released
        it.
        """
        if place is None:
            return
        if place.token.replica == self._name:
            if hosted.owner:
                self._leave(hosted)
                self._join_here(hosted)
            return
        if hosted.owner != place.token.replica:
            self._leave(hosted)
            self._join(hosted, place)
        elif hosted.bssid == place.bssid:
            hosted.epoch = max(hosted.epoch, place.token.epoch)
        else:  # each cell has epochs of its own
            hosted.bssid, hosted.epoch = place.bssid, place.token.epoch

    def _leave(self, hosted: Hosted, *, ended: bool = False) -> None:
        """End the terminal's stream at the replica that has it; unless it `ended`, its connection stays."""
        if hosted.owner:
            closed = replica_pb2.StreamClosed(stream=hosted.number, ended=ended)
            self._outbox.send(hosted.owner, replica_pb2.ReplicaMessage(stream_closed=closed))
            del self._by_number[hosted.number]
            hosted.owner, hosted.port = "", None
        else:
            self._runner.detach(hosted.port or hosted.session, moved=not ended)
            hosted.port = None

    def _new_port(self, hosted: Hosted) -> Port:
        stream = hosted.session.stream
        number = self._runner.next_stream()
        return Port(
            Stream(number, stream.principal, stream.address, hosted.session.generation, moved=True), hosted.session
        )

    def _whole_report(self, hosted: Hosted) -> bytes:
        """The last report with the description of the agent, which only the first of a connection has."""
        request = terminal_pb2.TerminalServiceConnectRequest.FromString(hosted.last)
        if hosted.agent is not None:
            request.report.agent.CopyFrom(hosted.agent)
        return request.SerializeToString()

    def _join_here(self, hosted: Hosted) -> None:
        port = hosted.port = self._new_port(hosted)
        self._runner.attach(port)
        octets = self._whole_report(hosted)
        request = terminal_pb2.TerminalServiceConnectRequest.FromString(octets)
        report, _ = convert.terminal_report(request.report)
        if report is not None:
            self._runner.submit(TerminalReported(port.stream, report, octets))

    def _join(self, hosted: Hosted, place: Place) -> None:
        port = hosted.port = self._new_port(hosted)
        hosted.owner, hosted.bssid, hosted.epoch = place.token.replica, place.bssid, place.token.epoch
        hosted.forwarded, hosted.forwarded_at_us = (), 0
        self._by_number[port.stream.number] = hosted
        opened = replica_pb2.StreamOpened(
            stream=port.stream.number,
            name=port.stream.principal.name,
            address=port.stream.address,
            generation=port.stream.generation,
            report=self._whole_report(hosted),
        )
        self._outbox.send(hosted.owner, replica_pb2.ReplicaMessage(stream_opened=opened))

    # Owners

    def placed(self, message: replica_pb2.StationPlaced) -> None:
        """An owner has a terminal of ours in its cell; the directory has the order if two owners say so."""
        if message.mac in self._by_mac:
            self.look_up([message.mac])

    def commanded(self, sender: str, message: replica_pb2.StreamCommand) -> None:
        """A command of an owner."""
        hosted = self._by_number.get(message.stream)
        if hosted is None or hosted.owner != sender:
            self._runner.counts.totals["fenced_total", Code.UNSPECIFIED] += 1
            return
        if message.epoch:
            if message.bssid == hosted.bssid and message.epoch < hosted.epoch:
                self._runner.counts.totals["fenced_total", Code.UNSPECIFIED] += 1
                return
            # The owner may have moved the terminal to another of its cells before the directory says so.
            hosted.bssid, hosted.epoch = message.bssid, message.epoch
        effect = command_convert.terminal_effect(message.command, hosted.session.stream)
        if isinstance(effect, SetBounds) and effect.generation <= hosted.session.generation:
            self._runner.counts.totals["fenced_total", Code.UNSPECIFIED] += 1
        elif effect is not None:
            self._runner.measures.commands[type(effect).__name__] += 1
            hosted.session.send(effect)

    def to_be_closed(self, sender: str, message: replica_pb2.CloseStream) -> None:
        """An owner ends a stream, or does not have it."""
        hosted = self._by_number.get(message.stream)
        if hosted is None or hosted.owner != sender:
            return
        reason = command_convert.reason_of(message.reason)
        if reason.code is not Code.OTHER_REPLICA:
            hosted.session.close(reason)
            return
        self._leave(hosted)
        self._join_here(hosted)
        self.look_up([hosted.mac])

    def gone(self, replica: str) -> None:
        """A replica ended, or did not get what it was sent: its terminals wait here for their cell's next owner."""
        self._silent[replica] = self._runner.now_us() + SILENT_US
        of_it = [hosted for hosted in self._by_number.values() if hosted.owner == replica]
        for hosted in of_it:
            self._leave(hosted)
            self._join_here(hosted)
        if of_it:
            log.event("warning", "replica", replica, f"has {len(of_it)} terminals of ours no more")
        self.look_up([hosted.mac for hosted in of_it])

    def surplus(self, count: int) -> list[Hosted]:
        """Connections that may end for balance: first those of others' terminals."""
        ranked = sorted(self._by_connection.values(), key=lambda hosted: not hosted.owner)
        return ranked[:count]

    async def stop(self) -> None:
        """Look up nothing more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)


def _differ(before: tuple[Destination, ...], after: tuple[Destination, ...]) -> bool:
    """Whether anything changed that decisions follow from. Agents list the most active destination first."""
    known = {old.address: old for old in before}
    return len(before) != len(after) or any(
        (old := known.get(new.address)) is None
        or new[:-1] != old[:-1]
        or not old.srtt_us / SRTT_RATIO <= new.srtt_us <= old.srtt_us * SRTT_RATIO
        for new in after
    )
