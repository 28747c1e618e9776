# SPDX-License-Identifier: Apache-2.0
"""The source paper's policy: a range by the number of active senders (Table 2), another by RTT over minimum RTT
(Table 3), and "the smaller adopted".

The smaller range is the one with the smaller maximum; between equal maxima, the one with the smaller minimum. Both
ends come from the same table, so the minimum is never above the maximum. Beyond the tables' last rows the last row
applies: more than 10 senders count as 10.

The paper's phones had one connection each. A terminal with c sending connections has each end divided by c, not
below 2 (a window of one segment stalls on delayed ACKs) unless the table itself says 1.
"""

import bisect

from airbound.core.parameters import Parameters, TableName
from airbound.core.policy.paper_tables import BY_RATIO, BY_SENDERS, CLASS_B_FROM_US, MaxMin, RttClass
from airbound.core.policy.types import Policy, PolicyInput, Range


class Paper(Policy):
    """The paper's tables, of one of its phones."""

    name = "paper"
    uses_capacity = False
    uses_rtt_ratio = True

    def __init__(self, parameters: Parameters) -> None:
        self._table: TableName = parameters.paper.table

    @property
    def title(self) -> str:
        """With the phone that the table is of."""
        return f"{self.name}, table {self._table}"

    def decide(self, given: PolicyInput) -> Range:
        """The smaller of the two tables' ranges, for each connection."""
        cls = rtt_class(given.min_rtt_us)
        _, table_3 = by_ratio(self._table, cls, given.rtt_ratio)
        adopted = min(by_senders(self._table, cls, given.active_senders), table_3)  # (max, min): by maximum first
        max_segs, min_segs = (min(segs, max(2, segs // given.connections)) for segs in adopted)
        return Range(min_segs, max_segs)

    def formula(self, given: PolicyInput) -> str:
        """Both rows and which is adopted."""
        table, cls, n = self._table, rtt_class(given.min_rtt_us), given.active_senders
        table_2 = by_senders(table, cls, n)
        from_ratio, table_3 = by_ratio(table, cls, given.rtt_ratio)
        source = "Table 2" if min(table_2, table_3) == table_2 else "Table 3"
        among = f" / {given.connections} connections" if given.connections > 1 else ""
        return (
            f"{table} class {cls} (min RTT {given.min_rtt_us / 1000:.1f} ms):"
            f" Table 2 n={n} {table_2[0]}/{table_2[1]}, Table 3 ratio {given.rtt_ratio:.1f} (from {from_ratio})"
            f" {table_3[0]}/{table_3[1]}; adopted {source}{among}"
        )


def rtt_class(min_rtt_us: int) -> RttClass:
    """A below 100 ms of minimum RTT, B from there on."""
    return "B" if min_rtt_us >= CLASS_B_FROM_US else "A"


def by_senders(table: TableName, cls: RttClass, active_senders: int) -> MaxMin:
    """Table 2."""
    rows = BY_SENDERS[table, cls]
    return rows[min(max(active_senders, 1), len(rows)) - 1]


def by_ratio(table: TableName, cls: RttClass, ratio: float) -> tuple[int, MaxMin]:
    """Table 3: the ratio from which the row applies, and the row."""
    rows = BY_RATIO[table, cls]
    return rows[max(0, bisect.bisect_right(rows, ratio, key=lambda row: row[0]) - 1)]
