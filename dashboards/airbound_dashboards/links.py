# SPDX-License-Identifier: Apache-2.0
"""Links between the dashboards; the time range goes with them."""

from grafana_foundation_sdk.builders.dashboard import DashboardLink
from grafana_foundation_sdk.models.dashboard import DashboardLinkType

TAG = "airbound"
CELL, TERMINAL, FLEET, CONTROLLER = "airbound-cell", "airbound-terminal", "airbound-fleet", "airbound-controller"
_CHOSEN = "${__url_time_range}&${datasource:queryparam}"


def to_all() -> DashboardLink:
    """The list of all dashboards."""
    return (
        DashboardLink("Airbound")
        .type(DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(False)
        .include_vars(True)
        .keep_time(True)
    )


def to_cell(label: str) -> DashboardLink:
    """From a series or a row whose `label` is a BSSID."""
    return _link("Cell", f"/d/{CELL}?var-bssid={label}&{_CHOSEN}")


def to_terminal(label: str) -> DashboardLink:
    """From a series or a row whose `label` is a terminal."""
    return _link("Terminal", f"/d/{TERMINAL}?var-terminal={label}&{_CHOSEN}")


def _link(title: str, url: str) -> DashboardLink:
    return DashboardLink(title).type(DashboardLinkType.LINK).url(url)
