# SPDX-License-Identifier: Apache-2.0
"""Immutable copies of what the engine knows, taken in the event loop.

A copy takes references to what is immutable, above all the octets of the last report, and computes next to nothing:
reports are read again by the thread that formats them.
"""

from collections.abc import Mapping
from typing import NamedTuple

from airbound.core.addresses import Address, Mac
from airbound.core.cell.access_point import AccessPoint
from airbound.core.cell.senders import StationSender
from airbound.core.cell.state import CellState
from airbound.core.cell.terminal import Terminal
from airbound.core.claims import is_live
from airbound.core.decisions import min_rtt_used_us
from airbound.core.edca import Edca
from airbound.core.effects import Bound, WindowLimit
from airbound.core.engine import Engine
from airbound.core.parameters import Mode
from airbound.core.principals import Stream
from airbound.core.reasons import Code, Reason
from airbound.core.reports import BackEnd, Radio, Station, WindowState
from airbound.core.restriction import is_exempt
from airbound.core.settings import Settings
from airbound.metrics import switch
from airbound.metrics.hooks import Hooks
from airbound.runtime.connections import PortCount
from airbound.runtime.counts import Counts
from airbound.runtime.histogram import Distribution
from airbound.runtime.measures import Measures

_new = tuple.__new__
"""A named tuple without a call of Python code: there are thousands of them in a snapshot. Nothing checks the number or
the order of the values.
"""


class SenderSample(NamedTuple):
    """What an access point sees of a station that sends by TCP, and is to do about it."""

    limit_bytes: int  # the least that it was sent for one of the station's destinations; 0: none
    unlimited_since_us: int  # since when nothing limits it; 0: something does
    unlimited_for: Code  # why
    srtt_us: int  # to the destination with the largest ratio of those that have both RTTs; 0: none has
    min_rtt_us: int  # to the same, the smaller of the station's own and its cell's


class StationSample(NamedTuple):
    """One station of a cell, by its access point's last report."""

    latest: Station
    associated_at_us: int
    payload_bytes_per_s: float
    active: bool
    sender: SenderSample | None  # none of one that sends nothing by TCP, as far as its access point sees


class WindowSample(NamedTuple):
    """What an access point does with the windows of stations without a working agent."""

    code: Code
    reported: WindowState
    limits: tuple[WindowLimit, ...]  # that it was sent
    generation_sent: int
    senders: int  # stations without a working agent that send
    limited: int  # of them, those that have a limit
    omitted: int
    failures_total: int


class LiveSample(NamedTuple):
    """A cell's live flows."""

    flows: int
    granted: int  # of them, those that have the category for video
    short: int  # of them, those that get less than they send
    air: float  # part of it, that the granted ones need
    closed: bool  # whether the categories have no advantage, since a station uses them without a grant
    failures_total: int


class AccessPointSample(NamedTuple):
    """The stream of a cell's access point."""

    stream: int
    name: str
    agent_version: str
    refused_total: int
    malformed_inputs_total: int
    edca_generation: int  # in force; 0: its own parameters are
    edca_queues: tuple[Edca, ...]  # that it was sent
    edca_ends_at_us: int  # the lease of these
    last_report: bytes
    windows: WindowSample | None  # none of one that does not look at its stations' connections


class CellSample(NamedTuple):
    """One cell with its stations."""

    bssid: Mac
    ssid: bytes
    center_frequency_mhz: int
    reported_at_us: int
    associated: int  # stations
    active_senders: int
    active_receivers: int
    terminals: int
    uplink_bps: float
    downlink_bps: float
    busy_ratio: float | None
    capacity_bps: float
    capacity_source: str
    found: float  # by the policy's search
    trials_total: int  # of it
    unlimited: Mac  # who takes more than its part, and nothing limits it; empty: nobody
    assumed_rates: int  # stations whose PHY rate is assumed
    widened: float  # by how much maxima are larger for that
    reassociations_total: int
    moves_total: int
    disputes_total: int
    exempt: bool
    mode: Mode
    policy: str
    uplink_share: float | None
    edca_code: Code
    edca_failures_total: int
    decided: tuple[tuple[tuple[str, Code], int], ...]  # what was sent, and why
    access_point: AccessPointSample | None
    stations: tuple[StationSample, ...]
    radio: Radio
    live: LiveSample | None  # none while there is no live flow


class TerminalSample(NamedTuple):
    """One terminal on one stream."""

    stream: Stream
    mac: Mac
    bssid: Mac  # of the cell that it is joined to; empty if it is joined to none
    live: bool  # whether its claim of a MAC counts: no newer stream has replaced its own
    back_end: BackEnd
    agent_version: str
    reported_at_us: int
    active: bool
    exempt: bool
    no_bounds: Reason | None  # why it has none; none if it has some
    bounds: tuple[Bound, ...]  # that it was sent
    lease_ends_at_us: int
    generation_sent: int
    generation_in_force: int
    refused_total: int
    failures_total: int
    malformed_inputs_total: int
    decided: tuple[tuple[tuple[str, Code], int], ...]  # what it was sent, and why
    shared_min_rtts_us: tuple[tuple[Address, int], ...]  # of those that it sends to
    last_report: bytes


class ControllerSample(NamedTuple):
    """What is the same for all cells."""

    mode: Mode
    policy: str
    counters: Mapping[tuple[str, Code], int]
    reports: Mapping[str, int]
    commands: Mapping[str, int]
    streams: Mapping[str, int]
    streams_opened: Mapping[str, int]
    decision: Distribution
    write: Distribution
    timer_delay: Distribution
    log_lines_dropped: int
    store_kind: str
    store_durations: Mapping[str, Distribution]
    store_errors: Mapping[str, int]
    configuration_digest: str
    configuration_applied_at_s: float
    configuration_errors_total: int
    epochs: Mapping[Mac, int] | None
    replica_messages: Mapping[str, int]
    certificates_end: Mapping[str, float]
    handshakes: Mapping[str, int]
    handshakes_failed: Mapping[str, int]
    connections: Mapping[str, PortCount]
    connections_closed: Mapping[tuple[str, str], int]
    connections_excessive: Mapping[str, int]
    front_processes: int | None
    enrollment_processes: int | None
    enrolled: Mapping[str, tuple[int, int]]
    switches: tuple[switch.SwitchSample, ...] = ()


class Snapshot(NamedTuple):
    """All of it. The parts were taken within some turns of the event loop, each at one moment."""

    now_us: int  # at the beginning
    controller: ControllerSample
    cells: tuple[CellSample, ...]
    terminals: tuple[TerminalSample, ...]


def controller(engine: Engine, counts: Counts, measures: Measures, hooks: Hooks) -> ControllerSample:
    """The controller now."""
    settings, store, configuration = engine.settings, hooks.store, hooks.configuration
    return ControllerSample(
        mode=settings.mode,
        policy=settings.parameters.policy,
        counters=dict(counts.totals),
        reports=dict(measures.reports),
        commands=dict(measures.commands),
        streams=dict(measures.streams),
        streams_opened=dict(measures.streams_opened),
        decision=measures.decision.distribution(),
        write=measures.write.distribution(),
        timer_delay=measures.timer_delay.distribution(),
        log_lines_dropped=hooks.log_lines_dropped(),
        store_kind=store.kind,
        store_durations={call: histogram.distribution() for call, histogram in store.durations.items()},
        store_errors=dict(store.errors),
        configuration_digest=configuration.digest,
        configuration_applied_at_s=configuration.applied_at_s,
        configuration_errors_total=configuration.errors_total,
        epochs=None if hooks.epochs is None else dict(hooks.epochs()),
        replica_messages={} if hooks.replica_messages is None else dict(hooks.replica_messages()),
        certificates_end={} if hooks.certificates_end is None else dict(hooks.certificates_end()),
        handshakes={} if hooks.handshakes is None else dict(hooks.handshakes()),
        handshakes_failed={} if hooks.handshakes_failed is None else dict(hooks.handshakes_failed()),
        connections={} if hooks.connections is None else dict(hooks.connections()),
        connections_closed={} if hooks.connections_closed is None else dict(hooks.connections_closed()),
        connections_excessive={} if hooks.connections_excessive is None else dict(hooks.connections_excessive()),
        front_processes=None if hooks.front_processes is None else hooks.front_processes(),
        enrollment_processes=None if hooks.enrollment_processes is None else hooks.enrollment_processes(),
        enrolled={} if hooks.enrolled is None else dict(hooks.enrolled()),
        switches=tuple(map(switch.sample, engine.switches.all())),
    )


def cell(state: CellState, decided: Mapping[tuple[str, Code], int], now_us: int) -> CellSample:
    """A cell now, and what was counted of it. Its stations are those of the access point's last report; none while no
    agent is connected.
    """
    stations, access = state.stations, state.channel_access
    capacity_bps, source = state.capacity.estimate()
    access_point = _access_point(state)
    return CellSample(
        bssid=state.bssid,
        ssid=state.ssid,
        center_frequency_mhz=state.center_frequency_mhz,
        reported_at_us=state.reported_at_us,
        associated=len(stations.by_mac),
        active_senders=stations.active_senders,
        active_receivers=stations.active_receivers,
        terminals=len(state.terminals),
        uplink_bps=stations.uplink_bps,
        downlink_bps=stations.downlink_bps,
        busy_ratio=stations.busy_ratio,
        capacity_bps=capacity_bps,
        capacity_source=source,
        found=state.policy.found,
        trials_total=state.policy.trials_total,
        unlimited=state.unlimited.mac,
        assumed_rates=stations.assumed.count,
        widened=state.widened_for(aggregates=True),
        reassociations_total=stations.reassociations_total,
        moves_total=state.moves_total,
        disputes_total=state.disputes_total,
        exempt=state.settings.is_cell_exempt(state.bssid),
        mode=state.settings.mode,
        policy=state.settings.parameters.policy,
        uplink_share=access.share if access.uplink_bps or access.downlink_bps else None,
        edca_code=state.edca_reason.code if state.edca_reason else Code.UNSPECIFIED,
        edca_failures_total=state.edca_failures_total,
        decided=tuple(decided.items()),
        access_point=access_point,
        stations=_stations(state) if access_point is not None or state.by_switch else (),
        radio=state.radio,
        live=_live(state, now_us) if state.live.flows or state.live.failures_total else None,
    )


def _live(state: CellState, now_us: int) -> LiveSample:
    live = state.live
    closed = bool(live.granted) and bool(state.priorities.closed_by(now_us))
    return LiveSample(len(live.flows), live.granted, live.short, live.granted_part, closed, live.failures_total)


def _access_point(state: CellState) -> AccessPointSample | None:
    access_point = state.access_point
    if access_point is None:
        return None
    sent = access_point.edca_lease.sent
    return AccessPointSample(
        access_point.stream.number,
        access_point.stream.principal.name,
        access_point.agent_version,
        access_point.refused_total,
        access_point.malformed_inputs_total,
        access_point.edca_lease.in_force,
        sent.entries if sent else (),
        sent.ends_at_us if sent else 0,
        access_point.last_report,
        _windows(state, access_point),
    )


def _windows(state: CellState, access_point: AccessPoint) -> WindowSample | None:
    reported, sent, clamp = access_point.windows, access_point.windows_lease.sent, state.windows
    if reported is None:
        return None
    senders = clamp.senders.values()
    return WindowSample(
        clamp.reason.code if clamp.reason else Code.UNSPECIFIED,
        reported,
        sent.entries if sent else (),
        sent.generation if sent else 0,
        sum(bool(sender.no_agent) for sender in senders),
        sum(sender.limited for sender in senders),
        clamp.omitted,
        clamp.failures_total,
    )


def _stations(state: CellState) -> tuple[StationSample, ...]:
    is_active, senders = state.stations.is_active, _senders(state)
    return tuple(
        [
            _new(
                StationSample,
                (
                    station.latest,
                    station.associated_at_us,
                    station.payload_bytes_per_s,
                    station.sending or is_active(mac),
                    senders.get(mac),
                ),
            )
            for mac, station in state.stations.by_mac.items()
        ]
    )


def _senders(state: CellState) -> dict[Mac, SenderSample]:
    """The stations that send by TCP."""
    windows, access_point = state.windows, state.access_point
    least_bytes = dict[Mac, int]()
    sent = access_point.windows_lease.sent if access_point is not None else None
    for limit in sent.entries if sent is not None else ():
        least_bytes[limit.mac] = min(limit.max_bytes, least_bytes.get(limit.mac, limit.max_bytes))
    found = dict[Mac, SenderSample]()
    for mac, sender in windows.senders.items():
        since_us = sender.unlimited_since_us
        why = windows.why_unlimited(mac) if since_us else None
        code = why.code if why is not None else Code.UNSPECIFIED
        found[mac] = SenderSample(least_bytes.get(mac, 0), since_us, code, *_worst_rtts_us(sender, state))
    return found


def _worst_rtts_us(sender: StationSender, state: CellState) -> tuple[int, int]:
    worst, worst_ratio = (0, 0), 0.0
    for destination in sender.sending.values():
        min_rtt_us = min_rtt_used_us(destination, state)
        if destination.srtt_us and min_rtt_us and destination.srtt_us / min_rtt_us > worst_ratio:
            worst, worst_ratio = (destination.srtt_us, min_rtt_us), destination.srtt_us / min_rtt_us
    return worst


def terminal(
    state: Terminal, cell_state: CellState | None, settings: Settings, decided: Mapping[tuple[str, Code], int]
) -> TerminalSample:
    """A terminal now; `settings` are those of terminals that are joined to no cell, `decided` was counted."""
    sent = state.sent
    shared: tuple[tuple[Address, int], ...] = ()
    if cell_state is None:
        bssid, active = b"", False
    else:
        settings = cell_state.settings
        bssid, active = cell_state.bssid, cell_state.stations.is_active(state.mac)
        shared_us = cell_state.min_rtt.shared_us
        if state.sending:
            shared = tuple([(address, shared_us(address)) for address in state.sending])
    return _new(
        TerminalSample,
        (
            state.stream,
            state.mac,
            bssid,
            not state.superseded_at_us or is_live(state),
            state.back_end,
            state.agent_version,
            state.reported_at_us,
            active,
            (bool(settings.exempt) or settings.match is not None) and is_exempt(state, settings),
            state.no_bounds,
            sent.entries if sent is not None else (),
            sent.ends_at_us if sent is not None else 0,
            sent.generation if sent is not None else 0,
            state.generation_in_force,
            state.refused_total,
            state.failures_total,
            state.malformed_inputs_total,
            tuple(decided.items()),
            shared,
            state.last_report,
        ),
    )
