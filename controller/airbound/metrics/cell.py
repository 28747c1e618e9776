# SPDX-License-Identifier: Apache-2.0
"""Metrics of cells, by BSSID."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from airbound.core.addresses import Mac, mac_text
from airbound.core.bands import BAND_NAMES
from airbound.core.cell.channel_access import best_effort, stations_best_effort
from airbound.core.edca import Edca
from airbound.core.reasons import Code
from airbound.metrics import decisions
from airbound.metrics.family import Family, Kind
from airbound.metrics.labels import label_set, octets_text, printable
from airbound.metrics.rtt import Rtt
from airbound.metrics.samples import CellSample, LiveSample, Snapshot, WindowSample
from airbound.metrics.slots import Slots
from airbound.metrics.table import Column, Table
from airbound.metrics.totals import Totals

_CELL = ("bssid",)
_QUANTILE = ("bssid", "quantile")
_PLAIN, _INFO, _CONTROL, _CAPACITY, _EDCA, _MEDIAN, _LARGEST, _WINDOWS, _UNLIMITED = range(9)  # sets of labels


@dataclass(slots=True)
class Joined:
    """What a cell's metrics show of the terminals that are joined to it."""

    names: dict[Mac, str] = field(default_factory=dict)
    bounded: int = 0
    rtts_s: list[float] = field(default_factory=list)
    rtt_ratios: list[float] = field(default_factory=list)

    def add(self, mac: Mac, name: str, worst: Rtt | None, *, bounded: bool) -> None:
        """One more terminal."""
        self.names[mac] = name
        self.bounded += bounded
        self.add_rtt(worst)

    def add_rtt(self, worst: Rtt | None) -> None:
        """RTTs of a terminal, or of a station without one."""
        if worst is not None:
            self.rtts_s.append(worst.srtt_s)
            self.rtt_ratios.append(worst.ratio)


class _Cell(NamedTuple):
    """A cell, and what else its metrics follow from."""

    sample: CellSample
    joined: Joined
    epoch: int | None
    age_s: float
    lease_s: float
    refused: int
    malformed: int
    surveys_refused: int
    windows: WindowSample | None
    window_counts: tuple[int, ...]  # as _window_counts


def _window_counts(sample: WindowSample) -> tuple[int, ...]:
    """Counters of the access point's agent."""
    reported = sample.reported
    return reported.refused_total, reported.connections_evicted_total, reported.limited_segments_total


def _window_gauge(name: str, text: str, value: Callable[[WindowSample], float]) -> Column:
    """Absent of an access point that does not look at its stations' connections."""
    family = Family(f"airbound_cell_{name}", "gauge", text, _CELL)
    return Column(family, lambda cell: None if cell.windows is None else value(cell.windows))


def _live(name: str, kind: Kind, text: str, value: Callable[[LiveSample], float]) -> Column:
    """Absent while there is no live flow."""
    family = Family(f"airbound_cell_{name}", kind, text, _CELL)
    return Column(family, lambda cell: None if cell.sample.live is None else value(cell.sample.live))


def _window_counter(name: str, text: str, index: int) -> Column:
    family = Family(f"airbound_cell_{name}_total", "counter", text, _CELL)
    return Column(family, lambda cell: None if cell.windows is None else cell.window_counts[index])


RTT = Family(
    "airbound_cell_rtt_seconds", "summary",
    "airbound_terminal_rtt_seconds of the cell's terminals, airbound_station_rtt_seconds of its stations without an "
    "agent: median and largest.", _QUANTILE,
)  # fmt: skip
RTT_RATIO = Family(
    "airbound_cell_rtt_ratio", "summary",
    "airbound_terminal_rtt_ratio of the cell's terminals, airbound_station_rtt_ratio of its stations without an agent: "
    "median and largest.", _QUANTILE,
)  # fmt: skip

COLUMNS = (
    Column(
        Family(
            "airbound_cell_info", "info",
            "A cell: its network's name, its access point's name and agent, its band (2.4, 5, 6 or 60 GHz).",
            ("bssid", "ssid", "access_point", "agent_version", "band"),
        ),
        lambda _: 1,
        _INFO,
    ),
    Column(
        Family(
            "airbound_cell_control_info", "info", "Mode and policy of the cell: the controller's, or an override's.",
            ("bssid", "mode", "policy"),
        ),
        lambda _: 1,
        _CONTROL,
    ),
    Column(
        Family("airbound_cell_capacity_info", "info", "What the capacity is estimated from.", ("bssid", "source")),
        lambda _: 1,
        _CAPACITY,
    ),
    Column(
        Family(
            "airbound_cell_edca_info", "info",
            "Why the access point has its EDCA parameters; uploads: they are the controller's.", ("bssid", "reason"),
        ),
        lambda cell: 1 if cell.sample.edca_code else None,
        _EDCA,
    ),
    Column(
        Family("airbound_cell_frequency_hertz", "gauge", "Centre of the channel.", _CELL),
        lambda cell: cell.sample.center_frequency_mhz * 1_000_000 or None,
    ),
    Column(
        Family("airbound_cell_report_age_seconds", "gauge", "Age of the access point's last report.", _CELL),
        lambda cell: cell.age_s,
    ),
    Column(
        Family("airbound_cell_connected", "gauge", "1 while the access point's agent is connected, else 0.", _CELL),
        lambda cell: int(cell.sample.access_point is not None),
    ),
    Column(
        Family("airbound_cell_exempt", "gauge", "1 if an operator exempted the cell, else 0.", _CELL),
        lambda cell: int(cell.sample.exempt),
    ),
    Column(
        Family("airbound_cell_stations", "gauge", "Stations by the access point's last report.", _CELL),
        lambda cell: cell.sample.associated,
    ),
    Column(
        Family("airbound_cell_active_senders", "gauge", "Stations that send, with an agent or without.", _CELL),
        lambda cell: cell.sample.active_senders,
    ),
    Column(
        Family(
            "airbound_cell_active_receivers", "gauge",
            "Stations that receive more than the TCP ACKs of their uploads.", _CELL,
        ),
        lambda cell: cell.sample.active_receivers,
    ),
    Column(
        Family("airbound_cell_terminals", "gauge", "Terminals that are joined to the cell.", _CELL),
        lambda cell: cell.sample.terminals,
    ),
    Column(
        Family("airbound_cell_bounded_terminals", "gauge", "Of them, those that have bounds under a lease.", _CELL),
        lambda cell: cell.joined.bounded,
    ),
    Column(
        Family(
            "airbound_cell_uplink_bytes_per_second", "gauge",
            "Payload (IP) from the stations, over the last interval of the access point's reports.", _CELL,
        ),
        lambda cell: cell.sample.uplink_bps / 8,
    ),
    Column(
        Family(
            "airbound_cell_downlink_bytes_per_second", "gauge",
            "Payload (IP) to the stations, without the TCP ACKs of uploads, over the same interval.", _CELL,
        ),
        lambda cell: cell.sample.downlink_bps / 8,
    ),
    Column(
        Family("airbound_cell_uplink_share_ratio", "gauge", "The uplink's share of the payload, averaged.", _CELL),
        lambda cell: cell.sample.uplink_share,
    ),
    Column(
        Family("airbound_cell_capacity_bytes_per_second", "gauge", "Estimated capacity, of IP payload.", _CELL),
        lambda cell: cell.sample.capacity_bps / 8,
    ),
    Column(
        Family(
            "airbound_cell_aggregates_ratio",
            "gauge",
            "Length of the aggregates that windows are for, over the computed one: what the policy's search has found.",
            _CELL,
        ),
        lambda cell: cell.sample.found,
    ),
    Column(
        Family("airbound_cell_aggregates_trials_total", "counter", "Lengths that the policy's search tried.", _CELL),
        lambda cell: cell.sample.trials_total,
    ),
    Column(
        Family(
            "airbound_cell_unlimited_info", "info",
            "A station takes more than its part, and nothing limits it: the one that takes most.", ("bssid", "station"),
        ),
        lambda cell: 1 if cell.sample.unlimited else None,
        _UNLIMITED,
    ),
    Column(
        Family(
            "airbound_cell_maxima_ratio", "gauge",
            "Maxima over the computed ones: larger beside stations, downloads or cells that take too much.", _CELL,
        ),
        lambda cell: cell.sample.widened,
    ),
    Column(
        Family(
            "airbound_cell_assumed_rates", "gauge",
            "Stations with packets in the last interval whose PHY rate is assumed.", _CELL,
        ),
        lambda cell: cell.sample.assumed_rates,
    ),
    Column(
        Family(
            "airbound_cell_busy_ratio", "gauge",
            "Share of the last interval in which the channel was busy; absent without a survey.", _CELL,
        ),
        lambda cell: cell.sample.busy_ratio,
    ),
    Column(
        Family(
            "airbound_cell_links", "gauge",
            "Links of an access point that is a multi-link device (802.11be); absent if it is none.", _CELL,
        ),
        lambda cell: cell.sample.radio.links or None,
    ),
    Column(
        Family(
            "airbound_cell_survey_refused", "gauge",
            "1 if the access point's agent refused the driver's last survey of the channel, else 0.", _CELL,
        ),
        lambda cell: int(bool(cell.sample.radio.survey_refusal)),
    ),
    Column(
        Family(
            "airbound_cell_surveys_refused_total", "counter",
            "Surveys of the channel that the access point's agent refused, since they cannot be true.", _CELL,
        ),
        lambda cell: cell.surveys_refused,
    ),
    Column(RTT, lambda cell: median(cell.joined.rtts_s) if cell.joined.rtts_s else None, _MEDIAN),
    Column(RTT, lambda cell: max(cell.joined.rtts_s, default=None), _LARGEST),
    Column(RTT_RATIO, lambda cell: median(cell.joined.rtt_ratios) if cell.joined.rtt_ratios else None, _MEDIAN),
    Column(RTT_RATIO, lambda cell: max(cell.joined.rtt_ratios, default=None), _LARGEST),
    Column(
        Family(
            "airbound_cell_reassociations_total", "counter",
            "Stations whose counters began again between two reports.", _CELL,
        ),
        lambda cell: cell.sample.reassociations_total,
    ),
    Column(
        Family(
            "airbound_cell_station_moves_total", "counter",
            "Stations that came to the cell from another one.", _CELL,
        ),
        lambda cell: cell.sample.moves_total,
    ),
    Column(
        Family(
            "airbound_cell_station_disputes_total", "counter",
            "Stations that the cell's access point claimed and another one went on to hear.", _CELL,
        ),
        lambda cell: cell.sample.disputes_total,
    ),
    Column(
        Family(
            "airbound_cell_refusals_total", "counter",
            "Reports of the access point, and entries of reports, that were refused.", _CELL,
        ),
        lambda cell: cell.refused,
    ),
    Column(
        Family(
            "airbound_cell_malformed_inputs_total", "counter", "Input that the access point's agent refused.", _CELL
        ),
        lambda cell: cell.malformed,
    ),
    Column(
        Family(
            "airbound_cell_edca_in_force", "gauge",
            "1 while the access point reports EDCA parameters of a controller in force, else 0.", _CELL,
        ),
        lambda cell: int(cell.sample.access_point is not None and cell.sample.access_point.edca_generation > 0),
    ),
    Column(
        Family(
            "airbound_cell_edca_aifsn", "gauge",
            "AIFSN of best effort that the access point was sent; absent while it has its own.", _CELL,
        ),
        lambda cell: _aifsn(cell.sample),
    ),
    Column(
        Family(
            "airbound_cell_edca_stations_aifsn", "gauge",
            "AIFSN of best effort that the access point was sent to announce to its stations; absent while it announces"
            " its own.", _CELL,
        ),
        lambda cell: queue.aifsn if (queue := _announced(cell.sample)) else None,
    ),
    Column(
        Family(
            "airbound_cell_edca_stations_cw_min", "gauge",
            "CWmin of best effort, slots, that the access point was sent to announce; absent as above.", _CELL,
        ),
        lambda cell: queue.cw_min if (queue := _announced(cell.sample)) else None,
    ),
    Column(
        Family("airbound_cell_edca_lease_seconds", "gauge", "What remains of the lease of EDCA parameters.", _CELL),
        lambda cell: cell.lease_s,
    ),
    Column(
        Family(
            "airbound_cell_edca_failures_total", "counter",
            "Decisions about EDCA parameters that ended in an error of the controller.", _CELL,
        ),
        lambda cell: cell.sample.edca_failures_total,
    ),
    Column(
        Family(
            "airbound_cell_windows_info", "info",
            "Why the access point limits windows of stations without a working agent; stations_limited: it does.",
            ("bssid", "reason"),
        ),
        lambda cell: 1 if cell.windows is not None and cell.windows.code else None,
        _WINDOWS,
    ),
    _window_gauge(
        "stations_without_agent", "Stations without a working agent that send by TCP.", lambda sample: sample.senders
    ),
    _window_gauge(
        "limited_stations", "Of them, those whose windows the access point is to limit.", lambda sample: sample.limited
    ),
    _window_gauge(
        "window_limits", "Limits of windows that the access point was sent.", lambda sample: len(sample.limits)
    ),
    _window_gauge(
        "window_limits_in_force", "Limits of windows that the access point reports to be in force.",
        lambda sample: len(sample.limits) if sample.reported.generation == sample.generation_sent else 0,
    ),
    _window_gauge(
        "window_limits_omitted", "Limits that were left out since the access point takes no more.",
        lambda sample: sample.omitted,
    ),
    _window_gauge(
        "window_connections", "Connections that the access point knows.", lambda sample: sample.reported.connections
    ),
    _window_gauge(
        "window_connections_max", "The most connections that the access point can know.",
        lambda sample: sample.reported.connections_max,
    ),
    _window_counter("window_refusals", "Sets of limits that the access point's agent refused.", 0),
    _window_counter(
        "window_connections_evicted", "Connections removed from the table of the access point, which was full.", 1
    ),
    _window_counter("window_limited_segments", "Segments whose window the access point made smaller.", 2),
    Column(
        Family(
            "airbound_cell_window_failures_total", "counter",
            "Decisions about windows that ended in an error of the controller.", _CELL,
        ),
        lambda cell: None if cell.windows is None else cell.windows.failures_total,
    ),
    _live(
        "live_flows", "gauge", "What applications of class live send, one for each terminal and address.",
        lambda live: live.flows,
    ),
    _live(
        "live_flows_granted", "gauge", "Of them, those that have the category for video.", lambda live: live.granted
    ),
    _live(
        "live_flows_short", "gauge", "Of them, those that get less than they send, and less than they need.",
        lambda live: live.short,
    ),
    _live(
        "live_air_ratio", "gauge", "Part of the air that the granted live flows need, 0 to 1.", lambda live: live.air
    ),
    _live(
        "priorities_closed", "gauge",
        "1 while video and voice have no advantage, since a station uses them without a grant, else 0.",
        lambda live: int(live.closed),
    ),
    _live(
        "live_failures_total", "counter", "Decisions about live flows that ended in an error of the controller.",
        lambda live: live.failures_total,
    ),
    Column(
        Family(
            "airbound_cell_ownership_epoch", "gauge",
            "Epoch under which this controller owns the cell; absent if it does not.", _CELL,
        ),
        lambda cell: cell.epoch,
    ),
)  # fmt: skip


def _aifsn(sample: CellSample) -> int | None:
    queue = best_effort(sample.access_point.edca_queues) if sample.access_point else None
    return queue.aifsn if queue else None


def _announced(sample: CellSample) -> Edca | None:
    return stations_best_effort(sample.access_point.edca_queues) if sample.access_point else None


class CellSeries:
    """What is kept of a cell from one snapshot to the next."""

    __slots__ = ("decided", "described", "labels", "malformed", "refused", "surveys_refused", "windows")

    def __init__(self) -> None:
        self.refused, self.malformed, self.surveys_refused = Totals(1, whole=True), Totals(1), Totals(1)
        self.windows = Totals(3)
        self.decided = decisions.DecisionCounts(decisions.CELL)
        self.described: tuple[object, ...] = ()  # what the labels were made of
        self.labels: tuple[str, ...] = ()


class CellTables:
    """From samples of cells to lines; `station_name` is what labels have of a station."""

    def __init__(self, most: int, station_name: Callable[[Mac], str]) -> None:
        self._station_name = station_name
        self.slots = Slots[Mac, CellSeries](most, CellSeries)
        self.table = Table(COLUMNS)
        self.decisions = Table((decisions.CELL_COLUMN,))

    def take(self, snapshot: Snapshot, joined: Mapping[Mac, Joined]) -> None:
        """Take in the cells that have series."""
        table, nobody, now_us = self.table, Joined(), snapshot.now_us
        epochs = snapshot.controller.epochs or {}
        self.slots.choose(sample.bssid for sample in snapshot.cells)
        for sample in snapshot.cells:
            series = self.slots.states.get(sample.bssid)
            if series is None:
                continue
            access_point, bssid = sample.access_point, sample.bssid
            lease_s, windows = 0.0, None
            if access_point is not None:
                windows = access_point.windows
                if windows is not None:
                    series.windows.update([("", _window_counts(windows))])
                if access_point.edca_queues:
                    lease_s = max(0, access_point.edca_ends_at_us - now_us) / 1e6
                series.refused.update([(access_point.stream, (access_point.refused_total,))])
                series.malformed.update([("", (access_point.malformed_inputs_total,))])
                series.surveys_refused.update([("", (sample.radio.surveys_refused_total,))])
            shown = _Cell(
                sample,
                joined.get(bssid, nobody),
                epochs.get(bssid),
                max(0, now_us - sample.reported_at_us) / 1e6,
                lease_s,
                series.refused.counts[0],
                series.malformed.counts[0],
                series.surveys_refused.counts[0],
                windows,
                series.windows.counts,
            )
            table.add(_labels(series, sample, self._station_name), shown)
            for labels, count in series.decided.update({"bssid": mac_text(bssid)}, [(0, sample.decided)]):
                self.decisions.add((labels,), (count,))


def _labels(series: CellSeries, sample: CellSample, station_name: Callable[[Mac], str]) -> tuple[str, ...]:
    """The sets of labels; made again only if something changed. A station has the label that its own metrics have."""
    access_point = sample.access_point
    name, version = (access_point.name, access_point.agent_version) if access_point else ("", "")
    windows_code = access_point.windows.code if access_point and access_point.windows else Code.UNSPECIFIED
    described = (
        sample.ssid,
        name,
        version,
        sample.mode,
        sample.policy,
        sample.capacity_source,
        sample.edca_code,
        sample.radio.band,
        windows_code,
        sample.unlimited,
    )
    if described != series.described:
        cell = {"bssid": mac_text(sample.bssid)}
        sets: tuple[dict[str, str], ...] = (
            {},
            {
                "ssid": octets_text(sample.ssid),
                "access_point": printable(name),
                "agent_version": printable(version),
                "band": BAND_NAMES.get(sample.radio.band, ""),
            },
            {"mode": sample.mode, "policy": sample.policy},
            {"source": sample.capacity_source},
            {"reason": Code(sample.edca_code).name.lower()},
            {"quantile": "0.5"},
            {"quantile": "1"},
            {"reason": Code(windows_code).name.lower()},
            {"station": station_name(sample.unlimited) if sample.unlimited else ""},
        )
        series.described, series.labels = described, tuple(f"{label_set(cell | more)} " for more in sets)
    return series.labels
