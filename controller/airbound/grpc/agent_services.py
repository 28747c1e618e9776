# SPDX-License-Identifier: Apache-2.0
"""The services that agents connect to: reports in, commands out."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from airbound import grpc_server
from airbound.config import Limits
from airbound.core.addresses import Address
from airbound.core.events import Refused
from airbound.core.parameters import Mode
from airbound.core.principals import Role, Stream
from airbound.core.reasons import Code, Reason, RefusedError
from airbound.grpc import convert, switch_convert
from airbound.grpc.checks import Checks
from airbound.grpc.peers import Peer, Peers
from airbound.grpc.principals import remote_of
from airbound.grpc.session import REPORT_BYTES_MAX, Session, abort
from airbound.runtime.rate_limit import Budget, Budgets, RateLimit
from airbound.runtime.reception import Reception
from airbound.runtime.runner import Runner
from airbound.runtime.sockets import shut_down
from airbound.v1 import access_point_pb2, switch_pb2, terminal_pb2

ACCESS_POINT_SERVICE = access_point_pb2.DESCRIPTOR.services_by_name["AccessPointService"].full_name
TERMINAL_SERVICE = terminal_pb2.DESCRIPTOR.services_by_name["TerminalService"].full_name
SWITCH_SERVICE = switch_pb2.DESCRIPTOR.services_by_name["SwitchService"].full_name

Handle = Callable[[Session, bytes, int], int]
"""Takes a report that arrived at a time in us; returns how many entries it has."""

_WIRE_MODES: dict[Mode, access_point_pb2.CellMode] = {
    "observe": access_point_pb2.CELL_MODE_OBSERVE,
    "control": access_point_pb2.CELL_MODE_CONTROL,
}
CELL_MODES: dict[Mode, bytes] = {
    mode: access_point_pb2.AccessPointServiceConnectResponse(mode=wire).SerializeToString()
    for mode, wire in _WIRE_MODES.items()
}
"""What each response to an access point says of its cell."""
ENTRY_BYTES = 128  # an entry, however few there are in so many octets
SWITCH_ENTRIES_FACTOR = 8
ANSWERS = ("airbound-answers", "1")
"""Metadata of a stream whose agent knows that a response without a command is the answer to a report."""


class Front(Protocol):
    """What ends agents' connections in place of gRPC."""

    async def end(self, address: Address, port: int) -> None:
        """End the connection from there, if there is one."""


class AgentServices:
    """All services on one runner; streams lead to `reception`."""

    def __init__(
        self, runner: Runner, reception: Reception, limits: Limits, peers: Peers, checks: Checks | None = None
    ) -> None:
        """Without checks, those that access points ask for are not answered."""
        self._runner = runner
        self._checks = checks
        self._reception = reception
        self._peers = peers
        self._limits = limits
        self.port = 0  # that they are served on
        self.front: Front | None = None  # whose the connections are; none: gRPC's
        self._hanging_up: set[asyncio.Task[None]] = set()
        self._budgets = Budgets()

    def serve(self, server: grpc.aio.Server) -> None:
        """Serve them. Messages are not decoded by grpc: see session.py."""
        methods = {
            ACCESS_POINT_SERVICE: self._access_point,
            TERMINAL_SERVICE: self._terminal,
            SWITCH_SERVICE: self._switch,
        }
        for service, connect in methods.items():
            grpc_server.serve(server, service, {"Connect": grpc.stream_stream_rpc_method_handler(connect)})

    async def _access_point(self, _: Any, context: Any) -> None:
        await self._serve("access-point", context, self._access_point_report)

    async def _terminal(self, _: Any, context: Any) -> None:
        await self._serve("terminal", context, self._terminal_report)

    async def _switch(self, _: Any, context: Any) -> None:
        await self._serve("switch", context, self._switch_report)

    async def _serve(self, role: Role, context: Any, handle: Handle) -> None:
        """One stream, from its opening to its end."""
        runner = self._runner
        try:
            peer = self._peers.identify(role, context)
        except RefusedError as error:
            runner.refuse(f"{role} at {self._peers.name_of(context)}", error.reason)
            await abort(context, error.reason)
            raise
        refusal = runner.refuse_stream(peer.principal, peer.address)
        if refusal is not None:
            await abort(context, refusal)
        stream = Stream(runner.next_stream(), peer.principal, peer.address)
        limits, who = self._limits, f"{role} {peer.principal.name}"
        session = Session(
            stream,
            context,
            runner.measures.write.observe,
            slow_reader_s=limits.slow_reader_s,
            slow=lambda reason: runner.refuse(who, reason),
            hang_up=lambda: self._hang_up(self._peers.name_of(context)),
            # At the first report: a header block that was cut off is a call as well, with all of its fields.
            answers=lambda: ANSWERS in context.invocation_metadata(),
        )

        def silent() -> None:
            reason = Reason(Code.NO_REPORT, limit=limits.first_report_s)
            runner.refuse(who, reason)
            session.close(reason)

        first = asyncio.get_running_loop().call_later(limits.first_report_s, silent)

        account = peer.account
        account.streams += 1
        self._reception.opened(session)
        try:
            with self._peers.during(peer, session.close):
                await session.read(self._taking(role, peer, session, first, handle))
        finally:
            first.cancel()
            account.streams -= 1
            self._reception.closed(session)

    def _taking(
        self, role: Role, peer: Peer, session: Session, first: asyncio.TimerHandle, handle: Handle
    ) -> Callable[[bytes], None]:
        """What takes a stream's messages; the first one cancels `first`."""
        runner, limits, stream = self._runner, self._limits, session.stream
        limit, bytes_max, budget = RateLimit(limits.reports_per_s), REPORT_BYTES_MAX[role], self._budget(peer)

        def take(data: bytes) -> None:
            first.cancel()
            runner.measures.reports[role] += 1
            now_us = runner.now_us()
            if len(data) > bytes_max:
                refuse(Reason(Code.TOO_LARGE, after=len(data), limit=bytes_max))
            elif not limit.take(now_us):
                runner.submit(Refused(stream, Reason(Code.RATE_LIMITED, limit=limits.reports_per_s)))
            elif budget is not None and not budget.left(now_us):
                name = f"{role}/{peer.principal.name} in a second"
                reason = Reason(Code.TOO_MANY_ENTRIES, name, after=budget.taken(), limit=budget.per_s)
                runner.submit(Refused(stream, reason))
            else:
                try:
                    entries = handle(session, data, now_us)
                except DecodeError:
                    refuse(Reason(Code.MALFORMED, "message"))
                else:
                    peer.account.message(len(data))
                    if budget is not None:
                        budget.spend(max(entries, len(data) / ENTRY_BYTES))

        def refuse(reason: Reason) -> None:
            """What cannot be read ends the stream: nobody knows what comes next."""
            runner.submit(Refused(stream, reason))
            session.close(reason)

        return take

    def _hang_up(self, peer: str) -> None:
        """End a connection whose peer reads nothing; a thread looks for it, or the front does."""
        remote = remote_of(peer)
        if remote is not None and self.front is not None:
            task = asyncio.create_task(self.front.end(*remote))
            self._hanging_up.add(task)
            task.add_done_callback(self._hanging_up.discard)
        elif remote is not None:
            asyncio.get_running_loop().run_in_executor(None, shut_down, self.port, *remote)

    def _budget(self, peer: Peer) -> Budget | None:
        """What one name's reports may cost; in plain text nobody has a name."""
        if peer.certificate is None:
            return None
        factor = SWITCH_ENTRIES_FACTOR if peer.principal.role == "switch" else 1
        return self._budgets.budget(peer.principal, factor * self._limits.entries_per_s)

    def _access_point_report(self, session: Session, data: bytes, now_us: int) -> int:
        message = access_point_pb2.AccessPointServiceConnectRequest.FromString(data)
        report, refusals = convert.access_point_report(message.report)
        for reason in refusals:
            self._runner.submit(Refused(session.stream, reason))
        if report is not None:
            self._reception.take_access_point_report(session, report, data, now_us)
            cell = self._runner.engine.cells.get(report.bssid)
            # Of a cell of another replica, only that one knows the mode.
            session.common = b"" if cell is None else CELL_MODES[cell.settings.mode]
            if self._checks is not None:
                session.common += self._checks.reported(session.stream, report.bssid, message.report.check.id)
        return len(message.report.stations)

    def _terminal_report(self, session: Session, data: bytes, now_us: int) -> int:
        message = terminal_pb2.TerminalServiceConnectRequest.FromString(data)
        report, refusals = convert.terminal_report(message.report)
        for reason in refusals:
            self._runner.submit(Refused(session.stream, reason))
        if report is not None:
            self._reception.take_terminal_report(session, report, data, now_us)
        return len(message.report.destinations)

    def _switch_report(self, session: Session, data: bytes, now_us: int) -> int:
        message = switch_pb2.SwitchServiceConnectRequest.FromString(data)
        report, refusals = switch_convert.switch_report(message.report)
        for reason in refusals:
            self._runner.submit(Refused(session.stream, reason))
        if report is not None:
            self._reception.take_switch_report(session, report, now_us)
        return 0
