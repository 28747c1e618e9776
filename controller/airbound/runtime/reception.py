# SPDX-License-Identifier: Apache-2.0
"""Where the streams of agents lead to: the engine of this process, or replicas that work as one."""

from typing import Protocol

from airbound.core.events import AccessPointReported, SwitchReported, TerminalReported
from airbound.core.reports import AccessPointReport, TerminalReport
from airbound.core.switch_reports import SwitchReport
from airbound.runtime.runner import Runner, Session


class Connection(Session, Protocol):
    """A stream with the agent at its other end."""

    generation: int  # of the last set of bounds that was sent on it


class Reception(Protocol):
    """What is done with streams and their reports. Times are the runner's."""

    def opened(self, session: Connection) -> None:
        """A stream has begun."""

    def closed(self, session: Connection) -> None:
        """A stream has ended."""

    def take_access_point_report(
        self, session: Connection, report: AccessPointReport, octets: bytes, now_us: int
    ) -> None:
        """An access point's report arrived."""

    def take_terminal_report(self, session: Connection, report: TerminalReport, octets: bytes, now_us: int) -> None:
        """A terminal's report arrived."""

    def take_switch_report(self, session: Connection, report: SwitchReport, now_us: int) -> None:
        """A switch's report arrived."""


class Alone:
    """The reception of a controller without replicas."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def opened(self, session: Connection) -> None:
        """A stream has begun."""
        self._runner.open(session)

    def closed(self, session: Connection) -> None:
        """A stream has ended."""
        self._runner.close(session)

    def take_access_point_report(
        self, session: Connection, report: AccessPointReport, octets: bytes, now_us: int
    ) -> None:
        """An access point's report arrived."""
        self._runner.submit(AccessPointReported(session.stream, report, octets), now_us)

    def take_terminal_report(self, session: Connection, report: TerminalReport, octets: bytes, now_us: int) -> None:
        """A terminal's report arrived."""
        self._runner.submit(TerminalReported(session.stream, report, octets), now_us)

    def take_switch_report(self, session: Connection, report: SwitchReport, now_us: int) -> None:
        """A switch's report arrived."""
        self._runner.submit(SwitchReported(session.stream, report), now_us)
