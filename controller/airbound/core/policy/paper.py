# SPDX-License-Identifier: Apache-2.0
"""The source paper's policy: a range by the number of active senders (Table 2), another by RTT over minimum RTT
(Table 3), and "the smaller adopted".

The smaller range is the one with the smaller maximum; between equal maxima, the one with the smaller minimum. Both
ends come from the same table, so the minimum is never above the maximum. Beyond the tables' last rows the last row
holds: more than 10 senders count as 10.

The paper's phones had one connection each. A terminal with c sending connections has each end divided by c, not
below 2 (a window of one segment stalls on delayed ACKs) unless the table itself says 1.
"""

import bisect

from airbound.core.parameters import Generation
from airbound.core.policy.paper_tables import BY_RATIO, BY_SENDERS, CLASS_B_FROM_US, MaxMin, RttClass
from airbound.core.policy.situation import Situation, Verdict


def rtt_class(min_rtt_us: int) -> RttClass:
    """A below 100 ms of minimum RTT, B from there on."""
    return "B" if min_rtt_us >= CLASS_B_FROM_US else "A"


def by_senders(generation: Generation, cls: RttClass, active_senders: int) -> MaxMin:
    """Table 2."""
    rows = BY_SENDERS[generation, cls]
    return rows[min(max(active_senders, 1), len(rows)) - 1]


def by_ratio(generation: Generation, cls: RttClass, ratio: float) -> tuple[int, MaxMin]:
    """Table 3: the ratio from which the row applies, and the row."""
    rows = BY_RATIO[generation, cls]
    return rows[max(0, bisect.bisect_right(rows, ratio, key=lambda row: row[0]) - 1)]


def decide(situation: Situation, generation: Generation) -> Verdict:
    """The smaller of the two tables' ranges, for each connection."""
    cls = rtt_class(situation.min_rtt_us)
    n = situation.active_senders
    table_2 = by_senders(generation, cls, n)
    from_ratio, table_3 = by_ratio(generation, cls, situation.ratio)
    adopted = min(table_2, table_3)  # pairs (max, min): by maximum, then by minimum
    source = "Table 2" if adopted == table_2 else "Table 3"
    connections = max(1, situation.connections)
    max_segs, min_segs = (min(segs, max(2, segs // connections)) for segs in adopted)
    among = f" / {connections} connections" if connections > 1 else ""
    return Verdict(
        min_segs,
        max_segs,
        f"{generation} class {cls} (min RTT {situation.min_rtt_us / 1000:.1f} ms):"
        f" Table 2 n={n} {table_2[0]}/{table_2[1]}, Table 3 ratio {situation.ratio:.1f} (from {from_ratio})"
        f" {table_3[0]}/{table_3[1]}; adopted {source}{among}",
    )
