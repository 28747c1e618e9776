# SPDX-License-Identifier: Apache-2.0
"""Everything that can happen to the controller. `stream` numbers a connection; a later one has a greater number."""

from dataclasses import dataclass
from typing import Literal

from airbound.core.parameters import Mode, Parameters
from airbound.core.reports import AccessPointReport, ReportRefusedError, TerminalReport

Kind = Literal["access_point", "terminal"]


@dataclass(frozen=True, slots=True)
class AccessPointReported:
    """An access point's report arrived on its stream."""

    stream: int
    report: AccessPointReport


@dataclass(frozen=True, slots=True)
class TerminalReported:
    """A terminal's report arrived on its stream."""

    stream: int
    report: TerminalReport


@dataclass(frozen=True, slots=True)
class Refused:
    """A report, or an entry of one, did not pass. `key` is the BSSID or MAC it claims to come from."""

    kind: Kind
    key: str
    error: ReportRefusedError


@dataclass(frozen=True, slots=True)
class Disconnected:
    """A stream ended, whoever ended it."""

    stream: int


@dataclass(frozen=True, slots=True)
class Tick:
    """The time of `Engine.next_deadline_us` came."""


@dataclass(frozen=True, slots=True)
class ModeSet:
    """An operator chose between observing and controlling."""

    mode: Mode


@dataclass(frozen=True, slots=True)
class Exempted:
    """An operator took a terminal out of control, or back in."""

    mac: str
    exempt: bool


@dataclass(frozen=True, slots=True)
class Reconfigured:
    """The configuration file changed. Its mode and its exemptions come as events of their own."""

    parameters: Parameters


@dataclass(frozen=True, slots=True)
class Stopping:
    """The controller is about to end in good order: every terminal is to be free at once, not at its lease's end."""


Event = (
    AccessPointReported
    | TerminalReported
    | Refused
    | Disconnected
    | Tick
    | ModeSet
    | Exempted
    | Reconfigured
    | Stopping
)
