# SPDX-License-Identifier: Apache-2.0
"""The dashboards: which panels, where, and what they say."""

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync

from airbound_dashboards import links


def board(title: str, uid: str, description: str) -> Dashboard:
    """An empty one."""
    return (
        Dashboard(f"Airbound / {title}")
        .uid(uid)
        .description(description)
        .tags([links.TAG])
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .time("now-30m", "now")
        .refresh("10s")
        .timezone("browser")
        .readonly()
        .link(links.to_all())
    )
