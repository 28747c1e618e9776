# SPDX-License-Identifier: Apache-2.0
"""What the engine wants done. The edges do it and add nothing.

Named tuples: a change in a cell makes some for each of its terminals, and a frozen dataclass takes four times as long
to make.
"""

from typing import Literal, NamedTuple

from airbound.core.addresses import Address, Mac
from airbound.core.edca import Edca
from airbound.core.principals import Principal, Stream
from airbound.core.reasons import Reason
from airbound.core.switch_reports import StationRule

Level = Literal["info", "warning", "counted"]
"""What happens again and again is only counted: neither logged nor kept."""


class Bound(NamedTuple):
    """A cwnd range, in segments, for connections to `address`, or for all of them if it is empty; with a `uid`, for
    those of that application alone.
    """

    address: Address
    min_segs: int
    max_segs: int
    uid: int | None = None


class SetBounds(NamedTuple):
    """Replace every bound of the terminal at the end of `stream`; an empty set restores the kernel's defaults."""

    stream: Stream
    generation: int
    bounds: tuple[Bound, ...]
    lease_ms: int
    reasons: tuple[Reason, ...]  # the first is the weightiest
    active_senders: int
    capacity_bps: float


class RenewLease(NamedTuple):
    """The set of this generation stays in force for another lease."""

    stream: Stream
    generation: int
    lease_ms: int


class SetReporting(NamedTuple):
    """When the terminal is to report: RTT ratio changes of more than this many thousandths at once; 0 for never."""

    stream: Stream
    interval_ms: int
    heartbeat_ms: int
    rtt_ratio_change_permille: int


class Arrived(NamedTuple):
    """An access point has reported the terminal at the end of `stream` as associated in this cell a moment ago."""

    stream: Stream
    bssid: Mac


class SetEdca(NamedTuple):
    """Replace the parameters of the queues of the access point at the end of `stream`, and what it announces to its
    stations, under a lease; an empty set restores its own. The same generation again prolongs the lease.
    """

    stream: Stream
    generation: int
    queues: tuple[Edca, ...]
    lease_ms: int
    reason: Reason


class WindowLimit(NamedTuple):
    """Bytes of TCP payload that each connection of a station to `address` may have in flight."""

    mac: Mac
    address: Address
    max_bytes: int


class SetWindows(NamedTuple):
    """Replace every limit of windows of the access point at the end of `stream`, under a lease; an empty set ends all.
    The same generation again prolongs the lease.
    """

    stream: Stream
    generation: int
    limits: tuple[WindowLimit, ...]
    lease_ms: int
    reason: Reason


class Flow(NamedTuple):
    """Packets of an app, to an address, or with both, of the app to the address; of all with neither. `category` of 0
    leaves them their own. `udp_bps` of 0 is no limit.
    """

    uid: int | None
    address: Address
    category: int = 0
    admitted_us_per_s: int = 0
    udp_bps: int = 0


class SetFlows(NamedTuple):
    """Replace everything that the terminal at the end of `stream` does with how its packets leave it, under a lease; an
    empty set ends all. The same generation again prolongs the lease.
    """

    stream: Stream
    generation: int
    flows: tuple[Flow, ...]
    lease_ms: int
    reason: Reason


class StationFlow(NamedTuple):
    """Packets from an address to a station, which the access point is to send in another category."""

    mac: Mac
    address: Address
    category: int


class SetStationFlows(NamedTuple):
    """Replace every category that the access point at the end of `stream` gives to packets, under a lease; an empty set
    ends all. The same generation again prolongs the lease.
    """

    stream: Stream
    generation: int
    flows: tuple[StationFlow, ...]
    lease_ms: int
    reason: Reason


class SetStationRules(NamedTuple):
    """Replace the rules of the switch at the end of `stream`, under a lease. The same generation again prolongs the
    lease.
    """

    stream: Stream
    generation: int
    rules: tuple[StationRule, ...]
    lease_ms: int
    reason: Reason


class CloseStream(NamedTuple):
    """End a stream."""

    stream: Stream
    reason: Reason


class CellChanged(NamedTuple):
    """Something that operators see of the cell changed."""

    bssid: Mac


class StationsChanged(NamedTuple):
    """Stations came to a cell or left it."""

    bssid: Mac
    appeared: tuple[Mac, ...]
    gone: tuple[Mac, ...]


class CellForgotten(NamedTuple):
    """A cell was not reported for so long that nothing is known of it any more."""

    bssid: Mac


class Note(NamedTuple):
    """One event of the history and one line of the log: what happened to whom, and why. `terminal` and `cell` are for
    those who look for a terminal's or a cell's events: whom it concerns, as far as that is known.
    """

    level: Level
    what: str
    subject: str
    reasons: tuple[Reason, ...] = ()
    bounds: tuple[Bound, ...] | None = None
    queues: tuple[Edca, ...] | None = None
    terminal: str = ""  # name
    cell: Mac = b""
    windows: tuple[WindowLimit, ...] | None = None
    flows: tuple[Flow, ...] | None = None

    @property
    def kind(self) -> str:
        """What happened, as one word."""
        return self.what.replace(" ", "_")


def repeated_level(count: int) -> Level:
    """Of what may repeat itself every second the log gets the 1st, 2nd, 4th, 8th, ..."""
    return "counted" if count & (count - 1) else "warning"


def refusal(principal: Principal, reason: Reason, cell: Mac = b"", *, count: int = 1) -> Note:
    """What a peer sent, or a stream of its, was refused, for the `count`th time."""
    terminal = principal.name if principal.role == "terminal" else ""
    who = f"{principal.role} {principal.name}"
    return Note(repeated_level(count), "refused", who, (reason,), terminal=terminal, cell=cell)


TerminalCommand = SetBounds | RenewLease | SetReporting | Arrived | SetFlows
AccessPointCommand = SetEdca | SetWindows | SetStationFlows
Command = TerminalCommand | AccessPointCommand | SetStationRules
"""What goes to an agent or a switch."""

Effect = Command | CloseStream | CellChanged | StationsChanged | CellForgotten | Note
