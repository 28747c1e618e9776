# SPDX-License-Identifier: Apache-2.0
"""A check's result as a table with what it means, and as JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from airbound.core.bands import BAND_NAMES
from airbound.core.check.figures import PAIRS_LEAST, per_minute
from airbound.core.check.sentences import Checked, changed, line, verdict
from airbound.operator.printable import printable
from airbound.operator.values import table

if TYPE_CHECKING:
    from airbound.core.check.figures import Result
    from airbound.v1 import operations_pb2

NO_RESULT = (
    f"fewer than {PAIRS_LEAST} pairs of turns in which somebody sent in both: have two phones or more upload for all of"
    " the time (a browser's speed test again and again, `iperf3 -c SERVER -t 600`), and check again"
)


def text(found: Result, cell: operations_pb2.Cell, version: str) -> str:
    """The table, what it means, and the line."""
    (without, with_), (rtt_without, rtt_with) = found.carried_bps, found.rtt_us
    rows = [("carried", f"{without / 1e6:.1f} Mb/s", f"{with_ / 1e6:.1f} Mb/s", changed(found.carried))]
    if found.rtt is not None:
        rows.append(("RTT", f"{rtt_without / 1000:.1f} ms", f"{rtt_with / 1000:.1f} ms", changed(found.rtt)))
        rows.append(("round trips a minute", f"{per_minute(rtt_without):.0f}", f"{per_minute(rtt_with):.0f}", ""))
    heads = ("", "WITHOUT", "WITH AIRBOUND", "CHANGE (95 %)")
    checked = Checked(BAND_NAMES.get(cell.band, ""), printable(cell.policy), cell.stations, version)
    return "\n".join([table(heads, rows), "", verdict(found), "", line(found, checked)])


def as_json(found: Result | None) -> str:
    """The figures; null if there are none."""
    return json.dumps(None if found is None else dataclasses.asdict(found), indent=2)
