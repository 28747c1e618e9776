# SPDX-License-Identifier: Apache-2.0
"""Of all cells. What is shown of single cells are the `$top` worst, from recording rules: 500 cells cost as many series
as one has.
"""

from airbound_dashboards.query import Query

_RATIO, _WORST = "bssid:airbound_cell_rtt_ratio:median", "bssid:airbound_cell_rtt_ratio:worst"
_RPM, _JAIN = "bssid:airbound_cell_responsiveness_rpm:median", "bssid:airbound_station_uplink_fairness:jain"
_THROUGHPUT = "bssid:airbound_cell_throughput_bytes_per_second:sum"
_AGENTS = '{role=~"access-point|terminal"}'
_NAME = "on (bssid) group_left (ssid, access_point) max by (bssid, ssid, access_point) (airbound_cell_info)"


def _chosen(metric: str, choose: str = "topk") -> str:
    """Series of the $top cells by their mean over the time range. Chosen anew at each step, there would be many more of
    them, each with gaps.
    """
    return f"{metric} and on (bssid) {choose}($top, avg_over_time({metric}[$__range] @ end()))"


CELLS = Query("airbound:cells_connected:count", "cells")
CELLS_LOST = Query("airbound:cells_without_agent:count", "without an agent")
BLOATED = Query("airbound:cells_bloated:count", "bloated")
TERMINALS = Query("sum(airbound_terminals)", "terminals")
SENDERS = Query("airbound:active_senders:sum", "active senders")
THROUGHPUT = Query("8 * airbound:throughput_bytes_per_second:sum", "throughput")
RPM_MEDIAN = Query(f"quantile(0.5, {_RPM})", "RPM")
ALERTS = Query('count(ALERTS{alertname=~"Airbound.*", alertstate="firing"}) or vector(0)', "firing")

RATIO_TOP = Query(_chosen(_RATIO), "{{bssid}}")
RATIO_SPREAD = (
    Query(f"quantile(0.5, {_RATIO})", "half of the cells up to"),
    Query(f"quantile(0.9, {_RATIO})", "90 % up to"),
    Query(f"max({_RATIO})", "largest"),
    Query(f"max({_WORST})", "largest of a terminal"),
)
RPM_BOTTOM = Query(_chosen(_RPM, "bottomk"), "{{bssid}}")
JAIN_BOTTOM = Query(_chosen(_JAIN, "bottomk"), "{{bssid}}")
AIRTIME_TOP = Query(_chosen("bssid:airbound_station_airtime:largest_share"), "{{bssid}}")
THROUGHPUT_TOP = Query(f"8 * ({_chosen(_THROUGHPUT)})", "{{bssid}}")

WORST = (  # of one table: each has cells as rows, the worst by RTT ratio
    Query(f"topk($top, {_RATIO} * {_NAME})", "RTT ratio", instant=True, format="table"),
    Query(f"{_WORST} and on (bssid) topk($top, {_RATIO})", "worst terminal", instant=True, format="table"),
    Query(f"{_RPM} and on (bssid) topk($top, {_RATIO})", "RPM", instant=True, format="table"),
    Query(f"{_JAIN} and on (bssid) topk($top, {_RATIO})", "fairness", instant=True, format="table"),
    Query(
        f"max by (bssid) (airbound_cell_active_senders) and on (bssid) topk($top, {_RATIO})",
        "senders", instant=True, format="table",
    ),
    Query(f"8 * {_THROUGHPUT} and on (bssid) topk($top, {_RATIO})", "throughput", instant=True, format="table"),
)  # fmt: skip
FIRING = Query(
    'max by (alertname, severity, bssid, terminal, instance) (ALERTS{alertname=~"Airbound.*", alertstate="firing"})',
    "alert",
    instant=True,
    format="table",
)

ENROLLED = (
    Query(f"max by (role) (airbound_enrolled{_AGENTS})", "enrolled: {{role}}"),
    Query(f"sum by (role) (airbound_streams{_AGENTS})", "online: {{role}}"),
    Query(f"max by (role) (airbound_enrolled_renewal_overdue{_AGENTS})", "overdue: {{role}}"),
)
CERTIFICATES = Query(
    "min by (certificate) (airbound_certificate_not_after_timestamp_seconds) - time()", "{{certificate}}"
)
VERSIONS = (
    Query("count by (version) (airbound_build_info)", "controller {{version}}", instant=True),
    Query(
        "count by (agent_version) (max by (bssid, agent_version) (airbound_cell_info))",
        "access point {{agent_version}}",
        instant=True,
    ),
    Query(
        "count by (agent_version, back_end) (max by (terminal, agent_version, back_end) (airbound_terminal_info))",
        "terminal {{agent_version}}, {{back_end}}",
        instant=True,
    ),
)
MODES = Query(
    "count by (mode, policy) (max by (bssid, mode, policy) (airbound_cell_control_info))",
    "{{mode}}, {{policy}}",
    instant=True,
)
WITHOUT_BOUNDS = Query("sum by (reason) (airbound_terminals_without_bounds)", "{{reason}}")
DECISIONS = Query(
    "topk(10, sum by (subject, action, reason) (increase(airbound_decisions_total[$__rate_interval]))) > 0",
    "{{subject}} {{action}}: {{reason}}",
)
