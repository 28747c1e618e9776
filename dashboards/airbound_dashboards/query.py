# SPDX-License-Identifier: Apache-2.0
"""One query of a panel: PromQL in which variables of the dashboard may stand, and how its series are called."""

from typing import Literal, NamedTuple

Format = Literal["time_series", "table", "heatmap"]


class Query(NamedTuple):
    """`legend` is Grafana's: `{{label}}` stands for the value of a label. An instant query has one value per series, of
    the end of the time range; all others have one for each step.
    """

    expr: str
    legend: str = ""
    instant: bool = False
    format: Format = "time_series"
