# SPDX-License-Identifier: Apache-2.0
"""Draws the study of applications: windows over time (Figs 4 to 6, 12), throughput by phones (Fig 8), and what a player
of live video showed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from airbound_lab.applications_study.published import NEEDED_MBPS
from airbound_lab.report.style import FAINT, INK, STYLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from airbound_lab.applications_study.design import Case
    from airbound_lab.applications_study.table import Found
    from airbound_lab.figures.results import Run

COLOURS = {"tcp": "#2a6fb0", "udp": "#c2571a", "skipped": "#c2571a", "continued": "#2a6fb0"}


def throughput(found: Found) -> Figure:
    """Fig 8: the TCP phone's throughput by the number of phones."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 3.4), layout="constrained")
        axes = figure.subplots()
        for background, by_number in found.throughput.items():
            numbers = sorted(by_number)
            axes.plot(
                numbers, [by_number[number] for number in numbers], marker="o", color=COLOURS[background],
                label=f"beside {background.upper()}",
            )  # fmt: skip
        axes.axhline(NEEDED_MBPS, color=FAINT, linestyle="--", linewidth=1)
        axes.set_xlabel("phones")
        axes.set_ylabel("the TCP phone, Mb/s")
        axes.set_ylim(bottom=0)
        axes.legend()
        axes.set_title(f"{found.cell}: one TCP phone beside others")
    return figure


def windows(cell: str, runs: Sequence[tuple[Case, Run]]) -> Figure:
    """Figs 4 to 6: the window of each application by itself."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 1.7 * len(runs) + 0.4), layout="constrained")
        panels = figure.subplots(len(runs), 1, squeeze=False)
        for number, (case, run) in enumerate(runs):
            axes = panels[number][0]
            for result in run.applications or ():
                axes.plot(result.connections.t_s, result.connections.cwnd_segs, color=INK, linewidth=1)
            axes.set_title(case.what)
            axes.set_ylabel("cwnd")
            axes.set_ylim(bottom=0)
        panels[-1][0].set_xlabel("virtual seconds")
        figure.suptitle(f"{cell}: one phone")
    return figure


def trials(cell: str, runs: Sequence[tuple[Case, Run]]) -> Figure:
    """The window and the interruptions of each kind of sender, the first seed: Fig 12."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 2.2 * len(runs) + 0.4), layout="constrained")
        panels = figure.subplots(len(runs), 1, squeeze=False, sharex=True)
        for number, (case, run) in enumerate(runs):
            _trial(panels[number][0], case, run)
        panels[-1][0].set_xlabel("virtual seconds")
        figure.suptitle(f"{cell}: live video; shaded: the picture stands still")
    return figure


def _trial(axes: Axes, case: Case, run: Run) -> None:
    for result in run.applications or ():
        axes.plot(result.connections.t_s, result.connections.cwnd_segs, color=INK, linewidth=1)
        for each in result.interruptions():
            axes.axvspan(each.start_s, each.start_s + each.length_s, color=COLOURS[each.kind], alpha=0.25, linewidth=0)
    axes.set_title(f"sender: {case.what}, {case.terminals} phones, seed {case.seed}")
    axes.set_ylabel("cwnd")
    axes.set_ylim(bottom=0)


def all_of(every: Sequence[Found], runs: Sequence[tuple[Case, Run]]) -> dict[str, Figure]:
    """Return every picture by its name."""
    pictures = {}
    for found in every:
        own = [(case, run) for case, run in runs if case.cell == found.cell]
        if found.throughput:
            pictures[f"applications-throughput-{found.cell}"] = throughput(found)
        if alone := [(case, run) for case, run in own if case.part == "alone"]:
            pictures[f"applications-windows-{found.cell}"] = windows(found.cell, alone)
        shown = [(case, run) for case, run in own if case.part == "video"]
        if shown:
            most, seed = max(case.terminals for case, _ in shown), shown[0][0].seed
            first = [(case, run) for case, run in shown if (case.terminals, case.seed) == (most, seed)]
            pictures[f"applications-video-{found.cell}"] = trials(found.cell, first)
    return pictures
