# SPDX-License-Identifier: Apache-2.0
"""Draws who has the air when: a row for each station, a bar for each attempt; beside it how many contend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from airbound_lab.medium.attempts import ACCESS_POINT, accesses
from airbound_lab.medium.figures import NS_PER_MS, figures, typical_ns
from airbound_lab.report.style import INK, STYLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from airbound_lab.medium.attempts import Attempt

COLOURS = {"delivered": "#2a6fb0", "collision": "#d1590b", "loss": "#8e4a9e"}
WAITING = "#aab4be"
BAR, WAITING_BAR = 0.78, 0.16
"""Heights, in rows."""

WIDTH_IN, ROW_IN, HEAD_IN = 9.0, 0.135, 0.72
ROOM_FOR_TEXT = 1.35
"""Above the highest bar of the distributions."""


def medium(traces: Sequence[tuple[str, Sequence[Attempt]]], stretch_ms: float) -> Figure:
    """Draw a panel for each (title, attempts), all on the same scales."""
    stations = sorted({attempt.station for _, attempts in traces for attempt in attempts})
    most = max(attempt.contenders for _, attempts in traces for attempt in attempts)
    with mpl.rc_context(STYLE):
        height_in = 0.55 + len(traces) * (HEAD_IN + ROW_IN * len(stations))
        figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
        panels = figure.subplots(len(traces), 2, squeeze=False, width_ratios=(3.6, 1), sharex="col")
        for (air, contenders), (title, attempts) in zip(panels, traces, strict=True):
            _air(air, attempts, stations, stretch_ms)
            _contenders(contenders, attempts, most)
            air.set_title(title)
        largest = max(axes.get_ylim()[1] for axes in panels[:, 1])
        for axes in panels[:, 1]:
            axes.set_ylim(0, ROOM_FOR_TEXT * largest)
        panels[-1][0].set_xlabel("virtual ms")
        panels[-1][1].set_xlabel("contend for an access")
        panels[0][1].set_title("How many contend")
        _legend(figure, traces)
    return figure


def _air(axes: Axes, attempts: Sequence[Attempt], stations: Sequence[int], stretch_ms: float) -> None:
    begin_ns = typical_ns(attempts, round(stretch_ms * NS_PER_MS))

    def span_ms(from_ns: int, to_ns: int) -> tuple[float, float]:
        """Beginning and length of what is drawn."""
        low_ms, high_ms = (min(max((at - begin_ns) / NS_PER_MS, 0), stretch_ms) for at in (from_ns, to_ns))
        return low_ms, high_ms - low_ms

    shown = [
        attempt
        for attempt in attempts
        if attempt.end_ns > begin_ns and span_ms(begin_ns, attempt.head_since_ns)[1] < stretch_ms
    ]
    for together in accesses(shown):
        if len(together) > 1:
            left, width = span_ms(together[0].start_ns, max(attempt.end_ns for attempt in together))
            axes.axvspan(left, left + width, color=COLOURS["collision"], alpha=0.16, linewidth=0)
    for row, station in enumerate(stations):
        own = [attempt for attempt in shown if attempt.station == station]
        waits = [span_ms(attempt.head_since_ns, attempt.start_ns) for attempt in own]
        axes.broken_barh(waits, (row - WAITING_BAR / 2, WAITING_BAR), color=WAITING, linewidth=0)
        for outcome, colour in COLOURS.items():
            times = [span_ms(attempt.start_ns, attempt.end_ns) for attempt in own if attempt.outcome == outcome]
            axes.broken_barh(times, (row - BAR / 2, BAR), color=colour, linewidth=0)
    axes.set_xlim(0, stretch_ms)
    axes.set_ylim(len(stations) - 0.4, -0.6)
    names = ["AP" if station == ACCESS_POINT else f"phone {station}" for station in stations]
    axes.set_yticks(range(len(stations)), names, fontsize=7)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)


def _contenders(axes: Axes, attempts: Sequence[Attempt], most: int) -> None:
    trace_figures = figures(attempts)
    axes.bar(
        list(trace_figures.contenders_shares), list(trace_figures.contenders_shares.values()), width=0.8, color=INK
    )
    axes.set_xlim(0.4, most + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    axes.yaxis.set_major_locator(MaxNLocator(3))
    axes.grid(visible=False, axis="x")
    words = [
        f"mean {trace_figures.contenders_mean:.1f}",
        f"{trace_figures.collided_attempts * 100:.0f} % of attempts collide",
    ]
    if trace_figures.phone_attempt_ms is not None:
        words.append(f"phone's attempt {trace_figures.phone_attempt_ms:.2f} ms")
    axes.annotate(
        "\n".join(words), (1, 1), xycoords="axes fraction", ha="right", va="top", fontsize=7.5, linespacing=1.5
    )


def _legend(figure: Figure, traces: Sequence[tuple[str, Sequence[Attempt]]]) -> None:
    outcomes = {attempt.outcome for _, attempts in traces for attempt in attempts}
    handles = [Patch(color=colour, label=outcome) for outcome, colour in COLOURS.items() if outcome in outcomes]
    handles.append(Patch(color=WAITING, label="a frame waits for the air"))
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), fontsize=8, labelcolor=INK)
