# SPDX-License-Identifier: Apache-2.0
"""The owner's side: access points whose streams end here, the cells that they report, and terminals at other replicas.

An access point's reports count once the cell is ours; the last one waits until then. If another replica owns the cell,
it is asked to give it: it does unless another access point reports the same BSSID to it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from airbound.core.addresses import mac_text
from airbound.core.effects import Command, RenewLease, SetStationRules, StationsChanged
from airbound.core.events import AccessPointReported, Disowned, Owned, Refused, TerminalReported
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Code, Reason
from airbound.grpc import command_convert, convert
from airbound.replica.ownership import OtherOwner, Ownership
from airbound.replica.ownership import Owned as Lease
from airbound.runtime import log
from airbound.store.types import Claim, Place, Store, StoreError, Token
from airbound.v1 import replica_pb2, terminal_pb2

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from airbound.core.addresses import Mac
    from airbound.core.cell.memory import CellMemory
    from airbound.core.effects import CellForgotten
    from airbound.core.reports import AccessPointReport
    from airbound.replica.outbox import Outbox
    from airbound.runtime.reception import Connection
    from airbound.runtime.runner import Runner

DIRECTORY_MS = 30_000
REFRESH_S = 10.0
SILENT_US = 30_000_000
ABANDONED_US = 1_000_000
PLACED_MAX = 500  # stations in one call


@dataclass(slots=True)
class _AccessPoint:
    session: Connection
    bssid: Mac
    waiting: AccessPointReported | None = None


class RemotePort:
    """A terminal's stream whose connection is at another replica."""

    def __init__(self, stream: Stream, host: str, number: int, owners: Owners) -> None:
        self.stream = stream
        self.host, self.number = host, number
        self.reported_at_us = 0
        self._owners = owners

    def send(self, command: Command) -> None:
        """Have a command written, there."""
        self._owners.command(self, command)

    def close(self, reason: Reason) -> None:
        """End the connection, there."""
        self._owners.close(self, reason)


class Owners:
    """Cells of this replica, and how they come and go."""

    def __init__(self, runner: Runner, store: Store, outbox: Outbox) -> None:
        self.ownership = Ownership(
            store, runner.now_us, owned=self._owned, doubted=self._doubted, lost=self._lost, refused=self._refused
        )
        self._runner = runner
        self._store = store
        self._outbox = outbox
        self._access_points: dict[int, _AccessPoint] = {}  # by the number of their connection
        self._remote: dict[tuple[str, int], RemotePort] = {}
        self._tasks = set[asyncio.Task[None]]()
        self._again = asyncio.Event()
        self._heard = Counter[str]()  # messages, by replica
        runner.awake = self.ownership.stall.check
        runner.cells_changed = self._cells_changed

    @property
    def access_points(self) -> int:
        """Access points whose streams end here."""
        return len(self._access_points)

    def epochs(self) -> dict[Mac, int]:
        """Epoch of each cell of ours."""
        return {cell: lease.token.epoch for cell, lease in self.ownership.cells.items()}

    # Access points

    def opened(self, session: Connection) -> None:
        """An access point's connection has begun."""
        self._runner.open(session)

    def closed(self, session: Connection) -> None:
        """An access point's connection has ended. Its cell stays ours until another replica asks for it."""
        access_point = self._access_points.pop(session.stream.number, None)
        if access_point is not None and not self._of(access_point.bssid):
            self.ownership.unwant(access_point.bssid)
            self.ownership.doubt(access_point.bssid)
        self._runner.close(session)

    def route_report(self, session: Connection, report: AccessPointReport, octets: bytes, now_us: int) -> None:
        """An access point's report arrived."""
        access_point = self._access_points.get(session.stream.number)
        if access_point is None:
            access_point = self._access_points[session.stream.number] = _AccessPoint(session, report.bssid)
        event = AccessPointReported(session.stream, report, octets)
        if report.bssid != access_point.bssid:
            reason = Reason(Code.OTHER_CELL, mac_text(report.bssid))
            self._runner.submit(Refused(session.stream, reason), now_us)
            session.close(reason)
        elif self.ownership.token(report.bssid, now_us) is not None:
            self._runner.submit(event, now_us)
        else:
            access_point.waiting = event
            self.ownership.want(report.bssid)

    def send_away(self, reason: Reason, most: int | None = None) -> None:
        """End the streams of access points, of all or the first ones; their cells may be another replica's then."""
        for access_point in list(self._access_points.values())[:most]:
            access_point.session.close(reason)

    def _of(self, bssid: Mac) -> list[_AccessPoint]:
        return [access_point for access_point in self._access_points.values() if access_point.bssid == bssid]

    # Ownership

    def _owned(self, cell: Mac, lease: Lease, learnt: CellMemory | None) -> None:
        if lease.doubt_lasted_us > ABANDONED_US and not self._of(cell):
            # The store was away, and the access point is elsewhere by now. Silence is no reason to release its phones.
            self._do(self.give(cell, Reason(Code.OTHER_REPLICA, mac_text(cell))))
            return
        known = self._runner.engine.cells.get(cell)
        if known is not None and known.epoch != lease.token.epoch:
            # It was not ours for a while: its terminals may have been taken for nobody's.
            self._do(self._write(StationsChanged(cell, tuple(known.stations.by_mac), ()), lease.token))
        self._runner.submit(Owned(cell, lease.token.epoch, lease.commanded_until_us(), learnt))
        for access_point in self._of(cell):
            event, access_point.waiting = access_point.waiting, None
            if event is not None:
                self._runner.submit(event)
        now_known = self._runner.engine.cells.get(cell)
        if now_known is not None and (known is None or known.epoch != lease.token.epoch):
            # Who its access point is: another replica asks for that before it takes a silent owner's cell over.
            self._do(self.ownership.keep([(cell, now_known.memory(self._runner.now_us()))]))

    def _doubted(self, cell: Mac) -> None:
        self._runner.engine.doubt(cell)

    def _lost(self, cell: Mac, claim: Claim | None) -> None:
        why = f"is owned by {claim.token.replica}" if claim is not None else "our lease ended"
        log.event("warning", "cell", mac_text(cell), why, cell=cell)
        self._runner.submit(Disowned(cell, Reason(Code.OTHER_REPLICA, mac_text(cell))))

    def heard(self, replica: str) -> None:
        """A message of another replica came."""
        self._heard[replica] += 1

    def _refused(self, cell: Mac, token: Token) -> OtherOwner:
        access_points, name = self._of(cell), ""
        if access_points:
            name = access_points[-1].session.stream.principal.name
            asked = replica_pb2.CellRequested(bssid=cell, access_point=name)
            self._outbox.send(token.replica, replica_pb2.ReplicaMessage(cell_requested=asked))
        return OtherOwner(self._outbox.silent_s(token.replica), self._heard[token.replica], name)

    def requested(self, sender: str, message: replica_pb2.CellRequested) -> None:
        """Another replica has the stream of an access point that reports a cell of ours."""
        cell, now_us = message.bssid, self._runner.now_us()
        if cell not in self.ownership.cells:
            return  # its claim goes through at the next try
        rival = self._runner.engine.rival_access_point(cell, message.access_point, now_us)
        if rival:
            refused = replica_pb2.CellRefused(bssid=cell, access_point=rival)
            self._outbox.send(sender, replica_pb2.ReplicaMessage(cell_refused=refused))
        else:
            self._do(self._give_to(sender, cell))

    async def _give_to(self, sender: str, cell: Mac) -> None:
        await self.give(cell, Reason(Code.OTHER_REPLICA, mac_text(cell)))
        granted = replica_pb2.CellGranted(bssid=cell)
        self._outbox.send(sender, replica_pb2.ReplicaMessage(cell_granted=granted))

    async def give(self, cell: Mac, reason: Reason) -> None:
        """Stop to command a cell, then let others own it."""
        state = self._runner.engine.cells.get(cell)
        learnt = state.memory(self._runner.now_us()) if state is not None else None
        self._runner.submit(Disowned(cell, reason))
        await self.ownership.give(cell, learnt)

    def granted(self, message: replica_pb2.CellGranted) -> None:
        """A cell that we asked for is nobody's."""
        if self._of(message.bssid):
            self.ownership.want(message.bssid)
            self.ownership.try_now(message.bssid)

    def refused(self, message: replica_pb2.CellRefused) -> None:
        """Another access point reports the cell, elsewhere."""
        for access_point in self._of(message.bssid):
            reason = Reason(Code.CELL_CLAIMED, message.access_point)
            self._runner.submit(Refused(access_point.session.stream, reason))

    # Terminals at other replicas

    def stream_opened(self, sender: str, message: replica_pb2.StreamOpened) -> None:
        """A terminal at another replica is in a cell of ours."""
        key = sender, message.stream
        if key in self._remote:
            return
        principal = Principal("terminal", message.name)
        number = self._runner.next_stream()
        stream = Stream(number, principal, message.address, message.generation, moved=True)
        port = self._remote[key] = RemotePort(stream, sender, message.stream, self)
        self._runner.attach(port)
        self._report(port, message.report)

    def stream_reported(self, sender: str, message: replica_pb2.StreamReported) -> None:
        """A terminal at another replica reported."""
        port = self._remote.get((sender, message.stream))
        if port is not None:
            self._report(port, message.report)
        else:
            unknown = Reason(Code.OTHER_REPLICA)
            close = replica_pb2.CloseStream(stream=message.stream, reason=command_convert.reason_message(unknown))
            self._outbox.send(sender, replica_pb2.ReplicaMessage(close_stream=close))

    def stream_closed(self, sender: str, message: replica_pb2.StreamClosed) -> None:
        """A terminal at another replica is gone, or in another's cell."""
        port = self._remote.pop((sender, message.stream), None)
        if port is not None:
            self._runner.detach(port, moved=not message.ended)

    def _report(self, port: RemotePort, octets: bytes) -> None:
        try:
            request = terminal_pb2.TerminalServiceConnectRequest.FromString(octets)
        except DecodeError:
            return  # the host has read it: this cannot be
        report, _ = convert.terminal_report(request.report)
        port.reported_at_us = self._runner.now_us()
        if report is not None:
            self._runner.submit(TerminalReported(port.stream, report, octets))

    def command(self, port: RemotePort, effect: Command) -> None:
        """Send a command to the terminal's host."""
        if isinstance(effect, SetStationRules):
            raise TypeError("a switch has no port at another replica")
        bssid, epoch = self._runner.engine.ownership_of(port.stream)
        command = replica_pb2.StreamCommand(
            stream=port.number, epoch=epoch, command=command_convert.agent_command(effect), bssid=bssid
        )
        message = replica_pb2.ReplicaMessage(stream_command=command)
        self._outbox.send(port.host, message, batch=isinstance(effect, RenewLease))

    def close(self, port: RemotePort, reason: Reason) -> None:
        """Have the terminal's host end its connection."""
        close = replica_pb2.CloseStream(stream=port.number, reason=command_convert.reason_message(reason))
        self._outbox.send(port.host, replica_pb2.ReplicaMessage(close_stream=close))
        asyncio.get_running_loop().call_soon(self._drop, port)

    def _drop(self, port: RemotePort) -> None:
        if self._remote.pop((port.host, port.number), None) is not None:
            self._runner.detach(port, moved=True)

    def _drop_silent(self) -> None:
        """The word of a stream's end may have been lost."""
        engine, now_us = self._runner.engine, self._runner.now_us()
        for port in list(self._remote.values()):
            if now_us - port.reported_at_us > max(SILENT_US, 3_000 * engine.heartbeat_ms_of(port.stream)):
                self._drop(port)

    def gone(self, replica: str) -> None:
        """A replica ended: so did the connections of its terminals."""
        for key in [key for key in self._remote if key[0] == replica]:
            self._runner.detach(self._remote.pop(key), moved=False)

    # Directory

    def _cells_changed(self, change: StationsChanged | CellForgotten) -> None:
        if not isinstance(change, StationsChanged):
            self._do(self.ownership.give(change.bssid, None))
            return
        lease = self.ownership.cells.get(change.bssid)
        if lease is not None:
            self._do(self._write(change, lease.token))

    async def _write(self, change: StationsChanged, token: Token) -> None:
        try:
            if change.gone:
                await self._store.displace(change.gone, change.bssid, token)
            if change.appeared:
                places = self._places(change.bssid, token, change.appeared)
                hosts = await self._store.place(places, ttl_ms=DIRECTORY_MS)
                for (mac, place), names in zip(places, hosts, strict=True):
                    self._announce(mac, place, names or frozenset())
        except StoreError as error:
            log.event("warning", "store", "directory", str(error))  # written again by `refresh`

    def _places(self, bssid: Mac, token: Token, macs: tuple[Mac, ...]) -> list[tuple[Mac, Place]]:
        cell, now_us = self._runner.engine.cells.get(bssid), self._runner.now_us()
        if cell is None:
            return []
        known = cell.stations.by_mac
        return [
            (mac, Place(bssid, token, max(0, now_us - known[mac].associated_at_us) // 1000))
            for mac in macs
            if mac in known
        ]

    def _announce(self, mac: Mac, place: Place, hosts: frozenset[str]) -> None:
        message = replica_pb2.StationPlaced(mac=mac, bssid=place.bssid, epoch=place.token.epoch)
        for host in hosts:
            self._outbox.send(host, replica_pb2.ReplicaMessage(station_placed=message))

    async def refresh(self) -> None:
        """Keep the directory's entries alive, and what was learnt of the cells; for ever."""
        while True:
            self._again.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_S):
                    await self._again.wait()
            self._drop_silent()
            for bssid, lease in list(self.ownership.cells.items()):
                cell = self._runner.engine.cells.get(bssid)
                if cell is None:
                    continue
                macs = tuple(cell.stations.by_mac)
                try:
                    for start in range(0, len(macs), PLACED_MAX):
                        places = self._places(bssid, lease.token, macs[start : start + PLACED_MAX])
                        await self._store.place(places, ttl_ms=DIRECTORY_MS)
                except StoreError:
                    break  # is logged where leases are renewed
                await self.ownership.keep([(bssid, cell.memory(self._runner.now_us()))])

    def refresh_now(self) -> None:
        """Write the directory's entries again."""
        self._again.set()

    # End

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Give every cell back, each with what was learnt of it."""
        reason = Reason(Code.STOPPING)
        await asyncio.gather(*(self.give(cell, reason) for cell in list(self.ownership.cells)))
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.ownership.stop()
