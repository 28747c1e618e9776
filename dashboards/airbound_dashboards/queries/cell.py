# SPDX-License-Identifier: Apache-2.0
"""Of one cell: `$bssid`."""

from airbound_dashboards.query import Query

_OF_CELL = 'and on (instance, terminal) airbound_terminal_info{bssid="$bssid"}'


def _gauge(metric: str, more: str = "") -> str:
    return f'max by (bssid) ({metric}{{bssid="$bssid"{more}}})'


def _of_stations(expr: str) -> str:
    """The largest ones, with the name of the terminal that a station is, where it is one."""
    info = 'max by (station, terminal) (airbound_station_info{bssid="$bssid"})'
    return f"topk(15, {expr} * on (station) group_left (terminal) {info})"


NAME = Query(
    'max by (ssid, access_point, agent_version) (airbound_cell_info{bssid="$bssid"})', "{{ssid}}", instant=True
)
CONTROL = Query(
    'max by (mode, policy) (airbound_cell_control_info{bssid="$bssid"})', "{{mode}}, {{policy}}", instant=True
)
THROUGHPUT_NOW = Query('8 * bssid:airbound_cell_throughput_bytes_per_second:sum{bssid="$bssid"}', "throughput")
SENDERS_NOW = Query(_gauge("airbound_cell_active_senders"), "senders")
RATIO_NOW = Query('bssid:airbound_cell_rtt_ratio:median{bssid="$bssid"}', "RTT ratio")
RPM_NOW = Query('bssid:airbound_cell_responsiveness_rpm:median{bssid="$bssid"}', "RPM")
FAIRNESS_NOW = Query('bssid:airbound_station_uplink_fairness:jain{bssid="$bssid"}', "fairness")
BUSY_NOW = Query(_gauge("airbound_cell_busy_ratio"), "busy")

THROUGHPUT = (
    Query(f"8 * {_gauge('airbound_cell_uplink_bytes_per_second')}", "uplink"),
    Query(f"8 * {_gauge('airbound_cell_downlink_bytes_per_second')}", "downlink"),
    Query(f"8 * {_gauge('airbound_cell_capacity_bytes_per_second')}", "estimated capacity"),
)
UPLINK_SPLIT = Query(
    _of_stations('8 * max by (station) (airbound_station_uplink_bytes_per_second{bssid="$bssid"})'),
    "{{terminal}} {{station}}",
)
BUSY = (
    Query(_gauge("airbound_cell_busy_ratio"), "channel busy"),
    Query('bssid:airbound_cell_capacity_used:ratio{bssid="$bssid"}', "used of the estimated capacity"),
    Query(_gauge("airbound_cell_uplink_share_ratio"), "uplink's share of the payload"),
)
AIRTIME = Query(
    _of_stations('max by (station) (bssid_station:airbound_station_airtime_seconds:rate1m{bssid="$bssid"})'),
    "{{terminal}} {{station}}",
)
SENDERS = (
    Query(_gauge("airbound_cell_active_senders"), "active senders"),
    Query(_gauge("airbound_cell_active_receivers"), "active receivers"),
    Query(_gauge("airbound_cell_terminals"), "terminals"),
    Query(_gauge("airbound_cell_bounded_terminals"), "terminals with bounds"),
)
RATIO_HEAT = Query(f"max by (terminal) (airbound_terminal_rtt_ratio {_OF_CELL})", "{{terminal}}")
RTT = (
    Query(_gauge("airbound_cell_rtt_seconds", ', quantile="0.5"'), "RTT, median of the terminals"),
    Query(_gauge("airbound_cell_rtt_seconds", ', quantile="1"'), "RTT, largest"),
)
FAIRNESS = Query('bssid:airbound_station_uplink_fairness:jain{bssid="$bssid"}', "Jain's index")
WINDOW_SHARE = Query('topk(15, bssid_terminal:airbound_terminal_window_of_bound:ratio{bssid="$bssid"})', "{{terminal}}")
# Terminals' metrics have no BSSID: to join 5,000 of them at each step would take seconds, so a rule does it.
EVENTS = Query('max by (event) (bssid_event:airbound_terminal_tcp_events:rate1m{bssid="$bssid"})', "{{event}}")
DECISIONS = Query(
    'sum by (subject, action, reason) (increase(airbound_cell_decisions_total{bssid="$bssid"}[$__rate_interval])) > 0',
    "{{subject}} {{action}}: {{reason}}",
)
NO_BOUNDS = Query(f"count by (reason) (airbound_terminal_no_bounds_info {_OF_CELL})", "{{reason}}")
EDCA = (
    Query(_gauge("airbound_cell_edca_in_force"), "controller's parameters in force"),
    Query(_gauge("airbound_cell_edca_lease_seconds"), "lease, seconds left"),
)
WINDOWS = (
    Query(_gauge("airbound_cell_stations_without_agent"), "stations without an agent that send"),
    Query(_gauge("airbound_cell_limited_stations"), "of them limited"),
    Query(_gauge("airbound_cell_window_limits_in_force"), "limits in force"),
)
LIVE = (
    Query(_gauge("airbound_cell_live_flows"), "live flows"),
    Query(_gauge("airbound_cell_live_flows_granted"), "of them with the category for video"),
    Query(_gauge("airbound_cell_live_flows_short"), "of them short of what they send"),
    Query(_gauge("airbound_cell_priorities_closed"), "category closed for all"),
)
LIVE_AIR = Query(_gauge("airbound_cell_live_air_ratio"), "air of granted flows")
OVER_COMPUTED = (
    Query(_gauge("airbound_cell_aggregates_ratio"), "aggregates"),
    Query(_gauge("airbound_cell_maxima_ratio"), "maxima"),
)
WINDOWS_REASON = Query('max by (reason) (airbound_cell_windows_info{bssid="$bssid"})', "{{reason}}")
EDCA_REASON = Query('max by (reason) (airbound_cell_edca_info{bssid="$bssid"})', "{{reason}}")


def _station(metric: str, legend: str) -> Query:
    return Query(f'max by (station) ({metric}{{bssid="$bssid"}})', legend, instant=True, format="table")


STATIONS = (  # of one table: each has the stations as rows, with an agent or without
    Query('max by (station, terminal) (airbound_station_info{bssid="$bssid"})', "", instant=True, format="table"),
    _station("airbound_station_active_sender", "sends"),
    Query(
        '8 * max by (station) (airbound_station_uplink_bytes_per_second{bssid="$bssid"})',
        "uplink",
        instant=True,
        format="table",
    ),
    _station("bssid_station:airbound_station_airtime_seconds:rate1m", "air"),
    _station("airbound_station_rtt_seconds", "RTT"),
    _station("airbound_station_signal_dbm", "signal"),
    Query(
        '8 * max by (station) (airbound_station_phy_rate_bytes_per_second{bssid="$bssid", direction="uplink"})',
        "PHY up",
        instant=True,
        format="table",
    ),
    Query(
        '8 * max by (station) (airbound_station_phy_rate_bytes_per_second{bssid="$bssid", direction="downlink"})',
        "PHY down",
        instant=True,
        format="table",
    ),
    Query(
        'max by (station) (rate(airbound_station_retries_total{bssid="$bssid"}[$__rate_interval]))',
        "retries/s",
        instant=True,
        format="table",
    ),
    _station("airbound_station_limit_bytes", "limit"),
    Query(
        'max by (station, reason) (airbound_station_unlimited_seconds{bssid="$bssid"})',
        "no limit for",
        instant=True,
        format="table",
    ),
)


def _by_mode(what: str, legend: str) -> Query:
    return Query(what, legend, instant=True, format="table")


_CARRIED = 'bssid_mode:airbound_cell_throughput_bytes_per_second:while_several_send{bssid="$bssid"}[$__range]'
_RTT_OF_MODE = 'bssid_mode:airbound_cell_rtt_seconds:while_several_send{bssid="$bssid"}[$__range]'
MODES = (  # of one table: each has the modes as rows
    _by_mode(f"8 * max by (mode) (avg_over_time({_CARRIED}))", "throughput"),
    _by_mode(f"max by (mode) (quantile_over_time(0.5, {_RTT_OF_MODE}))", "RTT, median"),
    _by_mode(f"max by (mode) (quantile_over_time(0.95, {_RTT_OF_MODE}))", "RTT, 95 %"),
    _by_mode(
        f"max by (mode) (count_over_time({_CARRIED})) / on () group_left () sum(count_over_time({_CARRIED}))",
        "of the time",
    ),
)
# A cell carries more, with longer round trips, the more stations send. So two times are compared by the number of
# senders: what was measured in the one, over what the other one's means by that number give for the same seconds,
#     change = sum over n of (total of n) / sum over n of (samples of n * mean of n at the other time) - 1
# Numbers of senders that only one of the times had are left out.
_BY_SENDERS = "bssid_mode_senders:airbound_cell_{}:while_several_send"
_CARRIED_BY_SENDERS = _BY_SENDERS.format("throughput_bytes_per_second")
_RTT_BY_SENDERS = _BY_SENDERS.format("rtt_seconds")
_THIS_HOUR, _YESTERDAY = "[1h]", "[1h] offset 1d"


def _total(record: str, mode: str, time: str) -> str:
    return f'sum by (senders) (sum_over_time({record}{{bssid="$bssid"{mode}}}{time}))'


def _samples(record: str, mode: str, time: str) -> str:
    return f'sum by (senders) (count_over_time({record}{{bssid="$bssid"{mode}}}{time}))'


def _change(record: str, now: tuple[str, str], then: tuple[str, str]) -> str:
    """By the formula above; `now` and `then` are each a selector of modes and a time."""
    mean_then = f"({_total(record, *then)} / {_samples(record, *then)})"
    expected = f"sum({_samples(record, *now)} * on (senders) {mean_then})"
    measured = f"sum({_total(record, *now)} and on (senders) {_samples(record, *then)})"
    return f"round({measured} / {expected} - 1, 0.01)"  # else a little less than nothing is -0 %


_CONTROL, _OBSERVE = (', mode="control"', "[$__range]"), (', mode="observe"', "[$__range]")
CARRIED_BY_CONTROL = Query(_change(_CARRIED_BY_SENDERS, _CONTROL, _OBSERVE), "carried", instant=True)
RTT_BY_CONTROL = Query(_change(_RTT_BY_SENDERS, _CONTROL, _OBSERVE), "RTT", instant=True)
CARRIED_SINCE_YESTERDAY = Query(
    _change(_CARRIED_BY_SENDERS, ("", _THIS_HOUR), ("", _YESTERDAY)), "carried", instant=True
)
RTT_SINCE_YESTERDAY = Query(_change(_RTT_BY_SENDERS, ("", _THIS_HOUR), ("", _YESTERDAY)), "RTT", instant=True)


def _of_hours(numerator: str, denominator: str, legend: str, factor: str = "") -> Query:
    """Of this hour, and of the same hour of yesterday; TIME stands for either."""
    each = [
        f"label_replace({factor}(sum({numerator.replace('TIME', time)}) or vector(0))"
        f' / sum({denominator.replace("TIME", time)}), "hour", "{name}", "", "")'
        for name, time in (("the last hour", _THIS_HOUR), ("the same of yesterday", _YESTERDAY))
    ]
    return Query(" or ".join(each), legend, instant=True, format="table")


def _mean(record: str, legend: str, factor: str = "") -> Query:
    selected = f'{record}{{bssid="$bssid"}}TIME'
    return _of_hours(f"sum_over_time({selected})", f"count_over_time({selected})", legend, factor)


_ANY_CARRIED = f'count_over_time({_CARRIED_BY_SENDERS}{{bssid="$bssid"}}TIME)'
HOURS = (  # of one table: each has the two hours as rows
    _mean(_CARRIED_BY_SENDERS, "throughput", "8 * "),
    _mean(_RTT_BY_SENDERS, "RTT, mean"),
    _mean("bssid_mode:airbound_cell_active_senders:while_several_send", "senders, mean"),
    _of_hours(f'count_over_time({_CARRIED_BY_SENDERS}{{bssid="$bssid", mode="control"}}TIME)', _ANY_CARRIED,
              "in control"),
    _of_hours(_ANY_CARRIED, 'count_over_time(bssid:airbound_cell_throughput_bytes_per_second:sum{bssid="$bssid"}TIME)',
              "of the hour"),
)  # fmt: skip
COMPARED = Query(
    f"sum({_samples(_CARRIED_BY_SENDERS, '', _THIS_HOUR)} and on (senders)"
    f" {_samples(_CARRIED_BY_SENDERS, '', _YESTERDAY)}) / sum({_samples(_CARRIED_BY_SENDERS, '', _THIS_HOUR)})",
    "compared",
    instant=True,
)
TERMINALS = (  # of one table: each has the terminals as rows
    Query(f"max by (terminal) (airbound_terminal_active_sender {_OF_CELL})", "sends", instant=True, format="table"),
    Query(f"max by (terminal) (airbound_terminal_rtt_seconds {_OF_CELL})", "RTT", instant=True, format="table"),
    Query(f"max by (terminal) (airbound_terminal_rtt_ratio {_OF_CELL})", "ratio", instant=True, format="table"),
    Query(f"max by (terminal) (airbound_terminal_cwnd_segments {_OF_CELL})", "cwnd", instant=True, format="table"),
    Query(f"max by (terminal) (airbound_terminal_connections {_OF_CELL})", "conns", instant=True, format="table"),
    Query(f"max by (terminal) (airbound_terminal_cwnd_min_segments {_OF_CELL})", "min", instant=True, format="table"),
    Query(f"max by (terminal) (airbound_terminal_cwnd_max_segments {_OF_CELL})", "max", instant=True, format="table"),
    Query(
        f"max by (terminal) (airbound_terminal_bounds_in_force {_OF_CELL})", "in force", instant=True, format="table"
    ),
    Query(f"max by (terminal, reason) (airbound_terminal_no_bounds_info {_OF_CELL})", "", instant=True, format="table"),
)
