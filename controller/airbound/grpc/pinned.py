# SPDX-License-Identifier: Apache-2.0
"""A reception that takes reports of a cell from the access point that has it, and counts those of others.

Every few seconds the store is asked again for the cells that are reported: another replica's operator may have moved
one.
"""

import asyncio

from airbound.core.addresses import Mac
from airbound.core.events import Refused
from airbound.core.reasons import Code, Reason
from airbound.core.reports import AccessPointReport, TerminalReport
from airbound.core.switch_reports import SwitchReport
from airbound.pki.pins import Pins
from airbound.runtime import log
from airbound.runtime.reception import Connection, Reception
from airbound.runtime.runner import Runner
from airbound.store.types import StoreError

ASKED_AGAIN_US = 10_000_000
WAITING_MAX = 10  # reports of one cell


class Pinned:
    """In front of another reception."""

    def __init__(self, behind: Reception, pins: Pins, runner: Runner) -> None:
        self._behind = behind
        self._pins = pins
        self._runner = runner
        self._asked_at_us: dict[Mac, int] = {}
        self._asking: dict[Mac, asyncio.Task[None]] = {}
        self._waiting: dict[Mac, list[tuple[Connection, AccessPointReport, bytes, int]]] = {}
        self._failed = ""

    def opened(self, session: Connection) -> None:
        """A stream has begun."""
        self._behind.opened(session)

    def closed(self, session: Connection) -> None:
        """A stream has ended."""
        self._behind.closed(session)

    def take_terminal_report(self, session: Connection, report: TerminalReport, octets: bytes, now_us: int) -> None:
        """A terminal's report arrived."""
        self._behind.take_terminal_report(session, report, octets, now_us)

    def take_switch_report(self, session: Connection, report: SwitchReport, now_us: int) -> None:
        """A switch's report arrived."""
        self._behind.take_switch_report(session, report, now_us)

    def take_access_point_report(
        self, session: Connection, report: AccessPointReport, octets: bytes, now_us: int
    ) -> None:
        """An access point's report arrived. Those of a cell that is not known here wait for the store's answer."""
        bssid = report.bssid
        holder = self._pins.known.get(bssid)
        if holder is None or now_us - self._asked_at_us.get(bssid, 0) >= ASKED_AGAIN_US:
            self._ask(bssid, session.stream.principal.name, now_us)
        waiting = self._waiting.setdefault(bssid, []) if holder is None else []
        if holder is not None:
            self._pass_on(holder, session, report, octets, now_us)
        elif len(waiting) < WAITING_MAX:
            waiting.append((session, report, octets, now_us))

    def _pass_on(self, holder: str, session: Connection, report: AccessPointReport, octets: bytes, now_us: int) -> None:
        if holder == session.stream.principal.name:
            self._behind.take_access_point_report(session, report, octets, now_us)
        else:
            self._runner.submit(Refused(session.stream, Reason(Code.CELL_PINNED, holder)), now_us)

    def _ask(self, bssid: Mac, name: str, now_us: int) -> None:
        if bssid not in self._asking:
            self._asked_at_us[bssid] = now_us
            self._asking[bssid] = asyncio.get_running_loop().create_task(self._claim(bssid, name))

    async def _claim(self, bssid: Mac, name: str) -> None:
        try:
            holder = await self._pins.claim(bssid, name)
            self._failed = ""
            for session, report, octets, now_us in self._waiting.get(bssid, ()):
                if self._runner.port(session.stream) is not None:  # its stream is still there
                    self._pass_on(holder, session, report, octets, now_us)
        except StoreError as error:
            if str(error) != self._failed:
                self._failed = str(error)
                log.event("warning", "store", "cells", self._failed)
        finally:
            self._waiting.pop(bssid, None)
            del self._asking[bssid]
