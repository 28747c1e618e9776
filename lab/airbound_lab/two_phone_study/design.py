# SPDX-License-Identifier: Apache-2.0
"""The two-phone study: do two equal phones share a cell evenly, and do their windows stay up? Pure.

Miki, Yamaguchi and Oguchi measured two equal phones, 256 ms from their server, with a monitor in the kernel. In some
runs both were steady and equal, in others only one was steady; a steady phone's cwnd does not fall once it has risen.
Here a phone is *steady* if the monitor shows no reduction of its window in the measured time: no fast retransmit, no
timeout, no local congestion. Two are *equal* if the slower one's goodput is at least 90 % of the faster one's.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound_lab.errors import UsageError
from airbound_lab.report import tables
from airbound_lab.settings.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.figures.results import PhoneResult, Results, Run
    from airbound_lab.records.trace import Track

REDUCTIONS = ("fast_retransmit", "timeout", "local_congestion")
EQUAL_SHARE = 0.9
CLASSES = ("both steady, equal", "both steady, unequal", "one steady", "none steady")

TWO_PHONES = Parameters(
    terminals=2,
    wired_delays_ms=(256.0,),
    seconds=60,
    warmup_seconds=20,
    modes=("cubic", "paper-jb", "bdp"),
    seeds=tuple(range(1, 11)),
    rate_control="aarf",
    retry_limit=7,
    ap_queue_packets=50,
)
"""Radios of those years: the rate control takes a collision for a bad channel, and a frame is dropped after 7 attempts
(802.11's own limit). A short queue in the access point. No loss on the wire, as in the paper, and on the air by
collisions only."""


@dataclass(frozen=True, slots=True)
class Steadiness:
    """One phone in the measured time."""

    goodput_mbps: float
    goodput_cv: float
    """Coefficient of variation: standard deviation over mean, second by second."""
    cwnd_cv: float
    """The same of cwnd, by time."""
    reductions: int

    @property
    def steady(self) -> bool:
        """Whether the window was never reduced."""
        return self.reductions == 0


def steadiness(phone: PhoneResult, parameters: Parameters) -> Steadiness:
    """Return how steady a traced phone was; UsageError if it is not traced, or if its trace lacks records."""
    if phone.trace is None or not phone.trace.connections:
        raise UsageError("the study needs traced runs")
    if phone.trace.lost:
        raise UsageError(f"{phone.trace.lost} records of a trace are missing: its reductions cannot be counted")
    window_s = (float(parameters.warmup_seconds), float(parameters.seconds))
    cwnd = [span for connection in phone.trace.connections for span in spans(connection.cwnd_segs, *window_s)]
    rates = [(value, 1.0) for value in phone.series.goodput_mbps[parameters.warmup_seconds :]]
    reductions = sum(
        value or 0
        for connection in phone.trace.connections
        for kind in REDUCTIONS
        for t_s, value in zip(connection.events[kind].t_s, connection.events[kind].values, strict=True)
        if window_s[0] < t_s <= window_s[1]
    )
    return Steadiness(phone.goodput_mbps, variation(rates), variation(cwnd), reductions)


def spans(track: Track, from_s: float, to_s: float) -> list[tuple[float, float]]:
    """The values of a track between two moments, each with the seconds for which it was current."""
    ends_s = [*track.t_s[1:], to_s]
    values = []
    for start_s, end_s, value in zip(track.t_s, ends_s, track.values, strict=True):
        seconds = min(end_s, to_s) - max(start_s, from_s)
        if value is not None and seconds > 0:
            values.append((float(value), seconds))
    return values


def variation(weighted: Sequence[tuple[float, float]]) -> float:
    """Coefficient of variation of (value, weight) pairs; 0 of nothing."""
    values, weights = [value for value, _ in weighted], [weight for _, weight in weighted]
    mean = statistics.fmean(values, weights) if any(weights) else 0.0
    if not mean:
        return 0.0
    return math.sqrt(statistics.fmean([(value - mean) ** 2 for value in values], weights)) / mean


def classify(run: Run, parameters: Parameters) -> tuple[str, list[Steadiness]]:
    """Return the class of a run, one of CLASSES, and each phone's steadiness."""
    phones = [steadiness(phone, parameters) for phone in run.phones]
    steady = sum(phone.steady for phone in phones)
    if steady < len(phones):
        return ("one steady" if steady else "none steady"), phones
    rates = [phone.goodput_mbps for phone in phones]
    return (CLASSES[0] if min(rates) >= EQUAL_SHARE * max(rates) else CLASSES[1]), phones


def rows(results: Results) -> list[list[str]]:
    """Heading and one row per run."""
    heading = ["mode", "seed", "Mb/s", "CV of Mb/s", "CV of cwnd", "reductions", "class"]
    table = [heading]
    for run in results.runs:
        label, phones = classify(run, results.parameters)
        columns = (
            [f"{phone.goodput_mbps:.2f}" for phone in phones],
            [f"{phone.goodput_cv:.2f}" for phone in phones],
            [f"{phone.cwnd_cv:.2f}" for phone in phones],
            [str(phone.reductions) for phone in phones],
        )
        table.append([run.mode, str(run.seed), *(" / ".join(column) for column in columns), label])
    return table


def summary(results: Results) -> list[list[str]]:
    """Heading and one row per mode: how many runs of each class, total goodput and RTT."""
    table = [["mode", *CLASSES, "total Mb/s", "RTT mean ms"]]
    for mode in results.modes():
        runs = results.of_mode(mode)
        labels = [classify(run, results.parameters)[0] for run in runs]
        total = tables.cell([run.total_goodput_mbps for run in runs], 2)
        rtt_ms = tables.cell([run.rtt_mean_ms for run in runs], 0)
        table.append([mode, *(str(labels.count(label)) for label in CLASSES), total, rtt_ms])
    return table


def examples(results: Results) -> list[Run]:
    """The runs to draw: the first of each class in the first mode, and the last one's seed in the others."""
    modes = results.modes()
    by_class: dict[str, Run] = {}
    for run in results.of_mode(modes[0]):
        by_class.setdefault(classify(run, results.parameters)[0], run)
    first = [by_class[label] for label in CLASSES if label in by_class]
    return first + [run for mode in modes[1:] for run in results.of_mode(mode) if run.seed == first[-1].seed]
