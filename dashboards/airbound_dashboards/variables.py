# SPDX-License-Identifier: Apache-2.0
"""What can be chosen at the top of a dashboard."""

from grafana_foundation_sdk.builders.dashboard import CustomVariable, DatasourceVariable, QueryVariable
from grafana_foundation_sdk.models.common import DataSourceRef
from grafana_foundation_sdk.models.dashboard import VariableOption, VariableRefresh, VariableSort

DATASOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")

# A cell is chosen by what people call it. Labels come in alphabetical order: "bssid" is before "name".
_CELL_NAMES = (
    "label_join(max by (bssid, ssid, access_point) (airbound_cell_info),"
    ' "name", " | ", "ssid", "access_point", "bssid")'
)
_CELL_REGEX = r'/bssid="(?<value>[^"]+)".*name="(?<text>[^"]*)"/'


def datasource() -> DatasourceVariable:
    """Which Prometheus."""
    return DatasourceVariable("datasource").label("Data source").type("prometheus")


def cell() -> QueryVariable:
    """One cell: its BSSID, shown as network, access point and BSSID."""
    return _query("bssid", "Cell", f"query_result({_CELL_NAMES})").regex(_CELL_REGEX)


def terminal() -> QueryVariable:
    """One terminal, of the cells that are chosen."""
    return _query("terminal", "Terminal", 'label_values(airbound_terminal_info{bssid=~"$of_cell"}, terminal)')


def cells_of_terminals() -> QueryVariable:
    """Whose terminals are offered: with thousands of terminals, first choose a cell."""
    variable = _query("of_cell", "Terminals of cell", "label_values(airbound_terminal_info, bssid)")
    return variable.include_all(True).all_value(".*").current(_ALL)


def job() -> QueryVariable:
    """Prometheus's jobs that scrape controllers."""
    return _several("job", "Job", "label_values(airbound_build_info, job)")


def controller() -> QueryVariable:
    """Controllers, as Prometheus calls them."""
    return _several("instance", "Controller", 'label_values(airbound_build_info{job=~"$job"}, instance)')


def top() -> CustomVariable:
    """How many cells are shown one by one."""
    return (
        CustomVariable("top").label("Cells shown").values("5,10,20,50").current(VariableOption(text="10", value="10"))
    )


_ALL = VariableOption(selected=True, text="All", value="$__all")


def _query(name: str, label: str, query: str) -> QueryVariable:
    return (
        QueryVariable(name)
        .label(label)
        .datasource(DATASOURCE)
        .query({"query": query, "refId": name})
        .definition(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.NATURAL_ASC)
    )


def _several(name: str, label: str, query: str) -> QueryVariable:
    return _query(name, label, query).multi(True).include_all(True).all_value(".*").current(_ALL)
