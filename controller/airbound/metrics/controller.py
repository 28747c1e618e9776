# SPDX-License-Identifier: Apache-2.0
"""Metrics of the controller as a whole. There are few: prometheus_client formats them."""

import platform
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from airbound import __version__
from airbound.core.reasons import Code
from airbound.metrics import switch
from airbound.metrics.decisions import ACTIONS
from airbound.metrics.family import Family
from airbound.metrics.labels import printable
from airbound.metrics.samples import ControllerSample
from airbound.runtime.histogram import BOUNDS_S, Distribution

_ROLES = ("access-point", "terminal", "switch")
_REFUSED, _CLOSED = range(Code.MALFORMED, Code.REPLACED), range(Code.REPLACED, Code.REPLACED + 20)
_RELEASED = {*range(Code.OBSERVE_MODE, Code.STARTED_SENDING), Code.KEPT_TXOP, Code.NEIGHBOURS}
_OF_MAXIMA = {Code.AGGREGATES, Code.PHY_RATE, Code.STOPPING_SENDERS, Code.WIDENED}
_CHANGED = {*range(Code.STARTED_SENDING, Code.SHARE + 1), *_OF_MAXIMA, Code.APPLICATIONS}
_EDCA_ONLY = {Code.UPLOADS, *range(Code.EDCA_OFF, Code.DOWNLOADS + 1)}
_WINDOWS_ONLY = {Code.STATIONS_LIMITED, Code.WINDOW_CLAMP_OFF, Code.CANNOT_SET_WINDOWS, Code.NO_STATION_TO_LIMIT}
_OF_SETS = {*_RELEASED, *_CHANGED, *_WINDOWS_ONLY} - {Code.AGENT_BOUNDS}
_NOT_OF = {
    "bounds": _EDCA_ONLY | _WINDOWS_ONLY,
    "edca": _WINDOWS_ONLY | _OF_MAXIMA | {Code.APPLICATIONS, Code.KEPT_TXOP},
    # Of one cell's stations at once: what is of a terminal alone releases none of them.
    "windows": _EDCA_ONLY | {Code.APPLICATIONS, Code.NOT_SENDING, *range(Code.BACK_END_CANNOT_BOUND, Code.CELL_STALE)},
}

BUILD = Family("airbound_build_info", "info", "Version of the controller.", ("version", "python"))
CONTROL = Family("airbound_control_info", "info", "Mode and policy in force.", ("mode", "policy"))
CELLS = Family("airbound_cells", "gauge", "Cells that were reported within forget_ms.")
STATIONS = Family("airbound_stations", "gauge", "Stations of the access points that are connected.")
TERMINALS = Family("airbound_terminals", "gauge", "Terminals that have reported on an open stream.")
WITHOUT_BOUNDS = Family(
    "airbound_terminals_without_bounds", "gauge", "Of them, those that have no bounds, by reason.", ("reason",)
)
OMITTED = Family(
    "airbound_metrics_omitted",
    "gauge",
    "Objects without series of their own: beyond cells_max and so on.",
    ("kind",),
)
STREAMS = Family("airbound_streams", "gauge", "Open streams of agents.", ("role",))
STREAMS_OPENED = Family("airbound_streams_opened_total", "counter", "Streams of agents that were taken.", ("role",))
STREAMS_CLOSED = Family("airbound_streams_closed_total", "counter", "Streams that the controller ended.", ("reason",))
REPORTS = Family("airbound_reports_total", "counter", "Reports that arrived, refused ones included.", ("role",))
REFUSALS = Family(
    "airbound_refusals_total", "counter", "What was refused: reports, entries of reports, streams.", ("reason",)
)
COMMANDS = Family("airbound_commands_total", "counter", "Commands for agents.", ("command",))
DECISIONS = Family(
    "airbound_decisions_total", "counter", "Sets and releases of bounds and of EDCA parameters, by their first reason.",
    ("subject", "action", "reason"),
)  # fmt: skip
FENCED = Family(
    "airbound_fenced_total", "counter", "Commands that were not passed on: their cell has another owner by now."
)
FAILURES = Family("airbound_failures_total", "counter", "Decisions that ended in an error of the controller.")
LOOP = Family(
    "airbound_control_loop_seconds", "histogram",
    "decision: from a report's arrival to the commands that it leads to; write: from a command of bounds, a lease or"
    " EDCA parameters to when its stream has taken it.", ("stage",),
)  # fmt: skip
TIMER_DELAY = Family(
    "airbound_timer_delay_seconds", "histogram", "How late the event loop does what is due: leases and time-outs."
)
LOG_DROPPED = Family("airbound_log_lines_dropped_total", "counter", "Lines that were not logged.")
CONFIG = Family(
    "airbound_config_info", "info", "Hash of the configuration in force, as in `airbound config show`.", ("hash",)
)
CONFIG_APPLIED = Family("airbound_config_applied_timestamp_seconds", "gauge", "When it came into force, Unix time.")
CONFIG_ERRORS = Family(
    "airbound_config_load_errors_total", "counter", "Configuration files that were refused while running."
)
STORE = Family("airbound_store_info", "info", "Kind of the store.", ("kind",))
STORE_CALLS = Family("airbound_store_call_seconds", "histogram", "Calls of the store.", ("call",))
STORE_ERRORS = Family("airbound_store_errors_total", "counter", "Calls of the store that failed.", ("call",))
OWNED = Family("airbound_cells_owned", "gauge", "Cells that this controller owns; absent without a shared store.")
REPLICA_MESSAGES = Family(
    "airbound_replica_messages_total", "counter",
    "Messages between replicas. sent: given to the outbox; dropped: of them, those that a replica did not listen for;"
    " received: handled, each once; reordered: of them, those that waited for an earlier one; repeated: came again, or"
    " too late; missing: did not come.", ("outcome",),
)  # fmt: skip
CERTIFICATES = Family(
    "airbound_certificate_not_after_timestamp_seconds", "gauge", "When a certificate ends, Unix time.", ("certificate",)
)
HANDSHAKES = Family(
    "airbound_handshakes_total", "counter", "TLS handshakes begun, one for each connection taken.",
    ("port",),
)  # fmt: skip
HANDSHAKES_FAILED = Family(
    "airbound_handshakes_failed_total", "counter", "TLS handshakes of any port that failed, as gRPC logs them.",
    ("reason",),
)  # fmt: skip
CONNECTIONS = Family("airbound_connections", "gauge", "Open connections.", ("port",))
WITHOUT_CALL = Family(
    "airbound_connections_without_call", "gauge",
    "Of them, those without an authenticated call so far: in a handshake, or after it.", ("port",),
)  # fmt: skip
OF_ADDRESS = Family(
    "airbound_connections_largest_of_address", "gauge", "Open connections of the address that has most.", ("port",)
)
WITH_CALL = Family(
    "airbound_connections_with_call_total", "counter", "Connections on which an authenticated call was made.", ("port",)
)
ENDED_WITHOUT_CALL = Family(
    "airbound_connections_ended_without_call_total", "counter",
    "Connections that ended without an authenticated call.", ("port",),
)  # fmt: skip
CONNECTIONS_CLOSED = Family(
    "airbound_connections_closed_total", "counter",
    "Connections that the controller closed for what they took, octets or seconds, or since all places were taken and"
    " their address had most (displaced).", ("port", "cause"),
)  # fmt: skip
CONNECTIONS_EXCESSIVE = Family(
    "airbound_connections_excessive_total", "counter",
    "Connections that sent more octets than their messages and calls account for.", ("port",),
)  # fmt: skip
ENROLLMENT_PROCESSES = Family(
    "airbound_enrollment_processes_total", "counter",
    "Processes for enrolment that were started: one at the first device, and another whenever one has ended.",
)  # fmt: skip
FRONT_PROCESSES = Family(
    "airbound_front_processes_total", "counter",
    "Processes before the ports of agents and operators that were started: one for each, and another whenever one has"
    " ended.",
)  # fmt: skip
ENROLLED = Family(
    "airbound_enrolled", "gauge",
    "Names that have a certificate which has not ended, as counted within the last minute.", ("role",),
)  # fmt: skip
OVERDUE = Family(
    "airbound_enrolled_renewal_overdue", "gauge",
    "Of them, those whose last certificate has less than a quarter of its life left: they should have renewed it.",
    ("role",),
)  # fmt: skip

FAMILIES = (
    BUILD, CONTROL, CELLS, STATIONS, TERMINALS, WITHOUT_BOUNDS, OMITTED, STREAMS, STREAMS_OPENED, STREAMS_CLOSED,
    REPORTS, REFUSALS, COMMANDS, DECISIONS, FENCED, FAILURES, LOOP, TIMER_DELAY, LOG_DROPPED, CONFIG, CONFIG_APPLIED,
    CONFIG_ERRORS, STORE, STORE_CALLS, STORE_ERRORS, OWNED, REPLICA_MESSAGES, CERTIFICATES, HANDSHAKES,
    HANDSHAKES_FAILED, CONNECTIONS, WITHOUT_CALL, OF_ADDRESS, WITH_CALL, ENDED_WITHOUT_CALL, CONNECTIONS_CLOSED,
    CONNECTIONS_EXCESSIVE, FRONT_PROCESSES, ENROLLMENT_PROCESSES, ENROLLED, OVERDUE,
)  # fmt: skip


class Counted(NamedTuple):
    """How many objects a snapshot has."""

    cells: int
    stations: int
    terminals: int
    without_bounds: Mapping[str, int]  # by reason
    omitted: Mapping[str, int]  # by kind


def metrics(sample: ControllerSample, counted: Counted) -> Iterator[Metric]:
    """All of them."""
    yield _info(BUILD, __version__, platform.python_version())
    yield _info(CONTROL, sample.mode, sample.policy)
    yield _one(CELLS, counted.cells)
    yield _one(STATIONS, counted.stations)
    yield _one(TERMINALS, counted.terminals)
    yield _by(WITHOUT_BOUNDS, counted.without_bounds)
    yield _by(OMITTED, counted.omitted)
    yield _by(STREAMS, dict.fromkeys(_ROLES, 0) | dict(sample.streams))
    yield _by(STREAMS_OPENED, dict.fromkeys(_ROLES, 0) | dict(sample.streams_opened))
    yield _by(STREAMS_CLOSED, _by_reason(sample, "closed_total", _CLOSED))
    yield _by(REPORTS, dict.fromkeys(_ROLES, 0) | dict(sample.reports))
    yield _by(REFUSALS, _by_reason(sample, "refused_total", _REFUSED))
    yield _by(COMMANDS, {_snake(name): count for name, count in sample.commands.items()})
    yield _decisions(sample)
    yield _one(FENCED, sample.counters.get(("fenced_total", Code.UNSPECIFIED), 0))
    yield _one(FAILURES, sample.counters.get(("failures_total", Code.UNSPECIFIED), 0))
    yield _histogram(LOOP, {"decision": sample.decision, "write": sample.write})
    yield _histogram(TIMER_DELAY, {"": sample.timer_delay})
    yield _one(LOG_DROPPED, sample.log_lines_dropped)
    if sample.configuration_digest:
        yield _info(CONFIG, sample.configuration_digest)
        yield _one(CONFIG_APPLIED, sample.configuration_applied_at_s)
    yield _one(CONFIG_ERRORS, sample.configuration_errors_total)
    yield _info(STORE, sample.store_kind)
    yield _histogram(STORE_CALLS, sample.store_durations)
    yield _by(STORE_ERRORS, dict.fromkeys(sample.store_durations, 0) | dict(sample.store_errors))
    if sample.epochs is not None:
        yield _one(OWNED, len(sample.epochs))
    yield _by(REPLICA_MESSAGES, sample.replica_messages)
    yield _by(CERTIFICATES, {printable(name): at_s for name, at_s in sample.certificates_end.items()})
    yield _by(HANDSHAKES, sample.handshakes)
    yield _by(HANDSHAKES_FAILED, sample.handshakes_failed)
    counts = sample.connections
    yield _by(CONNECTIONS, {port: count.open for port, count in counts.items()})
    yield _by(WITHOUT_CALL, {port: count.without_call for port, count in counts.items()})
    yield _by(OF_ADDRESS, {port: count.largest_of_address for port, count in counts.items()})
    yield _by(WITH_CALL, {port: count.with_call_total for port, count in counts.items()})
    yield _by(ENDED_WITHOUT_CALL, {port: count.ended_without_call_total for port, count in counts.items()})
    yield _labelled(CONNECTIONS_CLOSED, {(*labels,): count for labels, count in sample.connections_closed.items()})
    yield _by(CONNECTIONS_EXCESSIVE, sample.connections_excessive)
    if sample.front_processes is not None:
        yield _one(FRONT_PROCESSES, sample.front_processes)
    if sample.enrollment_processes is not None:
        yield _one(ENROLLMENT_PROCESSES, sample.enrollment_processes)
    yield _by(ENROLLED, {role: enrolled for role, (enrolled, _) in sample.enrolled.items()})
    yield from switch.metrics(sample.switches, _labelled)
    yield _by(OVERDUE, {role: overdue for role, (_, overdue) in sample.enrolled.items()})


def _one(family: Family, value: float) -> Metric:
    return _labelled(family, {(): value})


def _info(family: Family, *values: str) -> Metric:
    metric = InfoMetricFamily(family.base, family.help)
    metric.add_metric((), dict(zip(family.labels, values, strict=True)))
    return metric


def _by(family: Family, values: Mapping[str, float]) -> Metric:
    return _labelled(family, {(name,): value for name, value in values.items()})


def _labelled(family: Family, values: Mapping[tuple[str, ...], float]) -> Metric:
    metric_family = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    metric = metric_family(family.base, family.help, labels=family.labels, unit=family.unit)
    for labels, value in sorted(values.items()):
        metric.add_metric(labels, value)
    return metric


def _by_reason(sample: ControllerSample, counter: str, codes: range) -> Mapping[str, int]:
    """A counter of the core by the names of reasons; those that belong to it are there from the start."""
    counts = {code.name.lower(): 0 for code in Code if code in codes}
    return counts | {code.name.lower(): count for (name, code), count in sample.counters.items() if name == counter}


def _decisions(sample: ControllerSample) -> Metric:
    """Those that can be are there from the start: of a counter's growth before its first sample nothing is seen."""
    counts: dict[tuple[str, ...], float] = {
        (subject, action, code.name.lower()): 0
        for code in Code
        for subject, action in ACTIONS.values()
        if code in _OF_SETS - _NOT_OF[subject] and (code in _RELEASED) is (action == "release")
    }
    counts |= {
        (*ACTIONS[name], code.name.lower()): count for (name, code), count in sample.counters.items() if name in ACTIONS
    }
    return _labelled(DECISIONS, counts)


def _histogram(family: Family, distributions: Mapping[str, Distribution]) -> Metric:
    metric = HistogramMetricFamily(family.base, family.help, labels=family.labels, unit=family.unit)
    limits = [*map(repr, BOUNDS_S), "+Inf"]
    for name, distribution in sorted(distributions.items()):
        buckets = list(zip(limits, distribution.cumulative, strict=True))
        metric.add_metric((name,) if family.labels else (), buckets, distribution.sum_s)
    return metric


def _snake(name: str) -> str:
    """SetBounds as set_bounds."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")
