# SPDX-License-Identifier: Apache-2.0
"""What the study of QUIC beside TCP says, as tables and JSON; pure."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from airbound_lab.figures.measure import mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from airbound_lab.figures.results import Run
    from airbound_lab.quic_study.design import Case

SCHEMA = 1
MEGA = 1e6


@dataclass(frozen=True, slots=True)
class Trial:
    """One run, in its measured window."""

    seed: int
    udp_mbps: float
    """What phone 1's server received by QUIC or UDP, payload."""
    file_mbps: float
    """What it acknowledged of phone 1's file; 0 without one."""
    tcp_mbps: float
    """The mean of the others' goodputs; then the smallest and the largest."""
    tcp_least_mbps: float
    tcp_most_mbps: float
    total_mbps: float
    tcp_rtt_ms: float | None
    quic_rtt_ms: float | None
    """Smoothed RTT, the mean over the seconds; None of plain UDP."""
    quic_lost: int
    """Packets that QUIC took for lost."""

    @property
    def ratio(self) -> float:
        """What phone 1 has over what the others have."""
        return (self.udp_mbps + self.file_mbps) / self.tcp_mbps if self.tcp_mbps else float("inf")


@dataclass(slots=True)
class Found:
    """The trials of one mode in one cell."""

    cell: str
    delay_ms: float
    sends: str
    mode: str
    trials: list[Trial]


def gather(runs: Iterable[tuple[Case, Run]]) -> list[Found]:
    """Sort runs by cell, delay, what phone 1 sends, and mode, in their order."""
    found: dict[tuple[str, float, str, str], Found] = {}
    for case, run in runs:
        key = (case.cell, case.delay_ms, case.sends, case.mode)
        found.setdefault(key, Found(*key, [])).trials.append(trial(case, run))
    return list(found.values())


def trial(case: Case, run: Run) -> Trial:
    """Return the figures of a run."""
    parameters = case.parameters
    window = slice(parameters.warmup_seconds, parameters.seconds)
    first, *others = run.phones
    goodputs_mbps = [phone.goodput_mbps for phone in others]
    file_mbps = _file_mbps(run, parameters.warmup_seconds, parameters.seconds)
    return Trial(
        seed=run.seed,
        udp_mbps=first.goodput_mbps,
        file_mbps=file_mbps,
        tcp_mbps=statistics.fmean(goodputs_mbps),
        tcp_least_mbps=min(goodputs_mbps),
        tcp_most_mbps=max(goodputs_mbps),
        total_mbps=run.total_goodput_mbps + file_mbps,
        tcp_rtt_ms=mean([rtt for phone in others for rtt in phone.series.srtt_ms[window] if rtt is not None]),
        quic_rtt_ms=mean([rtt for rtt in first.series.srtt_ms[window] if rtt is not None]),
        quic_lost=first.retransmits,
    )


def _file_mbps(run: Run, from_s: float, to_s: float) -> float:
    """What was acknowledged of the file in the measured window."""
    for application in run.applications or ():
        connections = application.connections
        inside = [
            (t_s, acked)
            for t_s, acked in zip(connections.t_s, connections.acked_bytes, strict=True)
            if from_s <= t_s <= to_s
        ]
        if len(inside) > 1 and inside[-1][0] > inside[0][0]:
            (first_s, first), (last_s, last) = inside[0], inside[-1]
            return (last - first) * 8 / MEGA / (last_s - first_s)
    return 0.0


def rows(every: Sequence[Found]) -> list[list[str]]:
    """Heading and a row for each mode in each cell: means of the trials, but for the smallest and the largest."""
    heading = ["cell", "delay ms", "phone 1 sends", "mode", "by UDP Mb/s", "by TCP Mb/s", "others Mb/s", "ratio"]
    table = [[*heading, "total", "TCP RTT ms", "QUIC RTT ms", "QUIC lost"]]
    for found in every:
        trials = found.trials
        least, most = min(trial.tcp_least_mbps for trial in trials), max(trial.tcp_most_mbps for trial in trials)
        table.append([
            *(found.cell, f"{found.delay_ms:g}", found.sends, found.mode),
            _mean(trials, lambda trial: trial.udp_mbps, 1),
            _mean(trials, lambda trial: trial.file_mbps, 1),
            f"{_mean(trials, lambda trial: trial.tcp_mbps, 1)} ({least:.1f} to {most:.1f})",
            _mean(trials, lambda trial: trial.ratio, 2),
            _mean(trials, lambda trial: trial.total_mbps, 1),
            _mean(trials, lambda trial: trial.tcp_rtt_ms, 1),
            _mean(trials, lambda trial: trial.quic_rtt_ms, 1),
            _mean(trials, lambda trial: trial.quic_lost, 0),
        ])  # fmt: skip
    return table


def _mean(trials: Sequence[Trial], figure: Callable[[Trial], float | None], decimals: int) -> str:
    known = [value for trial in trials if (value := figure(trial)) is not None]
    return f"{statistics.fmean(known):.{decimals}f}" if known else "-"


def document(every: Iterable[Found]) -> dict[str, Any]:
    """JSON: all figures."""
    return {"schema": SCHEMA, "found": [asdict(found) for found in every]}
