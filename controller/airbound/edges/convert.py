# SPDX-License-Identifier: Apache-2.0
"""Between the wire's messages and the core's types.

Coming in, everything is checked. An absurd entry (a station, a destination, a survey) is refused alone and the rest
of its report counts; a report that cannot be told whose or when it is, is refused whole.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from airbound.core.decisions import Decision
from airbound.core.effects import Bound, RenewLease, SetBounds
from airbound.core.reports import (
    DESTINATIONS_MAX,
    STATIONS_MAX,
    AccessPointReport,
    BackEnd,
    Destination,
    ReportRefusedError,
    Station,
    Survey,
    TerminalReport,
    check_count,
    checked_address,
    checked_ssid,
)
from airbound.core.views import CellView, TerminalView
from airbound.v1 import access_point_pb2, operations_pb2, terminal_pb2

Refusals = list[ReportRefusedError]
Entry = TypeVar("Entry")


def access_point_report(message: access_point_pb2.AccessPointReport) -> tuple[AccessPointReport | None, Refusals]:
    """The report, unless it is refused, and everything that was refused."""
    refusals: Refusals = []
    try:
        check_count("stations", len(message.stations), STATIONS_MAX)
        report = AccessPointReport(
            bssid=message.bssid,
            sequence=message.sequence,
            monotonic_us=message.monotonic_us,
            stations=_entries("stations", message.stations, _station, "mac", refusals),
            survey=_survey(message, refusals),
            ssid=_ssid(message, refusals),
            center_frequency_mhz=message.channel.center_frequency_mhz,
        )
    except ReportRefusedError as error:
        return None, [*refusals, error]
    return report, refusals


def terminal_report(message: terminal_pb2.TerminalReport) -> tuple[TerminalReport | None, Refusals]:
    """The report, unless it is refused, and everything that was refused."""
    refusals: Refusals = []
    try:
        check_count("destinations", len(message.destinations), DESTINATIONS_MAX)
        report = TerminalReport(
            mac=message.mac,
            sequence=message.sequence,
            monotonic_us=message.monotonic_us,
            destinations=_entries("destinations", message.destinations, _destination, "address", refusals),
            bounds_generation=message.bounds_generation,
            back_end=_back_end(message.back_end),
        )
    except ReportRefusedError as error:
        return None, [*refusals, error]
    return report, refusals


def _entries(
    field: str, messages: Iterable[Any], make: Callable[[Any], Entry], key: str, refusals: Refusals
) -> tuple[Entry, ...]:
    """The entries by their order; of those with the same `key` the first."""
    entries = dict[str, Entry]()
    for index, message in enumerate(messages):
        try:
            entry = make(message)
        except ReportRefusedError as error:  # one bad entry must not cost the others
            refusals.append(ReportRefusedError(f"{field}[{index}].{error.field}", error.value, error.why))
            continue
        name = getattr(entry, key)
        if entries.setdefault(name, entry) is not entry:
            refusals.append(ReportRefusedError(f"{field}[{index}].{key}", name, "listed twice"))
    return tuple(entries.values())


def _station(message: access_point_pb2.Station) -> Station:
    return Station(
        mac=message.mac,
        signal_dbm=message.signal_dbm if message.HasField("signal_dbm") else None,
        rx_bytes=message.rx_bytes,
        tx_bytes=message.tx_bytes,
        rx_packets=message.rx_packets,
        tx_packets=message.tx_packets,
        tx_retries=message.tx_retries,
        rx_bitrate_kbps=message.rx_bitrate_kbps,
        connected_time_ms=message.connected_time_ms,
    )


def _survey(message: access_point_pb2.AccessPointReport, refusals: Refusals) -> Survey | None:
    if not message.HasField("survey"):
        return None
    try:
        return Survey(active_us=message.survey.active_us, busy_us=message.survey.busy_us)
    except ReportRefusedError as error:
        refusals.append(ReportRefusedError(f"survey.{error.field}", error.value, error.why))
        return None


def _ssid(message: access_point_pb2.AccessPointReport, refusals: Refusals) -> bytes:
    try:
        return checked_ssid("ssid", message.ssid)
    except ReportRefusedError as error:
        refusals.append(error)
        return b""


def _back_end(message: terminal_pb2.BackEnd) -> BackEnd:
    """A terminal that tells of no back end has one that can do nothing: every flag is false."""
    return BackEnd(
        name=message.name,
        can_set_max=message.can_set_max,
        can_set_min=message.can_set_min,
        can_select_destination=message.can_select_destination,
        rules_max=message.rules_max,
    )


def _destination(message: terminal_pb2.Destination) -> Destination:
    return Destination(
        address=checked_address("address", message.address),
        connections_sending=message.connections_sending,
        srtt_us=message.srtt_us,
        min_rtt_us=message.min_rtt_us,
        mss_bytes=message.mss_bytes,
        queued_bytes=message.queued_bytes,
    )


def terminal_command(effect: SetBounds | RenewLease) -> terminal_pb2.TerminalServiceConnectResponse:
    """What goes to a terminal."""
    if isinstance(effect, RenewLease):
        renew = terminal_pb2.RenewLease(generation=effect.generation, lease_ms=effect.lease_ms)
        command = terminal_pb2.TerminalCommand(renew_lease=renew)
    else:
        set_bounds = terminal_pb2.SetBounds(
            generation=effect.generation,
            bounds=[bound(entry) for entry in effect.bounds],
            lease_ms=effect.lease_ms,
            reason=effect.reason,
        )
        command = terminal_pb2.TerminalCommand(set_bounds=set_bounds)
    return terminal_pb2.TerminalServiceConnectResponse(command=command)


def bound(entry: Bound) -> terminal_pb2.Bound:
    """One bound; without a prefix it is for every connection."""
    if entry.prefix:
        return terminal_pb2.Bound(destination_prefix=entry.prefix, min_segs=entry.min_segs, max_segs=entry.max_segs)
    return terminal_pb2.Bound(all=True, min_segs=entry.min_segs, max_segs=entry.max_segs)


def cell(view: CellView) -> operations_pb2.Cell:
    """A cell as operators see it."""
    message = operations_pb2.Cell(
        bssid=view.bssid,
        ssid=view.ssid,
        center_frequency_mhz=view.center_frequency_mhz,
        stations=view.stations,
        active_senders=view.active_senders,
        terminals=view.terminals,
        uplink_bps=round(view.uplink_bps),
        capacity_bps=round(view.capacity_bps),
        report_age_ms=view.report_age_us // 1000,
        refused_reports_total=view.refused_total,
    )
    if view.busy_ratio is not None:
        message.busy_ratio = view.busy_ratio
    return message


def terminal(view: TerminalView) -> operations_pb2.Terminal:
    """A terminal as operators see it."""
    return operations_pb2.Terminal(
        mac=view.mac,
        bssid=view.bssid,
        connected=view.connected,
        active_sender=view.active_sender,
        exempt=view.exempt,
        back_end=view.back_end,
        bounds_generation_in_force=view.generation_in_force,
        bounds_generation_sent=view.generation_sent,
        bounds_sent=[bound(entry) for entry in view.bounds_sent],
        decisions=[_decision(entry) for entry in view.decisions],
        report_age_ms=view.report_age_us // 1000,
        refused_reports_total=view.refused_total,
    )


def _decision(entry: Decision) -> operations_pb2.DestinationDecision:
    return operations_pb2.DestinationDecision(
        bound=bound(entry.bound),
        policy=entry.policy,
        active_senders=entry.active_senders,
        srtt_us=entry.srtt_us,
        min_rtt_us=entry.min_rtt_us,
        own_min_rtt_us=entry.own_min_rtt_us,
        rtt_ratio=entry.rtt_ratio,
        capacity_bps=round(entry.capacity_bps) if entry.policy == "bdp" else 0,
        reason=entry.reason,
    )
