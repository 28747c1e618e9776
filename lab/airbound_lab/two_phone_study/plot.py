# SPDX-License-Identifier: Apache-2.0
"""Draws the two-phone study: a column per run, with goodput, cwnd and events of both phones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from airbound_lab.records.trace import EVENTS
from airbound_lab.report import trace_plot
from airbound_lab.report.style import STYLE
from airbound_lab.two_phone_study import design as two_phone_study

if TYPE_CHECKING:
    from airbound_lab.figures.results import Results

PHONES = ("#2a6fb0", "#c2571a")
PANELS = {"goodput": 1.6, "cwnd": 2.4, "first": 0.7, "second": 0.7}
"""Heights of a run's panels, in parts."""


def two_phones(results: Results) -> Figure:
    """Both phones of each example, on the same scales."""
    runs = two_phone_study.examples(results)
    kinds = sorted({kind for run in runs for kind in trace_plot.occurring(run)}, key=EVENTS.index)
    seconds = results.parameters.seconds
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.4 * len(runs) + 0.6, 6.4), layout="constrained")
        panels = figure.subplots(
            len(PANELS), len(runs), squeeze=False, sharex=True, sharey="row", height_ratios=list(PANELS.values())
        )
        for column, run in enumerate(runs):
            goodput, cwnd, *events = (row[column] for row in panels)
            label, _ = two_phone_study.classify(run, results.parameters)
            goodput.set_title(f"{run.mode}, seed {run.seed}:\n{label}")
            for number, (phone, colour) in enumerate(zip(run.phones, PHONES, strict=True)):
                goodput.plot(phone.series.t_s, phone.series.goodput_mbps, color=colour, linewidth=1.2)
                trace_plot.window(cwnd, phone, seconds, colour=colour)
                trace_plot.event_rows(events[number], phone, kinds)
                if column == 0:
                    events[number].set_ylabel(f"phone {number + 1}", color=colour)
            for axes in (goodput, cwnd, *events):
                trace_plot.shade(axes, results)
            events[-1].set_xlabel("virtual seconds")
        panels[0][0].set_ylabel("goodput, Mb/s")
        panels[0][0].set_ylim(bottom=0)
        panels[1][0].set_ylabel("cwnd, segments")
        panels[1][0].set_ylim(0, 1.08 * max(trace_plot.top(phone) for run in runs for phone in run.phones))
    return figure
