# SPDX-License-Identifier: Apache-2.0
"""Of one terminal: `$terminal`."""

from airbound_dashboards.query import Query

_OF = '{terminal="$terminal"}'
_STATION = 'max by (instance, bssid, station) (airbound_station_info{terminal="$terminal"})'


def _gauge(metric: str) -> str:
    return f"max by (terminal) ({metric}{_OF})"


CELL = Query(f"max by (bssid) (airbound_terminal_info{_OF})", "{{bssid}}", instant=True)
AGENT = Query(
    f"max by (back_end, agent_version) (airbound_terminal_info{_OF})", "{{back_end}}, {{agent_version}}", instant=True
)
THROUGHPUT = Query(
    f"8 * sum by (terminal) (rate(airbound_terminal_delivered_bytes_total{_OF}[$__rate_interval]))", "acknowledged"
)
RATIO = Query(_gauge("airbound_terminal_rtt_ratio"), "RTT over minimum")
RTT = (
    Query(_gauge("airbound_terminal_rtt_seconds"), "smoothed RTT"),
    Query(_gauge("airbound_terminal_min_rtt_seconds"), "minimum RTT"),
)
RPM = Query(f"60 / {_gauge('airbound_terminal_rtt_seconds')}", "RPM")
IN_FORCE = Query(_gauge("airbound_terminal_bounds_in_force"), "bounds in force")
EXEMPT = Query(_gauge("airbound_terminal_exempt"), "exempt")
SENDS = Query(_gauge("airbound_terminal_active_sender"), "active sender")
WINDOW = (
    Query(
        f"max by (terminal) (airbound_terminal_cwnd_segments{_OF} / (airbound_terminal_connections{_OF} > 0))",
        "window of a connection, mean",
    ),
    Query(_gauge("airbound_terminal_cwnd_max_segments"), "upper bound"),
    Query(_gauge("airbound_terminal_cwnd_min_segments"), "lower bound"),
)
QUEUED = Query(_gauge("airbound_terminal_queued_bytes"), "unsent and unacknowledged")
CONNECTIONS = (
    Query(_gauge("airbound_terminal_connections"), "open"),
    Query(_gauge("airbound_terminal_sending_connections"), "sending"),
)
CLASSES = (
    Query(
        f"8 * sum by (class) (rate(airbound_terminal_class_delivered_bytes_total{_OF}[$__rate_interval]))", "{{class}}"
    ),
    Query(
        f"8 * (sum by (terminal) (rate(airbound_terminal_delivered_bytes_total{_OF}[$__rate_interval]))"
        f" - sum by (terminal) (rate(airbound_terminal_class_delivered_bytes_total{_OF}[$__rate_interval])))",
        "default",
    ),
)
EVENTS = Query(f"sum by (event) (rate(airbound_terminal_tcp_events_total{_OF}[$__rate_interval]))", "{{event}}")
ARRIVALS = (
    Query(f"sum by (terminal) (increase(airbound_terminal_arrivals_total{_OF}[$__rate_interval]))", "arrivals"),
    Query(
        f"sum by (terminal) (increase(airbound_terminal_arrival_waiting_connections_total{_OF}[$__rate_interval]))",
        "connections that waited",
    ),
    Query(
        f"sum by (terminal) (increase(airbound_terminal_arrival_retransmissions_total{_OF}[$__rate_interval]))",
        "retransmitted at once",
    ),
    Query(
        f"sum by (terminal) (increase(airbound_terminal_arrival_silent_downloads_total{_OF}[$__rate_interval]))",
        "downloads that had stopped",
    ),
    Query(
        f"sum by (terminal) (increase(airbound_terminal_arrival_resumed_downloads_total{_OF}[$__rate_interval]))",
        "downloads that went on",
    ),
)
SILENCE = (
    Query(_gauge("airbound_terminal_arrival_last_silence_seconds"), "after the last arrival"),
    Query(
        f"sum by (terminal) (increase(airbound_terminal_arrival_silence_seconds_total{_OF}[$__rate_interval]))"
        f" / sum by (terminal) (increase(airbound_terminal_arrival_answers_total{_OF}[$__rate_interval]))",
        "mean of those in this interval",
    ),
)
DECISIONS = Query(
    f"sum by (action, reason) (increase(airbound_terminal_decisions_total{_OF}[$__rate_interval])) > 0",
    "{{action}}: {{reason}}",
)
DECISIONS_TABLE = Query(
    f"sort_desc(sum by (action, reason) (increase(airbound_terminal_decisions_total{_OF}[$__range])) > 0)",
    "times",
    instant=True,
    format="table",
)
NO_BOUNDS = Query(f"max by (reason) (airbound_terminal_no_bounds_info{_OF})", "{{reason}}")
LEASE = (
    Query(_gauge("airbound_terminal_lease_seconds"), "lease, seconds left"),
    Query(f"min by (terminal) (airbound_terminal_report_age_seconds{_OF})", "age of the last report"),
)
AIRTIME = Query(
    "sum by (direction) (rate(airbound_station_airtime_seconds_total[$__rate_interval])"
    f" and on (instance, bssid, station) {_STATION})",
    "{{direction}}",
)
PHY_RATE = Query(
    f"8 * max by (direction) (airbound_station_phy_rate_bytes_per_second and on (instance, bssid, station) {_STATION})",
    "{{direction}}",
)
SIGNAL = Query(f"max(airbound_station_signal_dbm and on (instance, bssid, station) {_STATION})", "signal")
ERRORS = (
    Query(f"sum by (terminal) (rate(airbound_terminal_refusals_total{_OF}[$__rate_interval]))", "refused reports"),
    Query(f"sum by (terminal) (rate(airbound_terminal_failures_total{_OF}[$__rate_interval]))", "failed decisions"),
    Query(
        f"sum by (terminal) (rate(airbound_terminal_malformed_inputs_total{_OF}[$__rate_interval]))",
        "input that its agent refused",
    ),
)
