# SPDX-License-Identifier: Apache-2.0
"""The controllers."""

from grafana_foundation_sdk.builders.dashboard import Dashboard

from airbound_dashboards import annotations, links, variables
from airbound_dashboards.boards import board
from airbound_dashboards.panels import (
    BYTES,
    COUNT,
    LATENCY_STEPS,
    NONE_IS_GOOD,
    PER_S,
    SECONDS,
    SHARE,
    SOME_IS_GOOD,
    heat,
    lines,
    row,
    value,
    values,
)  # fmt: skip
from airbound_dashboards.queries import controller as q


def controller() -> Dashboard:
    """The dashboard *Controller*."""
    made = board("Controller", links.CONTROLLER, "The controllers: how quick they are, and what they refuse.")
    made = made.with_variable(variables.datasource()).with_variable(variables.job())
    made = made.with_variable(variables.controller()).annotation(annotations.configurations())
    return _configuration(_store(_work(_speed(_now(made)))))


def _now(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Now"))
        .with_panel(value("Up", "Controllers that Prometheus reaches.", q.UP, unit=COUNT, steps=SOME_IS_GOOD))
        .with_panel(value("Down", "Controllers that it does not reach.", q.DOWN, unit=COUNT, steps=NONE_IS_GOOD))
        .with_panel(value("Streams", "Open streams of agents.", q.STREAMS_NOW, unit=COUNT))
        .with_panel(value("Reports", "Reports of agents per second.", q.REPORTS_NOW, unit=PER_S))
        .with_panel(
            values("Control loop, 99 %", "decision: from a report's arrival to its commands; write: until a command is"
                   " taken by its stream.", q.DECISION_NOW, unit=SECONDS, w=6, h=4)
        )
        .with_panel(
            value("Failed decisions", "Decisions that ended in an error of the controller, in this time range: the"
                  " terminal was released.", q.FAILURES_NOW, unit=COUNT, steps=NONE_IS_GOOD, decimals=0)
        )
        .with_panel(value("Version", "Of the controllers, and of Python.", q.VERSION, unit=COUNT, name=True))
    )  # fmt: skip


def _speed(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Speed"))
        .with_panel(
            lines("Control loop", "decision: from a report's arrival to the commands that it leads to; write: from a"
                  " command to when its stream has taken it.", q.LOOP, unit=SECONDS, steps=LATENCY_STEPS)
        )
        .with_panel(heat("Decisions by duration", "How many decisions took how long.", q.LOOP_HEAT, unit=SECONDS))
        .with_panel(
            lines("Event loop late", "How late what is due is done, 99 %: leases and time-outs.", q.TIMER,
                  unit=SECONDS, steps=LATENCY_STEPS)
        )
        .with_panel(
            lines("CPU", "Of one core. One process uses little more than one: above 0.9 it is full.", q.CPU, unit=SHARE,
                  steps=((None, "transparent"), (0.9, "red")))
        )
        .with_panel(lines("Memory", "Resident set.", q.MEMORY, unit=BYTES))
        .with_panel(lines("Scrape", "How long Prometheus's scrapes take.", q.SCRAPE, unit=SECONDS))
    )  # fmt: skip


def _work(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Work"))
        .with_panel(lines("Reports", "Per second, refused ones included.", q.REPORTS, unit=PER_S, stacked=True))
        .with_panel(lines("Commands", "Per second.", q.COMMANDS, unit=PER_S, stacked=True))
        .with_panel(
            lines("Decisions", "Sets and releases, the ten most frequent by their first reason.", q.DECISIONS,
                  unit=COUNT, bars=True)
        )
        .with_panel(
            lines("Connections", "Open ones, those of them without an authenticated call, and how many the address has"
                  " that has most.", q.CONNECTIONS, unit=COUNT)
        )
        .with_panel(lines("Handshakes", "TLS handshakes that began and that failed, per second.", q.HANDSHAKES,
                          unit=PER_S))
        .with_panel(
            lines("Streams", "Open streams of agents, by controller and role.", q.STREAMS, unit=COUNT, stacked=True)
        )
        .with_panel(
            lines("Streams opened and closed", "How many; closed: those that the controller ended, by the reason.",
                  (q.OPENED, q.CLOSED), unit=COUNT, bars=True, w=12)
        )
        .with_panel(
            lines("Refusals", "Reports, entries of reports and streams, the ten most frequent reasons.", q.REFUSALS,
                  unit=COUNT, bars=True, w=12)
        )
    )  # fmt: skip


def _store(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Store and ownership"))
        .with_panel(lines("Calls of the store", "Per second.", q.STORE_CALLS, unit=PER_S, stacked=True))
        .with_panel(
            lines("Calls of the store, 99 %", "How long the slowest of a hundred takes, the eight slowest calls.",
                  q.STORE_LATENCY, unit=SECONDS)
        )
        .with_panel(lines("Errors of the store", "Calls that failed, per second.", q.STORE_ERRORS, unit=PER_S))
        .with_panel(
            lines("Ownership", "Cells by their owner, with a shared store; and access points that are connected while"
                  " nobody owns their cell.", q.OWNED, unit=COUNT, least=None)
        )
        .with_panel(
            lines("Fenced and failed", "Commands that were not passed on since their cell has another owner by now,"
                  " and decisions that ended in an error, per second.", (q.FENCED, q.FAILURES), unit=PER_S)
        )
        .with_panel(values("Store", "Controllers by the kind of their store.", q.STORE_KIND, unit=COUNT, h=8))
    )  # fmt: skip


def _configuration(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Configuration and metrics"))
        .with_panel(
            values("Configurations", "Controllers by the hash of their configuration: one, unless a change is under"
                   " way.", q.CONFIGURATION, unit=COUNT, h=6)
        )
        .with_panel(
            values("Refused configurations", "Files that were refused in this time range; the one before stays in"
                   " force.", q.CONFIGURATION_ERRORS, unit=COUNT, h=6)
        )
        .with_panel(
            lines("Left out", "Objects without series of their own, and log lines that were not written, per second.",
                  (q.OMITTED, q.LOG_DROPPED), unit=COUNT, h=6)
        )
        .with_panel(lines("Series", "Samples of each scrape.", q.SAMPLES, unit=COUNT, w=24, h=5))
    )  # fmt: skip
