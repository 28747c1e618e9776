# SPDX-License-Identifier: Apache-2.0
"""Draws the study: the delay of each record over time, as the paper's figures 7 and 8, and the silence by outage."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from airbound_lab.handover_study.design import LIMIT
from airbound_lab.handover_study.lanes import Lane
from airbound_lab.report.style import FAINT, INK, STYLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from airbound_lab.handover_study.design import Case, Design
    from airbound_lab.handover_study.measures import Figures
    from airbound_lab.handover_study.observed import Observed

LOOKS: dict[str, dict[str, Any]] = {
    "udp": {"color": "#8a96a3", "marker": "x"},
    "tcp": {"color": "#c2571a", "marker": "o"},
    "tcp-thin": {"color": "#b0903a", "marker": "v"},
    "tcp-user-timeout": {"color": "#9c5a3c", "marker": "s"},
    "quic": {"color": "#7d8f4e", "marker": "^"},
    "quic-migration": {"color": "#2e8b57", "marker": ">"},
    "library": {"color": "#2a6fb0", "marker": "P"},
    "library-method": {"color": "#7048a8", "marker": "*"},
    "library-event": {"color": "#0b5f8a", "marker": "+"},
    "library-newest": {"color": "#1f9ac0", "marker": "1"},
    "connections": {"color": "#8e4a9e", "marker": "D"},
}
BEFORE_S, AFTER_S = 5.0, 20.0
"""What a picture shows, before the losses and after the completion."""


def delays(case: Case, found: Mapping[Lane, Observed], rivals: Sequence[str]) -> Picture:
    """Draw the delay of each record by the moment at which it was made."""
    with mpl.rc_context(STYLE):
        picture = Picture(figsize=(7.2, 3.6), layout="constrained")
        axes = picture.subplots()
        loss_at_s, complete_s = case.handover.loss_at_s(case.seed), case.handover.complete_s(case.seed)
        _shade(axes, case)
        for name in rivals:
            rival = found.get(Lane(case, name))
            if rival is None:
                continue
            points = [(each.due_s, each.delay_s) for each in rival.lane.records if each.delay_s is not None]
            axes.plot(
                [due_s for due_s, _ in points], [delay_s for _, delay_s in points],
                linestyle="none", markersize=3.2, **_look(name), label=name,
            )  # fmt: skip
        axes.set_xlim(loss_at_s - BEFORE_S, complete_s + AFTER_S)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("when a record was made, s")
        axes.set_ylabel("its delay, s")
        axes.legend(loc="upper right", markerscale=1.6)
        axes.set_title(f"{case}")
    return picture


def _shade(axes: Axes, case: Case) -> None:
    loss_at_s, complete_s = case.handover.loss_at_s(case.seed), case.handover.complete_s(case.seed)
    axes.axvspan(loss_at_s, loss_at_s + case.handover.lost_s, color=FAINT, alpha=0.25, linewidth=0)
    axes.axvspan(loss_at_s + case.handover.lost_s, complete_s, color=FAINT, alpha=0.1, linewidth=0)
    axes.axvline(complete_s, color=INK, linewidth=0.8, linestyle="--")


def _look(name: str) -> dict[str, Any]:
    return LOOKS.get(name, {"color": INK, "marker": "."})


def silence(design: Design, by_case: Mapping[Case, Mapping[str, Figures]]) -> Picture:
    """Draw the longest silence by outage: a panel for each round trip and queue, medians and ranges of the seeds."""
    with mpl.rc_context(STYLE):
        rows, columns = len(design.rtts_ms), len(design.before_s)
        picture = Picture(figsize=(2.7 * columns + 0.6, 2.3 * rows + 0.9), layout="constrained")
        panels = picture.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for row, rtt_ms in enumerate(design.rtts_ms):
            for column, before_s in enumerate(design.before_s):
                axes = panels[row][column]
                for number, name in enumerate(design.rivals):
                    found = {case: rivals[name] for case, rivals in by_case.items() if name in rivals}
                    _line(axes, _by_outage(design, found, rtt_ms, before_s), name, 0.05 * number)
                axes.set_title(f"{rtt_ms:g} ms, queue {before_s:g} s")
                if row == rows - 1:
                    axes.set_xlabel("everything lost for, s")
                if column == 0:
                    axes.set_ylabel("longest silence, s")
        handles = [Line2D([], [], label=name, markersize=4, **_look(name)) for name in design.rivals]
        picture.legend(handles=handles, loc="outside lower center", ncols=min(2 * columns, len(handles)))
    return picture


def _by_outage(
    design: Design, found: Mapping[Case, Figures], rtt_ms: float, before_s: float
) -> dict[float, list[float]]:
    """Return the silences by outage, of the handovers of a panel; what is not on its axes is the design's first."""
    rest = design.held_s[0], design.after_s[0], design.down_shifts_s[0]
    silences_s: dict[float, list[float]] = {}
    for case, figures in found.items():
        at = case.handover
        if (at.rtt_ms, at.before_s, at.held_s, at.after_s, at.down_shift_s) == (rtt_ms, before_s, *rest):
            silences_s.setdefault(at.lost_s, []).append(figures.silence_s)
    return silences_s


def _line(axes: Axes, silences_s: Mapping[float, list[float]], name: str, aside: float) -> None:
    """Draw medians, and the ranges of the seeds; a little aside, so that rivals that are equal are seen."""
    outages_s = sorted(silences_s)
    at = [outage_s + aside for outage_s in outages_s]
    axes.plot(at, [statistics.median(silences_s[each]) for each in outages_s], linewidth=1, markersize=4, **_look(name))
    low, high = ([pick(silences_s[each]) for each in outages_s] for pick in (min, max))
    axes.vlines(at, low, high, color=_look(name)["color"], linewidth=0.8, alpha=0.6)


def all_of(
    design: Design, found: Mapping[Lane, Observed], by_case: Mapping[Case, Mapping[str, Figures]]
) -> dict[str, Picture]:
    """Return every picture by its name: delays for the longest outage of each queue, with the first seed."""
    pictures = {"handover-silence": silence(design, by_case)}
    for case in design.cases():
        if case.seed == design.seeds[0] and case.handover.lost_s == max(design.lost_s):
            handover = case.handover
            name = f"handover-delays-{handover.rtt_ms:g}ms-queue{handover.before_s:g}-lost{handover.lost_s:g}"
            if handover.held_s or handover.after_s:
                name += f"-held{handover.held_s:g}-after{handover.after_s:g}"
            if not handover.down_shift_s and Lane(case, LIMIT) in found:
                pictures[name] = delays(case, found, design.rivals)
    return pictures
