# SPDX-License-Identifier: Apache-2.0
"""Metrics of terminals, by the name of their principal.

Destinations are no label. What adds up is summed over them: windows, connections, bytes, events. Of RTTs those of the
worst destination are shown, of those that are sent to the one with the largest RTT over minimum RTT, and of bounds the
one with the smallest maximum. Streams under one name (phones behind one translated address) are shown as one terminal.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from airbound.core.addresses import Address, Mac, mac_text
from airbound.core.reports import COUNTER_MAX
from airbound.metrics import classes, decisions
from airbound.metrics.family import Family
from airbound.metrics.labels import label_set, printable
from airbound.metrics.rtt import Rtt
from airbound.metrics.samples import TerminalSample
from airbound.metrics.slots import Slots
from airbound.metrics.table import Column, Table
from airbound.metrics.totals import Totals
from airbound.v1 import terminal_pb2

_TERMINAL = ("terminal",)
EVENTS = ("local_congestion", "duplicate_ack", "sack", "fast_retransmit", "timeout", "undo")
_PLAIN, _INFO, _NO_BOUNDS, _RETRANSMISSION, _EVENT = range(5)  # sets of labels; one for each event from the last on
_NO_EVENTS = (0,) * len(EVENTS)
_NO_ARRIVALS = (0, 0, 0, 0, 0, 0, 0, 0)
"""Of a terminal that has not arrived anywhere since its agent started: what it counts then, counts from here."""
_NO_FLOWS = (0, 0, 0, 0)
_RETRANSMISSIONS = {
    terminal_pb2.RETRANSMISSION_TIMERS: "timers",
    terminal_pb2.RETRANSMISSION_REQUESTS: "requests",
    terminal_pb2.RETRANSMISSION_MESSAGES: "messages",
}
"""Back ends; one of a later version is none."""
_new = tuple.__new__  # a named tuple without a call of Python code
_MAXIMUM = attrgetter("max_segs")


class Reported(NamedTuple):
    """What a terminal reported last, over all of its destinations."""

    cwnd_segs: int
    connections: int
    connections_sending: int
    queued_bytes: int
    worst: Rtt | None
    counts: list[tuple[tuple[Mac, Address], tuple[int, ...]]]  # by destination: delivered bytes, events
    arrivals: list[tuple[Mac, tuple[int, ...]]]  # arrivals, connections that waited then, those that sent at once,
    # arrivals with an answer, milliseconds until their first ones, downloads that had stopped, those that went on,
    # messages to servers
    retransmission: str  # the back end; empty while it is not known
    last_silence_s: float | None
    classes: list[classes.Part]
    flows: list[tuple[Mac, tuple[int, ...]]]  # sets that failed, packets in another category, UDP packets that waited
    # for their rate, and those that were dropped for it


Stream = tuple[TerminalSample, Reported]


class Shown(NamedTuple):
    """A terminal, and what else its metrics follow from."""

    sample: TerminalSample
    reported: Reported
    totals: tuple[int, ...]  # delivered bytes, events
    arrivals: tuple[int, ...]
    flows: tuple[int, ...]
    refused: int
    failed: int
    malformed: int
    age_s: float
    lease_s: float
    min_segs: int | None
    max_segs: int | None


def _event(index: int, family: Family) -> Column:
    return Column(family, lambda shown: shown.totals[1 + index], _EVENT + index)


TCP_EVENTS = Family(
    "airbound_terminal_tcp_events_total", "counter", "TCP events of all connections.", (*_TERMINAL, "event")
)
COLUMNS = (
    Column(
        Family(
            "airbound_terminal_info", "info", "A terminal: its cell if it is joined to one, its back end and agent.",
            (*_TERMINAL, "bssid", "back_end", "agent_version"),
        ),
        lambda _: 1,
        _INFO,
    ),
    Column(
        Family(
            "airbound_terminal_no_bounds_info", "info", "Why the terminal has no bounds; absent if it has some.",
            (*_TERMINAL, "reason"),
        ),
        lambda shown: 1 if shown.sample.no_bounds else None,
        _NO_BOUNDS,
    ),
    Column(
        Family("airbound_terminal_report_age_seconds", "gauge", "Age of the terminal's last report.", _TERMINAL),
        lambda shown: shown.age_s,
    ),
    Column(
        Family("airbound_terminal_active_sender", "gauge", "1 if its station is an active sender, else 0.", _TERMINAL),
        lambda shown: int(shown.sample.active),
    ),
    Column(
        Family("airbound_terminal_exempt", "gauge", "1 if an operator exempted it or its cell, else 0.", _TERMINAL),
        lambda shown: int(shown.sample.exempt),
    ),
    Column(
        Family("airbound_terminal_connections", "gauge", "Open TCP connections.", _TERMINAL),
        lambda shown: shown.reported.connections,
    ),
    Column(
        Family(
            "airbound_terminal_sending_connections", "gauge",
            "Of them, those with unsent or unacknowledged data.", _TERMINAL,
        ),
        lambda shown: shown.reported.connections_sending,
    ),
    Column(
        Family("airbound_terminal_cwnd_segments", "gauge", "Congestion windows, summed over connections.", _TERMINAL),
        lambda shown: shown.reported.cwnd_segs,
    ),
    Column(
        Family(
            "airbound_terminal_cwnd_min_segments", "gauge",
            "Lower bound of a connection's window, as sent; of the bound with the smallest maximum.", _TERMINAL,
        ),
        lambda shown: shown.min_segs,
    ),
    Column(
        Family(
            "airbound_terminal_cwnd_max_segments", "gauge",
            "Upper bound of a connection's window, as sent; the smallest of all destinations.", _TERMINAL,
        ),
        lambda shown: shown.max_segs,
    ),
    Column(
        Family(
            "airbound_terminal_bounds_in_force", "gauge",
            "1 if the terminal reports the bounds in force that it was sent last, else 0.", _TERMINAL,
        ),
        lambda shown: int(_is_in_force(shown.sample)),
    ),
    Column(
        Family("airbound_terminal_lease_seconds", "gauge", "What remains of the lease of its bounds.", _TERMINAL),
        lambda shown: shown.lease_s,
    ),
    Column(
        Family(
            "airbound_terminal_rtt_seconds", "gauge",
            "Smoothed RTT to the worst of the destinations that are sent to; absent while none is.", _TERMINAL,
        ),
        lambda shown: shown.reported.worst and shown.reported.worst.srtt_s,
    ),
    Column(
        Family(
            "airbound_terminal_min_rtt_seconds", "gauge",
            "Minimum RTT to the same destination, the smaller of the terminal's own and its cell's.", _TERMINAL,
        ),
        lambda shown: shown.reported.worst and shown.reported.worst.min_rtt_s,
    ),
    Column(
        Family("airbound_terminal_rtt_ratio", "gauge", "RTT over minimum RTT of the same, at least 1.", _TERMINAL),
        lambda shown: shown.reported.worst and shown.reported.worst.ratio,
    ),
    Column(
        Family("airbound_terminal_delivered_bytes_total", "counter", "Bytes that were acknowledged.", _TERMINAL),
        lambda shown: shown.totals[0],
    ),
    Column(
        Family("airbound_terminal_queued_bytes", "gauge", "Unsent and unacknowledged bytes.", _TERMINAL),
        lambda shown: shown.reported.queued_bytes,
    ),
    *(_event(index, TCP_EVENTS) for index in range(len(EVENTS))),
    Column(
        Family(
            "airbound_terminal_arrivals_total", "counter",
            "How often it arrived somewhere, so that it can send again.", _TERMINAL,
        ),
        lambda shown: shown.arrivals[0],
    ),
    Column(
        Family(
            "airbound_terminal_arrival_waiting_connections_total", "counter",
            "Connections that waited for a retransmission timer when it arrived.", _TERMINAL,
        ),
        lambda shown: shown.arrivals[1],
    ),
    Column(
        Family(
            "airbound_terminal_arrival_retransmissions_total", "counter",
            "Of them, those that its agent made retransmit at once.", _TERMINAL,
        ),
        lambda shown: shown.arrivals[2],
    ),
    Column(
        Family(
            "airbound_terminal_arrival_answers_total", "counter",
            "Arrivals after which a connection that had waited was answered.", _TERMINAL,
        ),
        lambda shown: shown.arrivals[3],
    ),
    Column(
        Family(
            "airbound_terminal_arrival_silence_seconds_total", "counter",
            "Time from these arrivals until the first answer, added up.", _TERMINAL,
        ),
        lambda shown: shown.arrivals[4] / 1e3,
    ),
    Column(
        Family(
            "airbound_terminal_arrival_last_silence_seconds", "gauge",
            "The last of these times; absent if there was none.", _TERMINAL,
        ),
        lambda shown: shown.reported.last_silence_s,
    ),
    Column(
        Family(
            "airbound_terminal_arrival_silent_downloads_total", "counter",
            "Downloads that had stopped when it arrived, if its agent may send messages to their servers.", _TERMINAL,
        ),
        lambda shown: shown.arrivals[5],
    ),
    Column(
        Family(
            "airbound_terminal_arrival_resumed_downloads_total", "counter",
            "Of them, those that went on within a second of these messages.", _TERMINAL,
        ),
        lambda shown: shown.arrivals[6],
    ),
    Column(
        Family(
            "airbound_terminal_arrival_server_messages_total", "counter",
            "Messages to servers, so that they retransmit at once.", _TERMINAL,
        ),
        lambda shown: shown.arrivals[7],
    ),
    Column(
        Family(
            "airbound_terminal_retransmission_info", "info",
            "What makes its TCP retransmit after an arrival: requests to a patched kernel, messages to itself, or"
            " timers alone; absent until it has arrived somewhere.", (*_TERMINAL, "by"),
        ),
        lambda shown: 1 if shown.reported.retransmission else None,
        _RETRANSMISSION,
    ),
    Column(
        Family(
            "airbound_terminal_flow_failures_total", "counter",
            "Sets of flows that its agent could not apply, or not wholly.", _TERMINAL,
        ),
        lambda shown: shown.flows[0],
    ),
    Column(
        Family(
            "airbound_terminal_flow_marked_packets_total", "counter",
            "Packets that left it in another access category than their own.", _TERMINAL,
        ),
        lambda shown: shown.flows[1],
    ),
    Column(
        Family(
            "airbound_terminal_flow_paced_packets_total", "counter",
            "UDP packets that waited for their flow's rate.", _TERMINAL,
        ),
        lambda shown: shown.flows[2],
    ),
    Column(
        Family(
            "airbound_terminal_flow_dropped_packets_total", "counter",
            "UDP packets that were dropped for their flow's rate.", _TERMINAL,
        ),
        lambda shown: shown.flows[3],
    ),
    Column(
        Family(
            "airbound_terminal_refusals_total", "counter",
            "Reports of the terminal, and entries of reports, that were refused.", _TERMINAL,
        ),
        lambda shown: shown.refused,
    ),
    Column(
        Family(
            "airbound_terminal_failures_total", "counter", "Decisions that ended in an error.", _TERMINAL
        ),
        lambda shown: shown.failed,
    ),
    Column(
        Family("airbound_terminal_malformed_inputs_total", "counter", "Input that its agent refused.", _TERMINAL),
        lambda shown: shown.malformed,
    ),
)  # fmt: skip


class TerminalSeries:
    """What is kept of a terminal from one snapshot to the next."""

    __slots__ = (
        "arrivals",
        "classes",
        "counted",
        "decided",
        "described",
        "flows",
        "labels",
        "malformed",
        "ours",
        "totals",
    )

    def __init__(self) -> None:
        self.totals, self.malformed = Totals(1 + len(EVENTS)), Totals(1)
        self.arrivals, self.flows = Totals(len(_NO_ARRIVALS)), Totals(len(_NO_FLOWS))
        self.ours = Totals(2, whole=True)
        self.decided = decisions.DecisionCounts(decisions.TERMINAL)
        self.classes: classes.ClassSeries | None = None  # until one is reported: most terminals have none
        self.counted: list[tuple[Mac, int, int, int, int]] = []  # what the totals were made of
        self.described: tuple[object, ...] = ()  # what the labels were made of
        self.labels: tuple[str, ...] = ()


class TerminalTables:
    """From samples of terminals to lines."""

    def __init__(self, most: int) -> None:
        self.slots = Slots[str, TerminalSeries](most, TerminalSeries)
        self.table = Table(COLUMNS)
        self.decisions = Table((decisions.TERMINAL_COLUMN,))
        self.classes = Table(classes.COLUMNS)

    def take(self, now_us: int, by_name: Mapping[str, Sequence[Stream]]) -> None:
        """Take in the terminals that have series, by their labels."""
        self.slots.choose(by_name)
        for name, series in self.slots.states.items():
            self._take(now_us, name, series, by_name[name])

    def _take(self, now_us: int, name: str, series: TerminalSeries, streams: Sequence[Stream]) -> None:
        sample, reported = streams[0] if len(streams) == 1 else _merged(streams)
        lease_s = lease_s_of(sample, now_us)
        whole = [bound for bound in sample.bounds if bound.uid is None] if lease_s else []
        bound = min(whole, key=_MAXIMUM, default=None)
        counted = [
            (one.mac, one.stream.number, one.refused_total, one.failures_total, one.malformed_inputs_total)
            for one, _ in streams
        ]
        if counted != series.counted:  # hardly ever
            series.counted = counted
            series.ours.update([(stream, (refused, failed)) for _, stream, refused, failed, _ in counted])
            series.malformed.update([(mac, (malformed,)) for mac, *_, malformed in counted])
        shown_now = Shown(
            sample,
            reported,
            series.totals.update(reported.counts),
            series.arrivals.update(reported.arrivals),
            series.flows.update(reported.flows),
            series.ours.counts[0],
            series.ours.counts[1],
            series.malformed.counts[0],
            max(0, now_us - sample.reported_at_us) / 1e6,
            lease_s,
            bound and bound.min_segs,
            bound and bound.max_segs,
        )
        self.table.add(_labels(series, name, sample, reported.retransmission), shown_now)
        decided = [(one.stream.number, one.decided) for one, _ in streams]
        for labels, count in series.decided.update({"terminal": name}, decided):
            self.decisions.add((labels,), (count,))
        if reported.classes and series.classes is None:
            series.classes = classes.ClassSeries()
        if series.classes is not None:
            for labels, row in series.classes.update(name, reported.classes):
                self.classes.add((labels,), row)


def lease_s_of(sample: TerminalSample, now_us: int) -> float:
    """What remains of the lease of a terminal's bounds; 0 if it has none."""
    return max(0, sample.lease_ends_at_us - now_us) / 1e6 if sample.bounds else 0.0


def _is_in_force(sample: TerminalSample) -> bool:
    return bool(sample.bounds) and sample.generation_in_force == sample.generation_sent


def reported_by(sample: TerminalSample) -> Reported:
    """What is shown of a terminal's last report. Values that nobody has checked count as 0 if they are absurd."""
    report = terminal_pb2.TerminalServiceConnectRequest.FromString(sample.last_report).report
    mac, shared = sample.mac, dict(sample.shared_min_rtts_us)
    cwnd_segs = connections = connections_sending = queued_bytes = 0
    worst, counts, of_classes = None, [], list[classes.Part]()
    for destination in report.destinations:
        sending, address, srtt_us = destination.connections_sending, destination.address, destination.srtt_us
        cwnd_segs += destination.cwnd_segs
        connections += destination.connections
        connections_sending += sending
        queued_bytes += destination.queued_bytes
        counts.append(((mac, address), _counts(destination)))
        if destination.classes:
            of_classes += classes.parts(mac, destination)
        if sending and srtt_us:
            own_us, shared_us = destination.min_rtt_us, shared.get(address, 0)
            min_rtt_us = shared_us if not own_us or 0 < shared_us < own_us else own_us
            ratio = srtt_us / min_rtt_us if min_rtt_us else 0.0
            if min_rtt_us and (worst is None or ratio > worst[0]):
                worst = _new(Rtt, (max(1.0, ratio), srtt_us / 1e6, min_rtt_us / 1e6))
    arrivals = [(mac, _arrivals(report.arrivals) if report.HasField("arrivals") else _NO_ARRIVALS)]
    seen = report.arrivals
    retransmission = _RETRANSMISSIONS.get(seen.back_end, "")
    silence_s = seen.last_silence_ms / 1e3 if seen.answered_total and seen.last_silence_ms <= COUNTER_MAX else None
    return _new(
        Reported,
        (
            cwnd_segs,
            connections,
            connections_sending,
            queued_bytes,
            worst,
            counts,
            arrivals,
            retransmission,
            silence_s,
            of_classes,
            [(mac, _flows(report.flows) if report.HasField("flows") else _NO_FLOWS)],
        ),
    )


def _flows(flows: terminal_pb2.FlowState) -> tuple[int, ...]:
    counts = (
        flows.failures_total,
        flows.marked_packets_total,
        flows.paced_packets_total,
        flows.dropped_packets_total,
    )
    return counts if max(counts) <= COUNTER_MAX else _NO_FLOWS


def _arrivals(arrivals: terminal_pb2.Arrivals) -> tuple[int, ...]:
    counts = (
        arrivals.arrivals_total,
        arrivals.waiting_connections_total,
        arrivals.retransmissions_total,
        arrivals.answered_total,
        arrivals.silence_ms_total,
        arrivals.silent_downloads_total,
        arrivals.resumed_downloads_total,
        arrivals.server_messages_total,
    )
    return counts if max(counts) <= COUNTER_MAX else _NO_ARRIVALS


def _counts(destination: terminal_pb2.Destination) -> tuple[int, ...]:
    """Delivered bytes and the events."""
    delivered = destination.delivered_bytes
    if not destination.HasField("events"):
        return delivered if delivered <= COUNTER_MAX else 0, *_NO_EVENTS
    events = destination.events
    counts = (
        delivered,
        events.local_congestion,
        events.duplicate_ack,
        events.sack,
        events.fast_retransmit,
        events.timeout,
        events.undo,
    )
    return counts if max(counts) <= COUNTER_MAX else tuple(count if count <= COUNTER_MAX else 0 for count in counts)


def _merged(streams: Sequence[Stream]) -> tuple[TerminalSample, Reported]:
    """Several streams as one: of those that count, the one that reported last and sums over all of them."""
    counting = [one for one in streams if one[0].live] or streams
    sample = max((sample for sample, _ in counting), key=attrgetter("reported_at_us"))
    reports = [reported for _, reported in counting]
    newest = next(reported for one, reported in counting if one is sample)
    worst = max((reported.worst for reported in reports if reported.worst), default=None)
    arrivals, flows = dict[Mac, tuple[int, ...]](), dict[Mac, tuple[int, ...]]()
    for mac, counts in (entry for reported in reports for entry in reported.arrivals):
        arrivals[mac] = max(arrivals.get(mac, counts), counts)  # An agent makes a new stream when it has arrived.
    for mac, counts in (entry for reported in reports for entry in reported.flows):
        flows[mac] = max(flows.get(mac, counts), counts)
    return sample, Reported(
        sum(reported.cwnd_segs for reported in reports),
        sum(reported.connections for reported in reports),
        sum(reported.connections_sending for reported in reports),
        sum(reported.queued_bytes for reported in reports),
        worst,
        [entry for reported in reports for entry in reported.counts],
        [*arrivals.items()],
        newest.retransmission,
        newest.last_silence_s,
        [part for reported in reports for part in reported.classes],
        [*flows.items()],
    )


def _labels(series: TerminalSeries, label: str, sample: TerminalSample, retransmission: str) -> tuple[str, ...]:
    """The sets of labels; made again only if something changed."""
    why = sample.no_bounds and sample.no_bounds.code
    described = (sample.bssid, sample.back_end, sample.agent_version, why, retransmission)
    if described != series.described:
        terminal = {"terminal": label}
        info = {
            "bssid": mac_text(sample.bssid),
            "back_end": printable(sample.back_end.name),
            "agent_version": printable(sample.agent_version),
        }
        reason = {"reason": sample.no_bounds.code.name.lower() if sample.no_bounds else ""}
        by = {"by": retransmission}
        sets: list[dict[str, str]] = [{}, info, reason, by, *({"event": event} for event in EVENTS)]
        series.described, series.labels = described, tuple(f"{label_set(terminal | more)} " for more in sets)
    return series.labels
