# SPDX-License-Identifier: Apache-2.0
"""Draws histories: each phone's cwnd, ssthresh and bounds, the events below it, and the socket's queue below them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from airbound_lab.records.trace import EVENTS
from airbound_lab.report.style import FAINT, INK, STYLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from airbound_lab.figures.results import PhoneResult, Results, Run
    from airbound_lab.records.trace import ConnectionTrace, Track

CWND, SSTHRESH, QUEUE = "#2a6fb0", "#c0722b", "#14866d"
EVENT_COLOURS = {
    "local_congestion": "#8e4a9e",
    "dup_ack": FAINT,
    "sack": "#5b6b7b",
    "fast_retransmit": "#c0722b",
    "timeout": "#b3261e",
    "undo": "#14866d",
}
COLUMNS_MAX = 3
PANELS = {"cwnd": 3.0, "events": 1.0, "queue": 1.0}
"""Heights of a phone's panels, in parts."""

BINS = 1200
"""Ticks drawn along the time line at most: more would not be visible."""


def history(results: Results, run: Run) -> Figure:
    """Every phone of one traced run, three panels each, all on the same scales."""
    columns = min(len(run.phones), COLUMNS_MAX)
    groups = math.ceil(len(run.phones) / columns)
    kinds = occurring(run)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.6 * columns, 4.6 * groups + 0.3), layout="constrained")
        panels = figure.subplots(
            groups * len(PANELS), columns, squeeze=False, sharex=True, height_ratios=list(PANELS.values()) * groups
        )
        largest_segs = max((top(phone) for phone in run.phones), default=1.0)
        for i in range(groups * columns):
            cell: list[Axes] = [panels[i // columns * len(PANELS) + row][i % columns] for row in range(len(PANELS))]
            if i >= len(run.phones):
                for axes in cell:
                    axes.set_axis_off()
                continue
            phone = run.phones[i]
            window(cell[0], phone, results.parameters.seconds)
            missing = f" ({phone.trace.lost} records lost)" if phone.trace and phone.trace.lost else ""
            cell[0].set_title(f"phone {i + 1}, {phone.wired_delay_ms:g} ms: cwnd, segments{missing}")
            cell[0].set_ylim(0, 1.08 * largest_segs)
            event_rows(cell[1], phone, kinds)
            _queue(cell[2], phone, results.parameters.seconds)
            for axes in cell:
                shade(axes, results)
            cell[-1].set_xlabel("virtual seconds")
        _legend(panels[0][0], run)
        figure.suptitle(f"{run.mode}, seed {run.seed}", x=0.02, ha="left", fontweight="bold", fontsize=11)
    return figure


def occurring(run: Run) -> list[str]:
    """The kinds of events that a run has at all."""
    return [kind for kind in EVENTS if any(connection.events[kind].t_s for connection in connections(run))]


def connections(run: Run) -> list[ConnectionTrace]:
    """All connections of all phones of a run."""
    return [connection for phone in run.phones if phone.trace for connection in phone.trace.connections]


def top(phone: PhoneResult) -> float:
    """The largest window of a phone."""
    values = [
        value
        for connection in (phone.trace.connections if phone.trace else [])
        for value in connection.cwnd_segs.values
        if value is not None
    ]
    return max(values, default=1)


def window(axes: Axes, phone: PhoneResult, seconds: float, *, colour: str | None = None) -> None:
    """Draw cwnd, ssthresh and the bounds of a phone's connections; ssthresh only where no colour is given."""
    for connection in phone.trace.connections if phone.trace else []:
        low_t, low = _steps(connection.bound_min_segs, seconds)
        high_t, high = _steps(connection.bound_max_segs, seconds)
        axes.step(high_t, high, where="post", color=INK, linewidth=0.7, linestyle=(0, (4, 2)))
        axes.step(low_t, low, where="post", color=INK, linewidth=0.7, linestyle=(0, (1, 2)))
        if colour is None:
            axes.step(*_steps(connection.ssthresh_segs, seconds), where="post", color=SSTHRESH, linewidth=0.8)
        axes.step(*_steps(connection.cwnd_segs, seconds), where="post", color=colour or CWND, linewidth=1.0)


def event_rows(axes: Axes, phone: PhoneResult, kinds: Sequence[str]) -> None:
    """Draw one row per kind: a tick per moment, and the total."""
    for row, kind in enumerate(kinds):
        tracks = [connection.events[kind] for connection in (phone.trace.connections if phone.trace else [])]
        moments = sorted({t_s for track in tracks for t_s in track.t_s})
        count = sum(value or 0 for track in tracks for value in track.values)
        style: Any = {"marker": "|", "markersize": 6, "markeredgewidth": 0.8, "linestyle": "none"}
        shown = _thinned(moments)
        axes.plot(shown, [row] * len(shown), color=EVENT_COLOURS[kind], **style)
        axes.annotate(
            str(count), (1.0, row), xycoords=("axes fraction", "data"), xytext=(3, 0), textcoords="offset points",
            va="center", fontsize=7, color=EVENT_COLOURS[kind] if count else FAINT,
        )  # fmt: skip
    axes.set_yticks(range(len(kinds)), [kind.replace("_", " ") for kind in kinds], fontsize=7)
    axes.set_ylim(max(len(kinds), 1) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def shade(axes: Axes, results: Results) -> None:
    """Shade what is not measured, and set the same time axis for every panel."""
    if results.parameters.warmup_seconds:
        axes.axvspan(0, results.parameters.warmup_seconds, color=FAINT, alpha=0.12, linewidth=0)
    axes.set_xlim(0, results.parameters.seconds)


def _queue(axes: Axes, phone: PhoneResult, seconds: float) -> None:
    for connection in phone.trace.connections if phone.trace else []:
        for track, colour in ((connection.unsent_bytes, QUEUE), (connection.unacked_bytes, CWND)):
            t_s, values = _steps(track, seconds)
            axes.step(t_s, [value / 1e6 for value in values], where="post", color=colour, linewidth=0.8)
    axes.set_title("socket's queue, MB", fontsize=8)
    axes.set_ylim(bottom=0)


def _legend(axes: Axes, run: Run) -> None:
    handles = [
        Line2D([], [], color=CWND, label="cwnd, unacknowledged"),
        Line2D([], [], color=SSTHRESH, label="ssthresh"),
    ]
    if any(value is not None for connection in connections(run) for value in connection.bound_max_segs.values):
        handles.append(Line2D([], [], color=INK, linewidth=0.7, linestyle=(0, (4, 2)), label="bounds"))
    handles.append(Line2D([], [], color=QUEUE, label="unsent"))
    axes.legend(handles=handles, loc="upper right", fontsize=7, ncols=2, handlelength=1.2)


def _steps(track: Track, seconds: float) -> tuple[list[float], list[float]]:
    """The track as a line that lasts to the end of the run; None becomes a gap."""
    if not track.t_s:
        return [], []
    values = [math.nan if value is None else float(value) for value in track.values]
    return [*track.t_s, seconds], [*values, values[-1]]


def _thinned(moments: Sequence[float]) -> list[float]:
    """Leave out moments that would fall on the same column of pixels."""
    if not moments:
        return []
    width_s = max(moments[-1], 1e-9) / BINS
    kept: list[float] = []
    for moment in moments:
        if not kept or moment - kept[-1] >= width_s:
            kept.append(moment)
    return kept
