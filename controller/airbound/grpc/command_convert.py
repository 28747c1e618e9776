# SPDX-License-Identifier: Apache-2.0
"""From the core's commands, and the reasons in them, to the agents' messages, and back from another replica's."""

from collections.abc import Iterable
from functools import lru_cache

from airbound.core.addresses import IPV4_OCTETS
from airbound.core.edca import Edca
from airbound.core.effects import (
    AccessPointCommand,
    Arrived,
    Bound,
    Flow,
    RenewLease,
    SetBounds,
    SetEdca,
    SetFlows,
    SetReporting,
    SetStationFlows,
    SetWindows,
    TerminalCommand,
    WindowLimit,
)
from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason
from airbound.v1 import access_point_pb2, reason_pb2, terminal_pb2

_CODES = frozenset(code.value for code in Code)
# A terminal's flows are sent again every few seconds, as they were. Long sets are made each time, so that what is kept
# is bounded.
_FLOWS_KEPT, _FLOWS_KEPT_MAX = 16_384, 8


def agent_command(effect: TerminalCommand | AccessPointCommand) -> bytes:
    """What goes to an agent: the response of the service that it called."""
    if isinstance(effect, SetEdca | SetWindows | SetStationFlows):
        return access_point_command(effect)
    return terminal_command(effect)


def access_point_command(effect: AccessPointCommand) -> bytes:
    """What goes to an access point: an AccessPointServiceConnectResponse."""
    if isinstance(effect, SetStationFlows):
        set_station_flows = access_point_pb2.SetStationFlows(
            generation=effect.generation,
            flows=[
                access_point_pb2.StationFlow(
                    mac=entry.mac,
                    address=entry.address,
                    category=entry.category,  # type: ignore[arg-type]  # the same numbers: tested
                )
                for entry in effect.flows
            ],
            lease_ms=effect.lease_ms,
            reason=reason_message(effect.reason),
        )
        command = access_point_pb2.AccessPointCommand(set_station_flows=set_station_flows)
        return access_point_pb2.AccessPointServiceConnectResponse(command=command).SerializeToString()
    if isinstance(effect, SetWindows):
        set_windows = access_point_pb2.SetWindows(
            generation=effect.generation,
            limits=[window_limit(entry) for entry in effect.limits],
            lease_ms=effect.lease_ms,
            reason=reason_message(effect.reason),
        )
        command = access_point_pb2.AccessPointCommand(set_windows=set_windows)
        return access_point_pb2.AccessPointServiceConnectResponse(command=command).SerializeToString()
    set_edca = access_point_pb2.SetEdca(
        generation=effect.generation,
        queues=queue_messages(effect.queues, announced=False),
        stations=queue_messages(effect.queues, announced=True),
        lease_ms=effect.lease_ms,
        reason=reason_message(effect.reason),
    )
    command = access_point_pb2.AccessPointCommand(set_edca=set_edca)
    return access_point_pb2.AccessPointServiceConnectResponse(command=command).SerializeToString()


def window_limit(entry: WindowLimit) -> access_point_pb2.WindowLimit:
    """One limit of a station's windows."""
    return access_point_pb2.WindowLimit(mac=entry.mac, address=entry.address, max_bytes=entry.max_bytes)


def queue_messages(entries: Iterable[Edca], *, announced: bool) -> list[access_point_pb2.Edca]:
    """Those of a set that are announced to the stations, or those of the access point's own queues."""
    return [queue(entry) for entry in entries if entry.announced is announced]


def queue(entry: Edca) -> access_point_pb2.Edca:
    """One queue's parameters."""
    return access_point_pb2.Edca(
        category=entry.category.value,  # type: ignore[arg-type]  # the same numbers: tested
        aifsn=entry.aifsn,
        cw_min=entry.cw_min,
        cw_max=entry.cw_max,
        txop_limit=entry.txop_limit,
        admission=entry.admission,
    )


def flow(entry: Flow) -> terminal_pb2.Flow:
    """What is done with one of a terminal's flows."""
    return terminal_pb2.Flow(
        uid=entry.uid,
        address=entry.address,
        category=entry.category,  # type: ignore[arg-type]  # the same numbers: tested
        admitted_us_per_s=entry.admitted_us_per_s,
        udp_bps=entry.udp_bps,
    )


def _flow_of(message: terminal_pb2.Flow) -> Flow:
    uid = message.uid if message.HasField("uid") else None
    return Flow(uid, message.address, message.category, message.admitted_us_per_s, message.udp_bps)


def terminal_effect(octets: bytes, stream: Stream) -> TerminalCommand | None:
    """A command as another replica of the controller made it, for a stream here; none if this version has no such
    command. What is for people is in the log of the replica that decided.
    """
    command = terminal_pb2.TerminalServiceConnectResponse.FromString(octets).command
    match command.WhichOneof("command"):
        case "set_bounds":
            message = command.set_bounds
            return SetBounds(
                stream,
                message.generation,
                tuple(bound_of(entry) for entry in message.bounds),
                message.lease_ms,
                (reason_of(message.reason),),
                message.active_senders,
                message.capacity_bps,
            )
        case "renew_lease":
            return RenewLease(stream, command.renew_lease.generation, command.renew_lease.lease_ms)
        case "set_reporting":
            reporting = command.set_reporting
            return SetReporting(
                stream, reporting.interval_ms, reporting.heartbeat_ms, reporting.rtt_ratio_change_permille
            )
        case "arrived":
            return Arrived(stream, command.arrived.bssid)
        case "set_flows":
            flows = command.set_flows
            return SetFlows(
                stream, flows.generation, tuple(map(_flow_of, flows.flows)), flows.lease_ms, reason_of(flows.reason)
            )
        case _:
            return None


def reason_of(message: reason_pb2.Reason) -> Reason:
    """A reason that another replica of the controller sent; a code of a newer version is UNSPECIFIED."""
    code = Code(message.code) if message.code in _CODES else Code.UNSPECIFIED
    return Reason(
        code,
        message.subject,
        message.before if message.HasField("before") else None,
        message.after if message.HasField("after") else None,
        message.limit if message.HasField("limit") else None,
    )


def terminal_command(effect: TerminalCommand) -> bytes:
    """What goes to a terminal: a TerminalServiceConnectResponse."""
    if isinstance(effect, RenewLease):
        renew = terminal_pb2.RenewLease(generation=effect.generation, lease_ms=effect.lease_ms)
        command = terminal_pb2.TerminalCommand(renew_lease=renew)
    elif isinstance(effect, Arrived):
        command = terminal_pb2.TerminalCommand(arrived=terminal_pb2.Arrived(bssid=effect.bssid))
    elif isinstance(effect, SetFlows):
        few = len(effect.flows) <= _FLOWS_KEPT_MAX
        convert = _set_flows if few else _set_flows.__wrapped__
        return convert(effect.generation, effect.flows, effect.lease_ms, effect.reason)
    elif isinstance(effect, SetBounds):
        set_bounds = terminal_pb2.SetBounds(
            generation=effect.generation,
            bounds=[bound(entry) for entry in effect.bounds],
            lease_ms=effect.lease_ms,
            reason=reason_message(effect.reasons[0]),
            active_senders=effect.active_senders,
            capacity_bps=round(effect.capacity_bps),
        )
        command = terminal_pb2.TerminalCommand(set_bounds=set_bounds)
    else:
        command = terminal_pb2.TerminalCommand(
            set_reporting=terminal_pb2.SetReporting(
                interval_ms=effect.interval_ms,
                heartbeat_ms=effect.heartbeat_ms,
                rtt_ratio_change_permille=effect.rtt_ratio_change_permille,
            )
        )
    return terminal_pb2.TerminalServiceConnectResponse(command=command).SerializeToString()


@lru_cache(maxsize=_FLOWS_KEPT)
def _set_flows(generation: int, flows: tuple[Flow, ...], lease_ms: int, reason: Reason) -> bytes:
    set_flows = terminal_pb2.SetFlows(
        generation=generation,
        flows=[flow(entry) for entry in flows],
        lease_ms=lease_ms,
        reason=reason_message(reason),
    )
    command = terminal_pb2.TerminalCommand(set_flows=set_flows)
    return terminal_pb2.TerminalServiceConnectResponse(command=command).SerializeToString()


def bound(entry: Bound) -> terminal_pb2.Bound:
    """One bound; without an address it is for every connection."""
    if not entry.address:
        return terminal_pb2.Bound(all=True, min_segs=entry.min_segs, max_segs=entry.max_segs)
    length_bits = 32 if len(entry.address) == IPV4_OCTETS else 128
    prefix = terminal_pb2.Prefix(address=entry.address, length_bits=length_bits)
    if entry.uid is not None:
        both = terminal_pb2.UidDestination(uid=entry.uid, destination=prefix)
        return terminal_pb2.Bound(uid_destination=both, min_segs=entry.min_segs, max_segs=entry.max_segs)
    return terminal_pb2.Bound(destination=prefix, min_segs=entry.min_segs, max_segs=entry.max_segs)


def bound_of(message: terminal_pb2.Bound) -> Bound:
    """The same, back."""
    match message.WhichOneof("selector"):
        case "uid_destination":
            both = message.uid_destination
            return Bound(both.destination.address, message.min_segs, message.max_segs, both.uid)
        case "destination":
            return Bound(message.destination.address, message.min_segs, message.max_segs)
        case _:
            return Bound(b"", message.min_segs, message.max_segs)


def reason_message(reason: Reason) -> reason_pb2.Reason:
    """A reason on the wire."""
    return reason_pb2.Reason(
        code=reason.code.value,  # type: ignore[arg-type]  # the same numbers: tested
        subject=reason.subject,
        before=reason.before,
        after=reason.after,
        limit=reason.limit,
    )
