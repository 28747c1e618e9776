# SPDX-License-Identifier: Apache-2.0
"""Everything that can happen to the controller. What a peer does carries the stream, and with it who speaks."""

from dataclasses import dataclass

from airbound.core.addresses import Mac
from airbound.core.cell.memory import CellMemory
from airbound.core.overrides import CellOverride
from airbound.core.parameters import Mode, Parameters
from airbound.core.principals import Stream
from airbound.core.reasons import Reason
from airbound.core.reports import AccessPointReport, TerminalReport
from airbound.core.switch_reports import SwitchReport


@dataclass(slots=True)
class AccessPointReported:
    """An access point's report arrived."""

    stream: Stream
    report: AccessPointReport
    octets: bytes = b""  # as it came; operators are shown from it what decisions do not need


@dataclass(slots=True)
class TerminalReported:
    """A terminal's report arrived."""

    stream: Stream
    report: TerminalReport
    octets: bytes = b""


@dataclass(slots=True)
class SwitchReported:
    """A switch's report arrived."""

    stream: Stream
    report: SwitchReport


@dataclass(frozen=True, slots=True)
class Refused:
    """A message, or an entry of one, was refused before it became a report. The stream that sent it is charged."""

    stream: Stream
    reason: Reason


@dataclass(frozen=True, slots=True)
class Disconnected:
    """A stream ended, at either side; or, `moved`, it goes on at another replica."""

    stream: Stream
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """The time of `Engine.next_deadline_us` came."""


@dataclass(frozen=True, slots=True)
class ModeSet:
    """An operator chose between observing and controlling."""

    mode: Mode | None  # none: as configured
    bssid: Mac = b""  # for this cell only


@dataclass(frozen=True, slots=True)
class Exempted:
    """An operator or the configuration file exempted terminals of a name or a cell from control, or ended that."""

    name: str
    exempt: bool
    by_operator: bool = True


@dataclass(frozen=True, slots=True)
class ClassSet:
    """An operator chose the class of a terminal's applications, or of one of them."""

    name: str  # of the terminal, or its MAC
    uid: int | None  # none: of all without a choice of their own
    application_class: int | None  # none: the terminal's own


@dataclass(frozen=True, slots=True)
class Owned:
    """This replica owns a cell, until a time of the engine's clock or of the next such event. `memory` is what the
    owner before knew.
    """

    bssid: Mac
    epoch: int
    until_us: int
    memory: CellMemory | None = None


@dataclass(frozen=True, slots=True)
class Disowned:
    """Another replica owns a cell, or is about to."""

    bssid: Mac
    reason: Reason


@dataclass(frozen=True, slots=True)
class Reconfigured:
    """The configuration changed."""

    parameters: Parameters
    overrides: tuple[CellOverride, ...] = ()
    mode: Mode | None = None  # none: as before


Event = (
    AccessPointReported
    | TerminalReported
    | SwitchReported
    | Refused
    | Disconnected
    | Tick
    | ModeSet
    | Exempted
    | ClassSet
    | Owned
    | Disowned
    | Reconfigured
)
