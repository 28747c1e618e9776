# SPDX-License-Identifier: Apache-2.0
"""What is marked in every panel at the time when it happened."""

from grafana_foundation_sdk.builders.dashboard import AnnotationQuery

from airbound_dashboards.variables import DATASOURCE

_CELL = (
    'sum by (subject, action, reason) (increase(airbound_cell_decisions_total{bssid="$bssid"}[$__rate_interval])) > 0'
)
_TERMINAL = (
    'sum by (action, reason) (increase(airbound_terminal_decisions_total{terminal="$terminal"}[$__rate_interval])) > 0'
)
_CONTROL_INFO = 'airbound_cell_control_info{bssid="$bssid"}'
_MODE = (  # in force now and not a moment ago, when another one was
    f"max by (mode) ({_CONTROL_INFO}) unless on (mode) max by (mode) ({_CONTROL_INFO} offset $__rate_interval)"
    f" and on () max({_CONTROL_INFO} offset $__rate_interval)"
)
_CONFIGURATION = (
    "1000 * max by (instance, hash)"
    " (airbound_config_applied_timestamp_seconds * on (instance) group_left (hash) airbound_config_info)"
)


def cell_decisions() -> AnnotationQuery:
    """Bounds and EDCA parameters that were set or released in a cell."""
    return _annotation("Decisions", _CELL, "{{subject}} {{action}}", "{{reason}}", "#3274d9")


def terminal_decisions() -> AnnotationQuery:
    """Bounds of a terminal that were set or released."""
    return _annotation("Decisions", _TERMINAL, "bounds {{action}}", "{{reason}}", "#3274d9")


def modes() -> AnnotationQuery:
    """Switches of a cell between observe and control."""
    return _annotation("Mode", _MODE, "mode: {{mode}}", "from here on the cell is in {{mode}}", "#e0752d")


def configurations() -> AnnotationQuery:
    """Configurations that came into force; the value is when, in milliseconds."""
    made = _annotation("Configuration", _CONFIGURATION, "configuration in force", "{{instance}}: {{hash}}", "#8a96a3")
    return made.use_value_for_time(True)


def _annotation(name: str, expr: str, title: str, text: str, color: str) -> AnnotationQuery:
    return (
        AnnotationQuery()
        .name(name)
        .datasource(DATASOURCE)
        .enable(True)
        .icon_color(color)
        .expr(expr)
        .title_format(title)
        .text_format(text)
        .step("")
    )
