# SPDX-License-Identifier: Apache-2.0
"""Draws the study; each picture is named after the paper's figures and the rate control."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from airbound_lab.paper_study.design import (
    AIRBOUND,
    CONTROLS,
    GENERATIONS,
    HIGH_MS,
    LOW_MS,
    MANY,
    MIDDLE_MS,
    PAPER,
    UNCONTROLLED,
    Point,
)
from airbound_lab.paper_study.measures import curve, points, rtts_ms, totals_mbps
from airbound_lab.paper_study.table import radios
from airbound_lab.report import plot
from airbound_lab.report.style import FAINT, INK, STYLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes

    from airbound_lab.compare.matrix import Task
    from airbound_lab.compare.ranking import Spread
    from airbound_lab.figures.results import Run
    from airbound_lab.paper_study.design import Design
    from airbound_lab.settings.values import RateControl

LOOKS: dict[str, dict[str, Any]] = {
    UNCONTROLLED: {"color": plot.MODE_COLOURS["cubic"], "marker": "o", "markersize": 6.5, "label": "without bounds"},
    PAPER: {
        "color": plot.MODE_COLOURS["paper-jb"],
        "marker": "s",
        "markersize": 5,
        "label": "the paper's bounds",
    },
    AIRBOUND: {
        "color": plot.MODE_COLOURS["airbound"],
        "marker": "^",
        "markersize": 4,
        "label": "airbound's default",
    },
}
"""A marker each as well; those that are drawn first are larger, and seen where lines coincide."""
DELAY_LOOKS = tuple(zip(plot.DELAY_COLOURS, ("o", "s", "^", "D", "v", "P"), strict=True))
RATIO_TOP = 1.5
"""At least: noise is not to look like a change."""
PHONE_LINE: dict[str, Any] = {"linewidth": 0.7, "alpha": 0.6}
PANEL_INCHES = (2.7, 2.1)


def all_of(design: Design, found: Mapping[Task, Run]) -> dict[str, Figure]:
    """Return every picture for which there are runs, by its name."""
    drawings: dict[str, Callable[[Drawing], Figure | None]] = {
        "figures-5-6": by_phones,
        "figures-15-16": with_and_without,
        "figures-7-10": windows_and_rtt,
        "figures-11-12": throughput_and_rtt,
        "figures-17-18": within_bounds,
        "figures-19-20": rtt_compared,
    }
    pictures = {}
    with mpl.rc_context(STYLE):
        for rate_control in design.rate_controls:
            drawing = Drawing(design, rate_control, found)
            for name, draw in drawings.items():
                if (figure := draw(drawing)) is not None:
                    figure.align_ylabels()
                    pictures[f"paper-{name}-{rate_control}"] = figure
    return pictures


class Drawing:
    """The runs of one rate control, and the grid that the pictures have in common."""

    def __init__(self, design: Design, rate_control: RateControl, found: Mapping[Task, Run]) -> None:
        self.design = design
        self._rate_control = rate_control
        self._found = found

    def curve(self, generation: str, delay_ms: float, control: str) -> list[tuple[int, Spread]]:
        """Total goodput by number of phones."""
        chosen = points(self.design, self._rate_control, generation, delay_ms, control)
        return curve(self.design, self._found, chosen)

    def run(self, generation: str, delay_ms: float, terminals: int, control: str) -> Run | None:
        """Return the run that is shown over time."""
        return self.design.first(Point(self._rate_control, generation, delay_ms, terminals, control), self._found)

    def grid(
        self, rows: int, columns: int, title: str, *, share: Literal["none", "row", "all"] = "row"
    ) -> tuple[Figure, Any]:
        """Return a figure with panels; those of a row have the same scale."""
        figure = Figure(figsize=(PANEL_INCHES[0] * columns + 0.5, PANEL_INCHES[1] * rows + 0.7), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=share)
        figure.suptitle(f"{title}; {radios(self._rate_control)}", x=0.02, ha="left", fontweight="bold", fontsize=11)
        return figure, panels

    def seconds(self, row: Sequence[Axes]) -> None:
        """Label the axis of time and shade what is not measured."""
        for axes in row:
            axes.axvspan(0, self.design.warmup_seconds, color=FAINT, alpha=0.12, linewidth=0)
            axes.set_xlim(0, self.design.seconds)


def by_phones(drawing: Drawing) -> Figure | None:
    """Total and mean throughput without control by number of phones, a line for each delay: figures 5 and 6."""
    design = drawing.design
    if UNCONTROLLED not in design.controls:
        return None
    figure, panels = drawing.grid(1, len(design.generations), "Without bounds")
    for axes, generation in zip(panels[0], design.generations, strict=True):
        for delay_ms, (colour, marker) in zip(design.delays_ms, itertools.cycle(DELAY_LOOKS), strict=False):
            line = drawing.curve(generation, delay_ms, UNCONTROLLED)
            look = {"color": colour, "marker": marker, "markersize": 4.5}
            _with_range(axes, line, {**look, "label": f"total, {delay_ms:g} ms"})
            means = [total.median / terminals for terminals, total in line]
            axes.plot([terminals for terminals, _ in line], means, color=colour, linewidth=1, linestyle=(0, (2, 1.5)))
        axes.set_title(GENERATIONS[generation].title)
        _phones_axis(axes)
    panels[0][0].plot([], [], color=INK, linewidth=1, linestyle=(0, (2, 1.5)), label="mean of a phone")
    panels[0][0].set_ylim(bottom=0)  # of all, and not before all is drawn: it ends the scaling
    panels[0][0].set_ylabel("goodput, Mb/s")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def with_and_without(drawing: Drawing) -> Figure | None:
    """Total throughput by number of phones, a line for each control: figures 15 and 16."""
    design = drawing.design
    if len(design.controls) == 1:
        return None
    figure, panels = drawing.grid(
        len(design.generations), len(design.delays_ms), "With and without bounds: total", share="all"
    )
    for row, generation in zip(panels, design.generations, strict=True):
        for axes, delay_ms in zip(row, design.delays_ms, strict=True):
            for control in design.controls:
                _with_range(axes, drawing.curve(generation, delay_ms, control), LOOKS[control])
            axes.set_title(f"{GENERATIONS[generation].title.split()[0]}, {delay_ms:g} ms")
            _phones_axis(axes, label=generation == design.generations[-1])
        row[0].set_ylabel("total goodput, Mb/s")
    panels[0][0].set_ylim(bottom=0)  # as above
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def windows_and_rtt(drawing: Drawing) -> Figure | None:
    """The windows and RTTs of ten phones without control: figures 7 to 10."""
    columns = [
        (f"{GENERATIONS[generation].title.split()[0]}, {delay_ms:g} ms", delay_ms, run)
        for generation in drawing.design.generations
        for delay_ms in (LOW_MS, HIGH_MS)
        if (run := drawing.run(generation, delay_ms, MANY, UNCONTROLLED)) is not None
    ]
    if not columns:
        return None
    figure, panels = drawing.grid(2, len(columns), f"Without bounds, {MANY} phones: cwnd and RTT of each")
    for (title, delay_ms, run), cwnd, rtt in zip(columns, *panels, strict=True):
        for phone in run.phones:
            series = phone.series
            cwnd.plot(series.t_s, plot.gaps(series.cwnd_segs), color=plot.DELAY_COLOURS[0], **PHONE_LINE)
            rtt.plot(series.t_s, plot.gaps(series.srtt_ms), color=plot.DELAY_COLOURS[1], **PHONE_LINE)
        rtt.axhline(delay_ms, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
        cwnd.set_title(title)
        for axes in (cwnd, rtt):
            axes.set_yscale("log")
            plot.plain_log(axes.yaxis)
        rtt.set_xlabel("virtual seconds; shaded: warm-up")
        drawing.seconds((cwnd, rtt))
    panels[0][0].set_ylabel("cwnd, segments (log)")
    panels[1][0].set_ylabel("RTT, ms (log); dashed: wire")
    return figure


def throughput_and_rtt(drawing: Drawing) -> Figure | None:
    """All phones' throughput and their mean RTT, 16 ms, ten phones: figures 11 and 12."""
    columns = [
        (GENERATIONS[generation].title, run)
        for generation in drawing.design.generations
        if (run := drawing.run(generation, MIDDLE_MS, MANY, UNCONTROLLED)) is not None
    ]
    if not columns:
        return None
    figure, panels = drawing.grid(2, len(columns), f"Without bounds, {MANY} phones, {MIDDLE_MS:g} ms", share="none")
    for (generation, run), total, rtt in zip(columns, *panels, strict=True):
        seconds = run.phones[0].series.t_s
        total.plot(seconds, totals_mbps(run), color=plot.DELAY_COLOURS[0], linewidth=1.4)
        rtt.plot(seconds, plot.gaps(rtts_ms(run)), color=plot.DELAY_COLOURS[1], linewidth=1.4)
        total.set_title(generation)
        total.set_ylim(bottom=0)
        rtt.set_ylim(bottom=0)
        rtt.set_xlabel("virtual seconds; shaded: warm-up")
        drawing.seconds((total, rtt))
    panels[0][0].set_ylabel("total goodput, Mb/s")
    panels[1][0].set_ylabel("mean RTT, ms")
    return figure


def within_bounds(drawing: Drawing) -> Figure | None:
    """Throughput, cwnd with its bounds, and RTT ratio with the paper's bounds at 256 ms: figures 17 and 18."""
    columns = [
        (f"{GENERATIONS[generation].title}, {GENERATIONS[generation].several} phones", run)
        for generation in drawing.design.generations
        if (run := drawing.run(generation, HIGH_MS, GENERATIONS[generation].several, PAPER)) is not None
    ]
    if not columns:
        return None
    figure, panels = drawing.grid(3, len(columns), f"The paper's bounds, {HIGH_MS:g} ms: each phone", share="none")
    for (title, run), goodput, cwnd, ratio in zip(columns, *panels, strict=True):
        for phone in run.phones:
            series = phone.series
            for axes, values in ((goodput, series.goodput_mbps), (cwnd, series.cwnd_segs), (ratio, series.rtt_ratio)):
                axes.plot(series.t_s, plot.gaps(values), color=LOOKS[PAPER]["color"], **PHONE_LINE)
        plot.bounds(run.phones, lambda _: LOOKS[PAPER]["color"], cwnd)
        goodput.set_title(title)
        for axes in (goodput, cwnd):
            axes.set_ylim(bottom=0)
        ratio.set_ylim(1, max(RATIO_TOP, ratio.get_ylim()[1]))
        ratio.set_xlabel("virtual seconds; shaded: warm-up")
        drawing.seconds((goodput, cwnd, ratio))
    for row, label in zip(panels, ("goodput, Mb/s", "cwnd; dashes, dots: bounds", "RTT / minimum RTT"), strict=True):
        row[0].set_ylabel(label)
    return figure


def rtt_compared(drawing: Drawing) -> Figure | None:
    """Mean RTT over time with each control at 256 ms: figures 19 and 20."""
    columns = [
        (
            f"{GENERATIONS[generation].title}, {GENERATIONS[generation].several} phones",
            {
                control: run
                for control in CONTROLS
                if (run := drawing.run(generation, HIGH_MS, GENERATIONS[generation].several, control)) is not None
            },
        )
        for generation in drawing.design.generations
    ]
    if not any(len(runs) > 1 for _, runs in columns):
        return None
    figure, panels = drawing.grid(1, len(columns), f"Mean RTT, {HIGH_MS:g} ms on the wire")
    for (title, runs), axes in zip(columns, panels[0], strict=True):
        for control, run in runs.items():
            look = {**LOOKS[control], "marker": None, "linewidth": 3.5 if control == PAPER else 1.4}
            axes.plot(run.phones[0].series.t_s, plot.gaps(rtts_ms(run)), **look)
        axes.axhline(HIGH_MS, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
        axes.set_title(title)
        axes.set_yscale("log")
        plot.plain_log(axes.yaxis)
        axes.set_xlabel("virtual seconds; shaded: warm-up")
        drawing.seconds((axes,))
    panels[0][0].set_ylabel("RTT, ms (log); dashed: wire")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _with_range(axes: Axes, line: Sequence[tuple[int, Spread]], look: Mapping[str, Any]) -> None:
    """Draw the medians, and a whisker from the smallest to the largest seed."""
    terminals = [number for number, _ in line]
    axes.plot(terminals, [total.median for _, total in line], linewidth=1.4, **look)
    for number, total in line:
        if total.max > total.min:
            axes.plot([number, number], [total.min, total.max], color=look["color"], linewidth=1, alpha=0.7)


def _phones_axis(axes: Axes, *, label: bool = True) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if label:
        axes.set_xlabel("phones")
