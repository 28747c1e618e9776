# SPDX-License-Identifier: Apache-2.0
"""One terminal."""

from grafana_foundation_sdk.builders.dashboard import Dashboard

from airbound_dashboards import annotations, links, variables
from airbound_dashboards.boards import board
from airbound_dashboards.panels import (
    BITS,
    BYTES,
    COUNT,
    DBM,
    EVENTS,
    RATIO,
    RATIO_STEPS,
    RPM,
    RPM_STEPS,
    SECONDS,
    SEGMENTS,
    SHARE,
    SOME_IS_GOOD,
    lines,
    row,
    rows,
    states,
    value,
)  # fmt: skip
from airbound_dashboards.queries import terminal as q


def terminal() -> Dashboard:
    """The dashboard *Terminal*."""
    made = board("Terminal", links.TERMINAL, "One phone: its round trips, its windows between their bounds, and why.")
    made = made.with_variable(variables.datasource()).with_variable(variables.cells_of_terminals())
    made = made.with_variable(variables.terminal()).annotation(annotations.terminal_decisions())
    return _radio(_why(_tcp(_now(made))))


def _now(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Now"))
        .with_panel(
            value("Cell", "The cell that it is joined to.", q.CELL, unit=COUNT, name=True, w=4)
            .data_links([links.to_cell("${__field.labels.bssid}")])
        )
        .with_panel(value("Agent", "Back end and version of its agent.", q.AGENT, unit=COUNT, name=True, w=4))
        .with_panel(value("Throughput", "Bytes that were acknowledged, as bits per second.", q.THROUGHPUT, unit=BITS))
        .with_panel(
            value("RTT ratio", "Smoothed RTT over minimum RTT of its worst destination.", q.RATIO, unit=RATIO,
                  steps=RATIO_STEPS, decimals=1)
        )
        .with_panel(
            value("Responsiveness", "Round trips per minute: 60 s over the smoothed RTT.", q.RPM, unit=RPM,
                  steps=RPM_STEPS, decimals=0)
        )
        .with_panel(
            value("Bounds in force", "1 if it reports those bounds in force that it was sent last.", q.IN_FORCE,
                  unit=COUNT, steps=SOME_IS_GOOD)
        )
        .with_panel(value("Sends", "1 if its station is an active sender.", q.SENDS, unit=COUNT, w=2))
        .with_panel(value("Exempt", "1 if an operator exempted it or its cell.", q.EXEMPT, unit=COUNT, w=2))
    )  # fmt: skip


def _tcp(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("TCP"))
        .with_panel(lines("Throughput", "Bytes that were acknowledged, all destinations.", q.THROUGHPUT, unit=BITS))
        .with_panel(
            lines("RTT", "Smoothed and minimum RTT of the destination whose ratio of the two is the largest.", q.RTT,
                  unit=SECONDS)
        )
        .with_panel(
            lines("Window and its bounds", "Mean congestion window of its connections, and the bounds that it was sent"
                  " for one connection: of the destination with the smallest upper bound.", q.WINDOW, unit=SEGMENTS,
                  fill_below={"upper bound": "lower bound"})
        )
        .with_panel(lines("TCP events", "As its kernel counts them.", q.EVENTS, unit=EVENTS, stacked=True))
        .with_panel(lines("Data that waits", "Unsent and unacknowledged bytes.", q.QUEUED, unit=BYTES))
        .with_panel(lines("Connections", "Open ones, and those with unsent or unacknowledged data.", q.CONNECTIONS,
                          unit=COUNT))
        .with_panel(
            lines("Throughput by class", "Bytes that were acknowledged, by what the applications need, as the phone's"
                  " table of applications has it.", q.CLASSES, unit=BITS, stacked=True)
        )
        .with_panel(
            lines("Arrivals", "How often it arrived somewhere, so that it can send again; how many connections waited"
                  " for a retransmission timer then, and how many of them its agent made retransmit; how many downloads"
                  " had stopped, and went on within a second of messages to their servers.", q.ARRIVALS,
                  unit=COUNT, bars=True)
        )
        .with_panel(
            lines("Silence after an arrival", "Until one of the connections that waited was answered.", q.SILENCE,
                  unit=SECONDS)
        )
    )  # fmt: skip


def _why(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Why"))
        .with_panel(
            lines("Decisions", "Bounds that were set or released, by their first reason; `airbound explain` has all"
                  " values.", q.DECISIONS, unit=COUNT, bars=True)
        )
        .with_panel(
            rows("Decisions in this time range", "The same, added up.", [q.DECISIONS_TABLE], key="reason", w=8, h=8,
                 sort="times")
        )
        .with_panel(
            states("Without bounds", "From when until when it had no bounds, by the reason.", q.NO_BOUNDS, h=8)
        )
        .with_panel(lines("Lease and reports", "What is left of the lease of its bounds; how old its last report is.",
                          q.LEASE, unit=SECONDS, w=12))
        .with_panel(
            lines("Refusals and failures", "Reports that the controller refused, decisions that ended in an error,"
                  " and input that the terminal's agent refused.", q.ERRORS, unit=EVENTS, w=12)
        )
    )  # fmt: skip


def _radio(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Radio"))
        .with_panel(lines("Airtime", "Share of the time in which frames from (uplink) and to (downlink) it are on the"
                          " air.", q.AIRTIME, unit=SHARE, stacked=True))
        .with_panel(lines("PHY rate", "Of the last frame of each direction.", q.PHY_RATE, unit=BITS))
        .with_panel(lines("Signal", "Of its frames at the access point.", q.SIGNAL, unit=DBM, least=None))
    )  # fmt: skip
