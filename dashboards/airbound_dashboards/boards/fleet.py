# SPDX-License-Identifier: Apache-2.0
"""All cells."""

from grafana_foundation_sdk.builders.dashboard import Dashboard

from airbound_dashboards import links, variables
from airbound_dashboards.boards import board
from airbound_dashboards.panels import (
    BITS,
    COUNT,
    FAIRNESS_STEPS,
    NONE_IS_GOOD,
    RATIO,
    RATIO_STEPS,
    RPM,
    RPM_STEPS,
    SECONDS,
    SHARE,
    lines,
    row,
    rows,
    value,
    values,
)  # fmt: skip
from airbound_dashboards.queries import fleet as q

_TO_CELL = [links.to_cell("${__field.labels.bssid}")]


def fleet() -> Dashboard:
    """The dashboard *Fleet*."""
    made = board("Fleet", links.FLEET, "All cells: which ones are worst, who is online, what runs.")
    made = made.with_variable(variables.datasource()).with_variable(variables.top())
    return _running(_worst(_now(made)))


def _now(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Now"))
        .with_panel(value("Cells", "Cells whose access point's agent is connected.", q.CELLS, unit=COUNT))
        .with_panel(
            value("Without an agent", "Cells whose access point was connected within forget_ms, and is not.",
                  q.CELLS_LOST, unit=COUNT, steps=NONE_IS_GOOD)
        )
        .with_panel(
            value("Bloated cells", "Cells whose median RTT ratio is above 5.", q.BLOATED, unit=COUNT,
                  steps=NONE_IS_GOOD)
        )
        .with_panel(value("Alerts", "Airbound's alerts that fire.", q.ALERTS, unit=COUNT, steps=NONE_IS_GOOD))
        .with_panel(value("Terminals", "Phones with an agent that is online.", q.TERMINALS, unit=COUNT))
        .with_panel(value("Active senders", "Stations of all cells that send.", q.SENDERS, unit=COUNT))
        .with_panel(value("Throughput", "IP payload of all cells.", q.THROUGHPUT, unit=BITS))
        .with_panel(
            value("Responsiveness", "Round trips per minute, of the cell in the middle.", q.RPM_MEDIAN, unit=RPM,
                  steps=RPM_STEPS, decimals=0)
        )
    )  # fmt: skip


def _worst(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("The worst cells"))
        .with_panel(
            rows("Worst by RTT ratio", "The cells with the largest median RTT ratio.", q.WORST, key="bssid", h=9,
                 units={"throughput": BITS}, steps={"RTT ratio": RATIO_STEPS, "fairness": FAIRNESS_STEPS},
                 links={"bssid": links.to_cell("${__value.text}")}, sort="RTT ratio")
        )
        .with_panel(
            lines("RTT ratio, the largest", "Median of each cell's terminals.", q.RATIO_TOP, unit=RATIO,
                  steps=RATIO_STEPS, links=_TO_CELL)
        )
        .with_panel(
            lines("RTT ratio over all cells", "How the cells' medians are spread, and the largest of any terminal.",
                  q.RATIO_SPREAD, unit=RATIO, steps=RATIO_STEPS)
        )
        .with_panel(
            lines("Responsiveness, the smallest", "Round trips per minute, by the median RTT of the cell's terminals.",
                  q.RPM_BOTTOM, unit=RPM, links=_TO_CELL)
        )
        .with_panel(
            lines("Fairness, the smallest", "Jain's index of the uplink throughput of each cell's senders.",
                  q.JAIN_BOTTOM, unit=RATIO, most=1, steps=FAIRNESS_STEPS, links=_TO_CELL)
        )
        .with_panel(
            lines("Airtime of one station, the largest", "Share of a cell's airtime that its largest station takes.",
                  q.AIRTIME_TOP, unit=SHARE, most=1, links=_TO_CELL)
        )
        .with_panel(
            lines("Throughput, the largest", "IP payload of both directions.", q.THROUGHPUT_TOP, unit=BITS,
                  links=_TO_CELL)
        )
    )  # fmt: skip


def _running(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("What runs"))
        .with_panel(
            lines("Enrolled and online", "Names that have a certificate, by role; streams that are open; names that"
                  " should have renewed their certificate by now.", q.ENROLLED, unit=COUNT)
        )
        .with_panel(
            lines("Certificates of controllers", "Time until the first one of each kind ends. Controllers renew theirs"
                  " by themselves; a new authority is made by hand.", q.CERTIFICATES, unit=SECONDS)
        )
        .with_panel(
            lines("Terminals without bounds", "By the reason why they have none.", q.WITHOUT_BOUNDS, unit=COUNT,
                  stacked=True)
        )
        .with_panel(values("Versions", "How many of each run.", q.VERSIONS, unit=COUNT, h=8))
        .with_panel(values("Modes and policies", "How many cells have each.", q.MODES, unit=COUNT, h=8))
        .with_panel(
            lines("Decisions", "Sets and releases, the ten most frequent by their first reason.", q.DECISIONS,
                  unit=COUNT, bars=True)
        )
        .with_panel(
            rows("Alerts that fire", "Airbound's; docs/runbook.md has a section for each.", [q.FIRING],
                 key="alertname", h=7)
        )
    )  # fmt: skip
