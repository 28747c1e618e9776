# SPDX-License-Identifier: Apache-2.0
"""One cell."""

from grafana_foundation_sdk.builders.dashboard import Dashboard

from airbound_dashboards import annotations, links, variables
from airbound_dashboards.boards import board
from airbound_dashboards.panels import (
    BITS,
    BYTES,
    COUNT,
    DBM,
    EVENTS,
    FAIRNESS_STEPS,
    LESS_IS_GOOD,
    MORE_IS_GOOD,
    RATIO,
    RATIO_STEPS,
    RPM,
    RPM_STEPS,
    SECONDS,
    SHARE,
    SHARE_STEPS,
    heat,
    lines,
    row,
    rows,
    states,
    value,
)  # fmt: skip
from airbound_dashboards.queries import cell as q


def cell() -> Dashboard:
    """The dashboard *Cell*."""
    made = board("Cell", links.CELL, "One cell: who sends, how full the air is, and what the controller does about it.")
    made = made.with_variable(variables.datasource()).with_variable(variables.cell())
    made = made.annotation(annotations.modes()).annotation(annotations.cell_decisions())
    made = made.annotation(annotations.configurations())
    return _terminals(_senders(_traffic(_gain(_stations(_now(made))))))


def _now(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Now"))
        .with_panel(value("Network", "Name of the cell's network (SSID).", q.NAME, unit=COUNT, name=True))
        .with_panel(
            value("Mode and policy", "The controller's, or those of an override for this cell.", q.CONTROL, unit=COUNT,
                  name=True)
        )
        .with_panel(
            value("Throughput", "IP payload of both directions, over the last interval of the access point's reports.",
                  q.THROUGHPUT_NOW, unit=BITS)
        )
        .with_panel(
            value("Active senders", "Stations that send, with an agent or without: the policies' n.", q.SENDERS_NOW,
                  unit=COUNT)
        )
        .with_panel(
            value("RTT ratio", "Smoothed RTT over minimum RTT, median of the terminals that send. 1: no queue anywhere."
                  " Above 5: bloated.", q.RATIO_NOW, unit=RATIO, steps=RATIO_STEPS, decimals=1)
        )
        .with_panel(
            value("Responsiveness", "Round trips per minute under the load of now: 60 s over the median RTT.",
                  q.RPM_NOW, unit=RPM, steps=RPM_STEPS, decimals=0)
        )
        .with_panel(
            value("Fairness", "Jain's index of the uplink throughput of the stations that send: 1 if all have the same,"
                  " 1/n if one has all.", q.FAIRNESS_NOW, unit=RATIO, steps=FAIRNESS_STEPS, decimals=2)
        )
        .with_panel(
            value("Channel busy", "Share of the time in which the channel was busy, by the access point's survey; of"
                  " all networks on the channel.", q.BUSY_NOW, unit=SHARE, steps=SHARE_STEPS)
        )
    )  # fmt: skip


def _stations(made: Dashboard) -> Dashboard:
    return made.with_row(row("Who sends, and what bounds change")).with_panel(
        rows("Stations", "All of the cell, with an agent (terminal) or without; air is a station's part of the time, of"
             " frames from and to it; limit is what a connection may have in flight by the access point, and after it"
             " for how long one that sends by TCP has had none, and why. `airbound stations` has the same.",
             q.STATIONS, key="station", w=24, h=9, units={"uplink": BITS, "air": SHARE, "signal": DBM, "PHY up": BITS,
                                                          "PHY down": BITS, "retries/s": COUNT, "limit": BYTES,
                                                          "no limit for": SECONDS, "RTT": SECONDS}, sort="air")
    )  # fmt: skip


def _gain(made: Dashboard) -> Dashboard:
    compared = "Of the times with the same number of senders, two or more. Orange lines mark switches of the mode."
    no_modes, no_hours = "not known yet", "no data of both hours yet"
    return (
        made.with_row(row("Before and after: with and without bounds, today and yesterday"))
        .with_panel(
            value("Carried: control against observe", "In the chosen time: 0 % is no difference, above it more was"
                  f" carried with bounds. {compared} Not known until the chosen time has both modes.",
                  q.CARRIED_BY_CONTROL, unit=SHARE, steps=MORE_IS_GOOD, decimals=0, w=5, none=no_modes)
        )
        .with_panel(
            value("RTT: control against observe", "In the chosen time: 0 % is no difference, below it round trips were"
                  f" shorter with bounds. {compared} Not known until the chosen time has both modes.",
                  q.RTT_BY_CONTROL, unit=SHARE, steps=LESS_IS_GOOD, decimals=0, w=5, none=no_modes)
        )
        .with_panel(
            value("Carried: since yesterday", "The last hour against the same hour of yesterday: 0 % is no difference,"
                  f" above it more was carried. {compared} Traffic of two days differs in more than its number of"
                  " senders.", q.CARRIED_SINCE_YESTERDAY, unit=SHARE, steps=MORE_IS_GOOD, decimals=0, w=5,
                  none=no_hours)
        )
        .with_panel(
            value("RTT: since yesterday", "The last hour against the same hour of yesterday: 0 % is no difference,"
                  f" below it round trips were shorter. {compared}", q.RTT_SINCE_YESTERDAY, unit=SHARE,
                  steps=LESS_IS_GOOD, decimals=0, w=5, none=no_hours)
        )
        .with_panel(
            value("Compared with yesterday", "Part of the last hour's time with two or more senders in which as many"
                  " sent as at some time of that hour of yesterday. The rest is in neither comparison with yesterday:"
                  " if this is small, they say little.", q.COMPARED, unit=SHARE, decimals=0, w=4, none=no_hours)
        )
        .with_panel(
            rows("With and without bounds", "In the chosen time, while two or more sent: what was carried and the RTT"
                 " in each mode, whatever the number of senders. observe is without bounds. The modes had different"
                 " traffic: `airbound check` compares them in turn, and says how sure it is.", q.MODES, key="mode",
                 w=12, h=5, units={"throughput": BITS, "RTT, median": SECONDS, "RTT, 95 %": SECONDS,
                                   "of the time": SHARE})
        )
        .with_panel(
            rows("The last hour and yesterday", "While two or more sent, whatever their number: means, which part of"
                 " that time was in control, and which part of the hour it was.", q.HOURS, key="hour", w=12, h=5,
                 units={"throughput": BITS, "RTT, mean": SECONDS, "in control": SHARE, "of the hour": SHARE})
        )
    )  # fmt: skip


def _traffic(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Traffic and air"))
        .with_panel(
            lines("Throughput", "IP payload from and to the stations (without the TCP ACKs of uploads), and what the"
                  " controller estimates the cell can carry.", q.THROUGHPUT, unit=BITS)
        )
        .with_panel(
            lines("Uplink by station", 'The 15 largest. A station is a pseudonym unless [metrics] stations = "mac";'
                  " its terminal's name stands before it if it has an agent.", q.UPLINK_SPLIT, unit=BITS, stacked=True)
        )
        .with_panel(
            lines("Fairness", "Jain's index of the uplink throughput of the stations that send.", q.FAIRNESS,
                  unit=RATIO, most=1, steps=FAIRNESS_STEPS)
        )
        .with_panel(
            lines("Channel", "Busy time by the survey; throughput over the estimated capacity; the uplink's share of"
                  " the payload.", q.BUSY, unit=SHARE, most=1)
        )
        .with_panel(
            lines("Airtime by station", "Share of the time in which the station's frames are on the air, both"
                  " directions, the 15 largest. Absent where the driver reports no airtime.", q.AIRTIME, unit=SHARE,
                  stacked=True)
        )
        .with_panel(
            lines("EDCA parameters", "Whether the access point waits for its uploading stations, and what is left of"
                  " the lease.", q.EDCA, unit=COUNT)
        )
        .with_panel(
            lines("Stations without an agent", "Those that send by TCP, those of them whose windows the access point"
                  " limits, and its limits in force. Empty where its agent does not look at connections.",
                  q.WINDOWS, unit=COUNT)
        )
        .with_panel(
            lines("Live flows", "What applications of class live send, by the phones' tables; how many have the"
                  " category for video, and how many get less than they send. The category is closed for all while a"
                  " station uses it without a grant.", q.LIVE, unit=COUNT)
        )
        .with_panel(
            lines("Air of live flows", "Part of the air that the granted ones need; further ones are refused above"
                  " [live] air_most.", q.LIVE_AIR, unit=SHARE, most=1)
        )
    )  # fmt: skip


def _senders(made: Dashboard) -> Dashboard:
    return (
        made.with_row(row("Round trips and windows"))
        .with_panel(
            lines("Senders and terminals", "Stations that send and receive; terminals (stations with an agent), and"
                  " those of them that have bounds.", q.SENDERS, unit=COUNT)
        )
        .with_panel(
            heat("RTT ratio of the terminals", "How many terminals have which ratio of smoothed to minimum RTT, each of"
                 " its worst destination.", q.RATIO_HEAT, unit=RATIO)
        )
        .with_panel(
            lines("RTT", "Of the worst destination of each terminal that sends.", q.RTT, unit=SECONDS)
        )
        .with_panel(
            lines("Windows over their upper bounds", "Mean congestion window of a terminal's connections over its"
                  " upper bound, the 15 largest. Above 1 after a bound became smaller, until the window follows; for"
                  " long only if the bound is not in force.", q.WINDOW_SHARE, unit=SHARE,
                  steps=((None, "transparent"), (1, "red")), links=[links.to_terminal("${__field.labels.terminal}")])
        )
        .with_panel(
            lines("TCP events", "Of all terminals in the cell, as their kernels count them; over a minute.",
                  q.EVENTS, unit=EVENTS, stacked=True)
        )
        .with_panel(
            lines("Decisions", "Bounds, EDCA parameters and limits of windows that were set or released, by their"
                  " first reason.",
                  q.DECISIONS, unit=COUNT, bars=True)
        )
    )  # fmt: skip


def _terminals(made: Dashboard) -> Dashboard:
    to_terminal = links.to_terminal("${__value.text}")
    return (
        made.with_row(row("Terminals"))
        .with_panel(
            rows("Terminals", "Those that are joined to the cell. cwnd is the sum over its connections (conns), min and"
                 " max are bounds of one connection, in segments; reason: why it has none.", q.TERMINALS,
                 key="terminal", w=16, h=10, units={"RTT": SECONDS}, steps={"ratio": RATIO_STEPS},
                 links={"terminal": to_terminal}, sort="ratio")
        )
        .with_panel(
            lines("Terminals without bounds", "By the reason why they have none.", q.NO_BOUNDS, unit=COUNT, h=10,
                  stacked=True)
        )
        .with_panel(
            states("EDCA parameters: why", "uploads: the controller's are in force. Everything else: why the access"
                   " point has its own.", q.EDCA_REASON, w=24, h=4)
        )
        .with_panel(
            states("Windows of stations without an agent: why", "stations_limited: the access point limits some."
                   " Everything else: why it limits none.", q.WINDOWS_REASON, w=24, h=4)
        )
        .with_panel(
            lines("Over the computed windows", "By how much aggregates are longer than computed, which a search finds;"
                  " by how much maxima are larger, beside a station that takes more than its part and has no limit.",
                  q.OVER_COMPUTED, unit=RATIO, w=24, h=6)
        )
    )  # fmt: skip
