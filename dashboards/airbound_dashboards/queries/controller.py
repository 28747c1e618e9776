# SPDX-License-Identifier: Apache-2.0
"""Of the controllers: `$job` and, of these, `$instance`."""

from airbound_dashboards.query import Query

_OF = '{instance=~"$instance"}'
_UP = '{job=~"$job", instance=~"$instance"}'


def _rate(metric: str, by: str, more: str = "") -> str:
    return f'sum by ({by}) (rate({metric}{{instance=~"$instance"{more}}}[$__rate_interval]))'


def _increases(metric: str, by: str) -> str:
    """The most frequent ones; what did not happen is left out."""
    return f"topk(10, sum by ({by}) (increase({metric}{_OF}[$__rate_interval]))) > 0"


def _quantile(quantile: float, metric: str, by: str) -> str:
    rate = _rate(f"{metric}_bucket", f"le, {by}" if by else "le")
    return f"histogram_quantile({quantile}, {rate})"


UP = Query(f"sum(up{_UP})", "up")
DOWN = Query(f"count(up{_UP} == 0) or vector(0)", "down")
STREAMS_NOW = Query(f"sum(airbound_streams{_OF})", "streams")
REPORTS_NOW = Query(f"sum(rate(airbound_reports_total{_OF}[$__rate_interval]))", "reports")
DECISION_NOW = Query(_quantile(0.99, "airbound_control_loop_seconds", "stage"), "{{stage}}")
FAILURES_NOW = Query(f"sum(increase(airbound_failures_total{_OF}[$__range]))", "failures")
VERSION = Query(
    f"count by (version, python) (airbound_build_info{_OF})", "{{version}}, Python {{python}}", instant=True
)

LOOP = (
    Query(_quantile(0.5, "airbound_control_loop_seconds", "stage"), "{{stage}}, median"),
    Query(_quantile(0.99, "airbound_control_loop_seconds", "stage"), "{{stage}}, 99 %"),
)
LOOP_HEAT = Query(
    "sum by (le) (increase(airbound_control_loop_seconds_bucket"
    '{instance=~"$instance", stage="decision"}[$__rate_interval]))',
    "{{le}}",
    format="heatmap",
)
TIMER = Query(_quantile(0.99, "airbound_timer_delay_seconds", "instance"), "{{instance}}")
CPU = Query(_rate("process_cpu_seconds_total", "instance", ', job=~"$job"'), "{{instance}}")
MEMORY = Query(f"max by (instance) (process_resident_memory_bytes{_UP})", "{{instance}}")

REPORTS = Query(_rate("airbound_reports_total", "role"), "{{role}}")
COMMANDS = Query(_rate("airbound_commands_total", "command"), "{{command}}")
STREAMS = Query(f"sum by (instance, role) (airbound_streams{_OF})", "{{role}} at {{instance}}")
OPENED = Query(_increases("airbound_streams_opened_total", "role"), "opened: {{role}}")
CLOSED = Query(_increases("airbound_streams_closed_total", "reason"), "closed: {{reason}}")
REFUSALS = Query(_increases("airbound_refusals_total", "reason"), "{{reason}}")
DECISIONS = Query(
    _increases("airbound_decisions_total", "subject, action, reason"), "{{subject}} {{action}}: {{reason}}"
)

CONNECTIONS = (
    Query(f"sum by (port) (airbound_connections{_OF})", "open: {{port}}"),
    Query(f"sum by (port) (airbound_connections_without_call{_OF})", "without a call: {{port}}"),
    Query(f"max by (port) (airbound_connections_largest_of_address{_OF})", "of one address: {{port}}"),
)
HANDSHAKES = (
    Query(_rate("airbound_handshakes_total", "port"), "begun: {{port}}"),
    Query(f"sum(rate(airbound_handshakes_failed_total{_OF}[$__rate_interval])) or vector(0)", "failed"),
)

STORE_KIND = Query(f"count by (kind) (airbound_store_info{_OF})", "{{kind}}", instant=True)
STORE_CALLS = Query(_rate("airbound_store_call_seconds_count", "call"), "{{call}}")
STORE_LATENCY = Query(f"topk(8, {_quantile(0.99, 'airbound_store_call_seconds', 'call')} >= 0)", "{{call}}")
STORE_ERRORS = Query(_rate("airbound_store_errors_total", "call"), "{{call}}")

OWNED = (
    Query(f"sum by (instance) (airbound_cells_owned{_OF})", "cells owned by {{instance}}"),
    Query(
        f'sum(airbound_streams{{role="access-point", instance=~"$instance"}}) - sum(airbound_cells_owned{_OF})',
        "access points without an owner",
    ),
)
FENCED = Query(_rate("airbound_fenced_total", "instance"), "fenced at {{instance}}")
FAILURES = Query(_rate("airbound_failures_total", "instance"), "failed decisions at {{instance}}")

CONFIGURATION = Query(
    f'count by (hash) (label_replace(airbound_config_info{_OF}, "hash", "$1", "hash", "(.{{12}}).*"))',
    "{{hash}}",
    instant=True,
)
CONFIGURATION_ERRORS = Query(
    f"sum by (instance) (increase(airbound_config_load_errors_total{_OF}[$__range]))", "{{instance}}", instant=True
)
LOG_DROPPED = Query(_rate("airbound_log_lines_dropped_total", "instance"), "log lines at {{instance}}")
OMITTED = Query(f"sum by (kind) (airbound_metrics_omitted{_OF})", "without series: {{kind}}")
SCRAPE = Query(f"max by (instance) (scrape_duration_seconds{_UP})", "{{instance}}")
SAMPLES = Query(f"max by (instance) (scrape_samples_scraped{_UP})", "{{instance}}")
