# SPDX-License-Identifier: Apache-2.0
"""Draws a survey as the paper's figures 2 to 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure as Picture

from airbound_lab.report.style import FAINT, INK, STYLE
from airbound_lab.survey.ride import DOWN, UP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airbound_lab.survey.ride import Ride

LOOKS: dict[str, dict[str, Any]] = {
    "tcp_up": {"color": "#c2571a", "marker": "o", "label": "TCP up"},
    "udp_up": {"color": "#8a96a3", "marker": "x", "label": "UDP up"},
    "udp_down": {"color": "#2a6fb0", "marker": "+", "label": "UDP down"},
}
Span = tuple[float, float]


def all_of(ride: Ride, span: Span | None) -> dict[str, Picture]:
    """Draw all pictures, by their names. `span` is what is shown of them, s since the beginning."""
    return {
        "survey-up": _picture(ride, UP, span, server=False, lost=True),
        "survey-phone": _picture(ride, (*UP, DOWN), span, server=False, lost=True),
        "survey-server": _picture(ride, (UP[0], DOWN), span, server=True, lost=False),
    }


def _picture(ride: Ride, series: Sequence[str], span: Span | None, *, server: bool, lost: bool) -> Picture:
    with mpl.rc_context(STYLE):
        picture = Picture(figsize=(7.2, 3.6), layout="constrained")
        axes = picture.subplots()
        points_of = ride.by_server if server else ride.by_phone
        for name in series:
            points = points_of(name)
            axes.plot(
                [at_s for at_s, _ in points], [delay_s for _, delay_s in points],
                linestyle="none", markersize=3, **LOOKS[name],
            )  # fmt: skip
        if lost:
            at_s = ride.lost("udp_up")
            axes.plot(at_s, [0.0] * len(at_s), linestyle="none", marker="|", color=INK, label="UDP up, lost")
        begin_us = (ride.server_begin_us or 0) if server else ride.begin_us
        for number, arrival in enumerate(ride.arrivals):
            at_us = arrival.server_us if server else arrival.phone_us
            if at_us is not None:
                label = "_nolegend_" if number else "arrival"
                axes.axvline((at_us - begin_us) / 1e6, color=FAINT, linewidth=0.8, linestyle="--", label=label)
        if span is not None:
            axes.set_xlim(*span)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        whose = "server's" if server else "phone's"
        axes.set_xlabel(f"{whose} time, s: up when {'it came' if server else 'it was sent'}, down when "
                        f"{'it was sent' if server else 'it came'}")  # fmt: skip
        axes.set_ylabel("delay, s")
        if ride.uncertainty_s is not None:
            axes.set_title(f"clocks compared to within {ride.uncertainty_s:.3f} s")
        axes.legend(loc="upper right", markerscale=1.6)
    return picture
