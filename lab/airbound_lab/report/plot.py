# SPDX-License-Identifier: Apache-2.0
"""Draws results: the totals by mode, and each phone of a mode, second by second."""

from __future__ import annotations

import io
import re
import statistics
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from airbound_lab.errors import UsageError
from airbound_lab.report import tables, trace_plot
from airbound_lab.report.style import FAINT, INK, STYLE
from airbound_lab.settings.modes import file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from airbound_lab.figures.results import PhoneResult, Results, Series

MODE_COLOURS = {
    "cubic": "#5b6b7b",
    "reno": "#8494a4",
    "bbr": "#c0722b",
    "vegas": "#b0903a",
    "cdg": "#9c5a3c",
    "westwood": "#a8707c",
    "illinois": "#7d8f4e",
    "nv": "#c98a9b",
    "dctcp": "#6f9a94",
    "paper-gb": "#8d6bb8",
    "paper-jb": "#7048a8",
    "bdp": "#14866d",
    "aggregate": "#3f8f9e",
    "airbound": "#0b5f8a",
}
"""Of a mode with a + or a setting: what is before it."""
OUTSIDE_COLOURS = ("#b5446e", "#5a7d2a", "#94651b", "#3d5a98")
"""Of policies from outside, by their order among the modes of a picture."""
DELAY_COLOURS = ("#2a6fb0", "#c2571a", "#2e8b57", "#8e4a9e", "#a08400", "#5d5d5d")
"""Phones are coloured by the delay of their server: what sets one phone apart from another."""

MANY_PHONES = 4
"""From here on the lines of a figure are thin."""


def totals(results: Results) -> Figure:
    """Total goodput and mean RTT of each mode; a whisker spans the seeds."""
    has_rtt = any(run.rtt_mean_ms for run in results.runs)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 0.9 + 0.34 * len(results.modes())), layout="constrained")
        panels = figure.subplots(1, 2 if has_rtt else 1, squeeze=False)[0]
        _bars(panels[0], results, "total_goodput_mbps", "Total goodput, Mb/s", decimals=1)
        if has_rtt:
            _bars(panels[1], results, "rtt_mean_ms", "Mean RTT, ms (log)", decimals=0, log=True)
            panels[1].set_yticklabels([])
        figure.suptitle(tables.radio(results.parameters), x=0.01, ha="left", fontsize=8, color=FAINT)
        _make_room_for_labels(figure)
    return figure


def phones(results: Results, mode: str, seed: int | None = None) -> Figure:
    """Throughput, cwnd with its bounds, and RTT ratio of every phone in one run of a mode."""
    runs = [run for run in results.of_mode(mode) if seed is None or run.seed == seed]
    if not runs:
        raise UsageError(f"no run of mode {mode} with seed {seed}")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 5.2), layout="constrained")
        goodput, cwnd, ratio = figure.subplots(3, 1, sharex=True)
        for phone in runs[0].phones:
            _phone(phone, results, goodput, cwnd, ratio)
        bounds(runs[0].phones, lambda phone: _colour(results, phone), cwnd)
        _shape(results, goodput, cwnd, ratio)
        figure.suptitle(
            f"{mode}, seed {runs[0].seed}, 802.{results.parameters.phy}",
            x=0.02,
            ha="left",
            fontweight="bold",
            fontsize=11,
        )
    return figure


def svg(figure: Figure) -> str:
    """Return a figure as SVG text, the same in every run of the program."""
    out = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def write_all(results: Results, directory: Path, kind: str) -> list[Path]:
    """Write every figure of a results file: totals, phones-MODE, and trace-MODE if it is traced; return the paths."""
    figures = {"totals": totals(results)}
    figures |= {f"phones-{file_name(mode)}": phones(results, mode) for mode in results.modes()}
    for mode in results.modes():
        run = results.of_mode(mode)[0]
        if any(phone.trace for phone in run.phones):
            figures[f"trace-{file_name(mode)}"] = trace_plot.history(results, run)
    return save_all(figures, directory, kind)


def save_all(figures: Mapping[str, Figure], directory: Path, kind: str) -> list[Path]:
    """Write figures as NAME.KIND, the same in every run of the program; return the paths."""
    paths = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            path = directory / f"{name}.{kind}"
            with mpl.rc_context(STYLE):
                metadata = {"Date": None} if kind == "svg" else {}
                figure.savefig(path, format=kind, dpi=160, facecolor="white", metadata=metadata)
            paths.append(path)
    except OSError as error:
        raise UsageError(f"cannot write to {directory}: {error.strerror}") from error
    return paths


def _bars(axes: Axes, results: Results, field: str, title: str, *, decimals: int, log: bool = False) -> None:
    largest = 0.0
    modes = results.modes()
    for row, mode in enumerate(modes):
        values = sorted(getattr(run, field) or 0.0 for run in results.of_mode(mode))
        middle = statistics.median(values)
        largest = max(largest, values[-1])
        axes.barh(row, middle, height=0.62, color=_mode_colour(mode, modes))
        if len(values) > 1:
            axes.plot([values[0], values[-1]], [row, row], color=INK, linewidth=1.2)
        text = f"{middle:.{decimals}f}"
        axes.annotate(text, (values[-1], row), xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(modes)), modes)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_title(title)
    if log:
        axes.set_xscale("log")
        axes.set_xlim(1, largest * 6)
        plain_log(axes.xaxis)
    else:
        axes.set_xlim(0, (largest or 1.0) * 1.18)
        axes.xaxis.set_major_locator(MaxNLocator(5))


def _make_room_for_labels(figure: Figure) -> None:
    """Raise the upper limit of each axis until the label after each bar ends within the axis.

    How long a label is in units of the axis depends on the width of the panel, and so on the layout: it is drawn first.
    """
    figure.draw_without_rendering()
    for axes in figure.axes:
        scale, box = axes.transScale, axes.get_window_extent()
        lower, upper = axes.get_xlim()
        zero = scale.transform((lower, 0.5))[0]
        reached = upper_scaled = scale.transform((upper, 0.5))[0]
        for label in axes.findobj(Annotation):
            end = scale.transform((label.xy[0], 0.5))[0] - zero
            # The label begins where its bar ends, and keeps its width while the axis grows.
            width_px = label.get_window_extent().x1 - box.x0 - end / (upper_scaled - zero) * box.width
            reached = max(reached, zero + end * box.width / (box.width - width_px))
        axes.set_xlim(lower, scale.inverted().transform((reached, 0.5))[0])


def _mode_colour(name: str, modes: Sequence[str]) -> str:
    first, *outside = re.split("[@+]", name)[0], *_outside(modes)
    return MODE_COLOURS.get(first) or OUTSIDE_COLOURS[outside.index(first) % len(OUTSIDE_COLOURS)]


def _outside(modes: Sequence[str]) -> list[str]:
    """What of the modes has no colour of its own, each once."""
    firsts = dict.fromkeys(re.split("[@+]", mode)[0] for mode in modes)
    return [first for first in firsts if first not in MODE_COLOURS]


def _colour(results: Results, phone: PhoneResult) -> str:
    delays_ms = list(dict.fromkeys(results.parameters.wired_delays_ms))
    return DELAY_COLOURS[delays_ms.index(phone.wired_delay_ms) % len(DELAY_COLOURS)]


def _phone(phone: PhoneResult, results: Results, goodput: Axes, cwnd: Axes, ratio: Axes) -> None:
    series, colour = phone.series, _colour(results, phone)
    many = results.parameters.terminals >= MANY_PHONES
    line: dict[str, Any] = {"color": colour, "linewidth": 0.8 if many else 1.4, "alpha": 0.65 if many else 1.0}
    flows: list[tuple[Series, dict[str, Any]]] = (
        [(series, {})] if not phone.download or any(series.goodput_mbps) else []
    )
    if phone.download:
        flows.append((phone.download.series, {"linestyle": (0, (3, 1.5))}))
    for flow, dashes in flows:
        goodput.plot(flow.t_s, flow.goodput_mbps, **line, **dashes)
        cwnd.plot(flow.t_s, gaps(flow.cwnd_segs), **line, **dashes)
        ratio.plot(flow.t_s, gaps(flow.rtt_ratio), **line, **dashes)


def bounds(phones: Sequence[PhoneResult], colour_of: Callable[[PhoneResult], str], cwnd: Axes) -> None:
    """Draw each pair of bounds once, however many phones have it: dashes drawn over dashes look like a line."""
    drawn = []
    for phone in phones:
        series, colour = phone.series, colour_of(phone)
        pair = (series.bound_min_segs, series.bound_max_segs)
        if pair in drawn or all(value is None for value in series.bound_max_segs):
            continue
        drawn.append(pair)
        low, high = gaps(series.bound_min_segs), gaps(series.bound_max_segs)
        cwnd.fill_between(series.t_s, low, high, step="pre", color=colour, alpha=0.12, linewidth=0)
        cwnd.step(series.t_s, high, where="pre", color=INK, linewidth=0.7, linestyle=(0, (4, 2)))
        cwnd.step(series.t_s, low, where="pre", color=INK, linewidth=0.7, linestyle=(0, (1, 2)))


def _shape(results: Results, goodput: Axes, cwnd: Axes, ratio: Axes) -> None:
    """Set the same scales for the panels of all modes of one file, so that they can be compared by eye."""
    phones = [phone for run in results.runs for phone in run.phones]
    downloads = [phone.download.series for phone in phones if phone.download]
    every = [phone.series for phone in phones] + downloads
    goodput.set_title("Throughput, Mb/s; dashed: down" if downloads else "Throughput of each phone, Mb/s")
    goodput.set_ylim(0, 1.05 * max((max(series.goodput_mbps) for series in every), default=1.0) or 1.0)
    cwnd.set_title("cwnd, segments (log); dashed, dotted: bounds")
    ratio.set_title("RTT / minimum RTT (log)")
    for axes, name in ((cwnd, "cwnd_segs"), (ratio, "rtt_ratio")):
        values = [value for series in every for value in getattr(series, name) if value]
        axes.set_yscale("log")
        axes.set_ylim(0.8, 1.5 * max(values, default=10.0))
        plain_log(axes.yaxis)
    warmup_s = results.parameters.warmup_seconds
    for axes in (goodput, cwnd, ratio):
        if warmup_s:
            axes.axvspan(0, warmup_s, color=FAINT, alpha=0.12, linewidth=0)
        axes.set_xlim(0, results.parameters.seconds)
    ratio.set_xlabel("virtual seconds; shaded: warm-up, not measured" if warmup_s else "virtual seconds")
    delays_ms = list(dict.fromkeys(results.parameters.wired_delays_ms))
    if len(delays_ms) > 1:
        for i, delay_ms in enumerate(delays_ms):
            goodput.plot([], [], color=DELAY_COLOURS[i % len(DELAY_COLOURS)], label=f"{delay_ms:g} ms")
        goodput.legend(ncols=min(len(delays_ms), 4), loc="upper right", fontsize=8, handlelength=1)


def plain_log(axis: Axis) -> None:
    """Label decades 1, 10, 100 instead of with powers of ten."""
    axis.set_major_locator(LogLocator(10))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def gaps(values: Sequence[float | None]) -> list[float]:
    """None becomes a gap in the line."""
    return [float("nan") if value is None else value for value in values]
