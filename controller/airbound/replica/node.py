# SPDX-License-Identifier: Apache-2.0
"""One of several replicas: its streams, its cells, its messages, together."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from airbound import __version__
from airbound.core.reasons import Code, Reason
from airbound.replica.hosts import Hosts
from airbound.replica.inbox import Inbox
from airbound.replica.members import Members
from airbound.replica.outbox import Outbox
from airbound.replica.owners import Owners
from airbound.runtime import log
from airbound.runtime.reception import Alone
from airbound.store.types import Store, StoreError
from airbound.v1 import replica_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from airbound.core.reports import AccessPointReport, TerminalReport
    from airbound.core.switch_reports import SwitchReport
    from airbound.pki.revocation import Revocations
    from airbound.replica.choices import KeptChoices
    from airbound.replica.questions import Questions
    from airbound.runtime.reception import Connection
    from airbound.runtime.runner import Runner

SHED_PERIOD_S = 1.0
SHED_ABOVE = 1.2  # of the mean
SHED_AT_LEAST = 10  # streams more than the mean: a few of one are no surplus
SHED_SHARE = 0.02  # of the streams, in a period
CUT_OFF_US = 5_000_000  # longer than a Redis Cluster takes to replace a master
CUT_OFF_PERIOD_S = 0.25
CUT_OFF_STEPS = 8  # in which terminals' streams end that were there before
CUT_OFF_SHARE = 0.05  # of those that come later, in `SHED_PERIOD_S`
GONE_S = 1.0
STOP_S = 3.0
START_AGAIN_S = 1.0
# Leases of phones and of access points' queues are that much longer than with one controller. A store may pause, and a
# replica that hangs is replaced within five seconds: of six and three, at least seven are left when that begins.
LEASE_EXTRA_MS = 3_000
SERIAL_OCTETS_MAX = 20  # RFC 5280, 4.1.2.2


class Node:
    """The reception of a controller with replicas."""

    def __init__(self, name: str, runner: Runner, store: Store) -> None:
        self.name = name
        self.runner = runner
        runner.lease_extra_ms = LEASE_EXTRA_MS
        self._questions: Questions | None = None
        self.choices: KeptChoices | None = None
        self._revocations: Revocations | None = None
        self._store = store
        self._started_s = int(time.time())
        self._stopping = False
        self.outbox = Outbox(store, name, self._not_heard)
        self.inbox = Inbox()
        self._overdue: asyncio.TimerHandle | None = None
        self.members = Members(store, self.record, self._gone, self._found, runner.now_us)
        self.hosts = Hosts(name, runner, store, self.outbox, self.members.is_there)
        self.owners = Owners(runner, store, self.outbox)
        self._alone = Alone(runner)
        owners, hosts = self.owners, self.hosts
        self._handlers: dict[str, Callable[[str, Any], None]] = {
            "stream_reported": owners.stream_reported,
            "stream_command": hosts.commanded,
            "stream_opened": owners.stream_opened,
            "stream_closed": owners.stream_closed,
            "close_stream": hosts.to_be_closed,
            "station_placed": lambda _, message: hosts.placed(message),
            "cell_requested": owners.requested,
            "cell_granted": lambda _, message: owners.granted(message),
            "cell_refused": lambda _, message: owners.refused(message),
            "choices_changed": lambda *_: self._read_choices(),
            "revoked": lambda _, message: self._revoked(message),
        }
        self._tasks: list[asyncio.Task[None]] = []
        self._short = set[asyncio.Task[object]]()

    async def start(self) -> None:
        """Work with the others from now on. While the store does not answer no cell is owned, and none commanded."""
        loop = asyncio.get_running_loop()
        try:
            await self._store.start(self.name, self._received, self._reconnected)
        except StoreError as error:
            log.event("warning", "store", "start", f"{error}; no cell is commanded until it answers")
            self._tasks.append(loop.create_task(self._start_store()))
        await self.members.start()
        self.owners.ownership.start()
        work = self.hosts.refresh(), self.owners.refresh(), self._shed_surplus(), self._send_away()
        self._tasks += [loop.create_task(each) for each in work]

    async def _start_store(self) -> None:
        while True:
            await asyncio.sleep(START_AGAIN_S)
            try:
                await self._store.start(self.name, self._received, self._reconnected)
            except StoreError:
                continue
            log.event("info", "store", "start", "it answers")
            self.hosts.refresh_now()
            return

    async def stop(self) -> None:
        """Leave the cells to the others. The streams are the server's to end, after this."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            async with asyncio.timeout(STOP_S):
                await self.members.announce()
                await self.owners.stop()
                await self.hosts.stop()
                await self.members.stop()
                await self.outbox.drain()
        except TimeoutError:
            log.event("warning", "store", "stop", "cells could not be given back: their leases end by themselves")
        await self._store.close()
        if self._overdue is not None:
            self._overdue.cancel()

    # Reception

    def opened(self, session: Connection) -> None:
        """A stream has begun."""
        self._of(session).opened(session)

    def closed(self, session: Connection) -> None:
        """A stream has ended."""
        self._of(session).closed(session)

    def _of(self, session: Connection) -> Owners | Hosts | Alone:
        """A switch is this replica's alone: it is sent rules if its cell is owned here."""
        role = session.stream.principal.role
        return self.owners if role == "access-point" else self._alone if role == "switch" else self.hosts

    def take_switch_report(self, session: Connection, report: SwitchReport, now_us: int) -> None:
        """A switch's report arrived."""
        self._alone.take_switch_report(session, report, now_us)

    def take_access_point_report(
        self, session: Connection, report: AccessPointReport, octets: bytes, now_us: int
    ) -> None:
        """An access point's report arrived."""
        self.owners.route_report(session, report, octets, now_us)

    def take_terminal_report(self, session: Connection, report: TerminalReport, octets: bytes, now_us: int) -> None:
        """A terminal's report arrived."""
        self.hosts.route_report(session, report, octets, now_us)

    # Messages

    @property
    def questions(self) -> Questions | None:
        """Operators' questions, if there is an operators' service."""
        return self._questions

    def answer(self, questions: Questions) -> None:
        """Have the others' questions answered, and their answers handed on."""
        self._questions = questions
        self._handlers["asked"] = questions.asked
        self._handlers["answered"] = questions.answered

    def _received(self, octets: bytes) -> None:
        try:
            batch = replica_pb2.ReplicaMessages.FromString(octets)
        except DecodeError:
            log.event("warning", "replica", "message", "cannot be read")
            return
        self.members.heard(batch.sender)
        self.owners.heard(batch.sender)
        for message in self.inbox.take(batch, asyncio.get_running_loop().time()):
            self._handle(batch.sender, message)
        self._wait_for_missing()

    def message_counts(self) -> dict[str, int]:
        """Messages to and from other replicas since the start, by outcome."""
        received = self.inbox.counts
        return {
            "sent": self.outbox.messages_total,
            "dropped": self.outbox.dropped_total,
            "received": received.received_total,
            "repeated": received.repeated_total,
            "reordered": received.reordered_total,
            "missing": received.missing_total,
        }

    def _wait_for_missing(self) -> None:
        """Handle what waits behind a missing message when that has taken too long."""
        due_s = self.inbox.due_s
        if due_s is not None and self._overdue is None:
            self._overdue = asyncio.get_running_loop().call_at(due_s, self._handle_overdue)

    def _handle_overdue(self) -> None:
        self._overdue = None
        for late in self.inbox.overdue(asyncio.get_running_loop().time()):
            log.event("warning", "replica", late.sender, f"{late.missing} messages of it did not come")
            for message in late.messages:
                self._handle(late.sender, message)
            self._reconnected()
        self._wait_for_missing()

    def _handle(self, sender: str, message: replica_pb2.ReplicaMessage) -> None:
        kind = message.WhichOneof("message")
        handle = self._handlers.get(kind or "")
        if handle is not None:  # otherwise it is of a newer version
            handle(sender, getattr(message, kind or ""))

    def _not_heard(self, replica: str) -> None:
        if self.outbox.silent_s(replica) >= GONE_S:  # otherwise it may be connecting to the store again
            self.hosts.gone(replica)

    def _gone(self, replica: str) -> None:
        self.hosts.gone(replica)
        self.owners.gone(replica)

    def _found(self) -> None:
        self.hosts.refresh_now()  # it may own cells of terminals that are nobody's here

    def _reconnected(self) -> None:
        """Messages may have been lost: what hosts and owners have of one another is compared again."""
        self.owners.refresh_now()  # the store may have lost everything
        self.hosts.refresh_now()
        self._read_choices()
        if self._revocations is not None:
            self._do(self._revocations.load_or_log())

    def _read_choices(self) -> None:
        if self.choices is not None:
            self._do(self.choices.read_or_log())

    def _do(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._short.add(task)
        task.add_done_callback(self._short.discard)

    def choices_changed(self) -> None:
        """Have the other replicas read operators' choices again."""
        for replica in self.members.others():
            message = replica_pb2.ReplicaMessage(choices_changed=replica_pb2.ChoicesChanged())
            self.outbox.send(replica, message)

    def share(self, revocations: Revocations) -> None:
        """Have certificates that are revoked here be so at the other replicas at once, and the other way round."""
        self._revocations = revocations
        revocations.announce(self._announce_revoked)

    def _announce_revoked(self, serials: frozenset[int]) -> None:
        message = replica_pb2.Revoked(serials=[serial.to_bytes(SERIAL_OCTETS_MAX) for serial in sorted(serials)])
        for replica in self.members.others():
            self.outbox.send(replica, replica_pb2.ReplicaMessage(revoked=message))

    def _revoked(self, message: replica_pb2.Revoked) -> None:
        if self._revocations is not None:
            self._revocations.revoked(int.from_bytes(serial) for serial in message.serials)

    # Balance

    @property
    def store_kind(self) -> str:
        """What the replicas share."""
        return self._store.kind

    def record(self) -> replica_pb2.ReplicaRecord:
        """What this replica says about itself."""
        return replica_pb2.ReplicaRecord(
            name=self.name,
            version=__version__,
            started_s_since_1970=self._started_s,
            access_points=self.owners.access_points,
            terminals=len(self.hosts),
            cells=len(self.owners.ownership.cells),
            terminals_of_others=self.hosts.of_others,
            stopping=self._stopping,
            choices_not_kept=self.choices.unkept if self.choices is not None else (),
        )

    def _is_cut_off(self) -> bool:
        """Whether the store has not answered for so long that another replica may be better off."""
        silent_us = (asyncio.get_running_loop().time() - self.outbox.answered_at_s) * 1e6
        answered_at_us = max(self.members.answered_at_us, self.owners.ownership.confirmed_at_us)
        silent_us = min(silent_us, self.runner.now_us() - answered_at_us)
        return len(self.members.by_name) > 1 and silent_us > CUT_OFF_US

    async def _send_away(self) -> None:
        """Once cut off from the store, end all streams: access points' first, so that another replica can own the
        cells, and then terminals', whose leases last for longer than that takes. Those that come to us meanwhile found
        no other: they are left alone, but for a few at a time.
        """
        while True:
            await asyncio.sleep(CUT_OFF_PERIOD_S)
            if not self._is_cut_off():
                continue
            leaving = self.hosts.surplus(len(self.hosts))
            log.event("warning", "store", "cut off", f"{self.owners.access_points} access points and {len(leaving)} "
                      "terminals are sent to other replicas")  # fmt: skip
            self.owners.send_away(Reason(Code.STORE_LOST))
            share = math.ceil(len(leaving) / CUT_OFF_STEPS)
            while leaving and self._is_cut_off():
                for hosted in leaving[:share]:
                    hosted.session.close(Reason(Code.STORE_LOST))
                del leaving[:share]
                await asyncio.sleep(CUT_OFF_PERIOD_S)
            while self._is_cut_off():  # noqa: ASYNC110  # a clock, not an event
                await asyncio.sleep(CUT_OFF_PERIOD_S)

    async def _shed_surplus(self) -> None:
        """Streams do not move by themselves when a replica comes back: end a few at a time here, and the load balancer
        has them elsewhere.
        """
        while True:
            await asyncio.sleep(SHED_PERIOD_S)
            records = [record for record in self.members.by_name.values() if not record.stopping]
            own = len(self.hosts)
            mean = (sum(record.terminals for record in records if record.name != self.name) + own) / len(records)
            if self._is_cut_off():
                self.owners.send_away(Reason(Code.STORE_LOST), 1)
                for hosted in self.hosts.surplus(max(1, round(own * CUT_OFF_SHARE))):
                    hosted.session.close(Reason(Code.STORE_LOST))
            elif len(records) > 1 and own > mean * SHED_ABOVE and own - mean >= SHED_AT_LEAST:
                for hosted in self.hosts.surplus(max(1, round(min(own - mean, own * SHED_SHARE)))):
                    hosted.session.close(Reason(Code.REBALANCED, after=own, limit=round(mean)))
