# SPDX-License-Identifier: Apache-2.0
"""A check's result as a table and as one line that says all of it."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from airbound.core.bands import BAND_NAMES
from airbound.operator.check.figures import PAIRS_LEAST, per_minute
from airbound.operator.check.run import SETTLED_S, TURN_S
from airbound.operator.printable import printable
from airbound.operator.values import table

if TYPE_CHECKING:
    from airbound.operator.check.figures import Change, Result
    from airbound.v1 import operations_pb2

NO_RESULT = (
    f"fewer than {PAIRS_LEAST} pairs of turns in which somebody sent in both: have two phones or more upload for all of"
    " the time (a browser's speed test again and again, `iperf3 -c SERVER -t 600`), and check again"
)
_REPORT = "`airbound explain CELL` says why bounds are what they are; please report it."


def text(found: Result, cell: operations_pb2.Cell, version: str) -> str:
    """The table, what it means, and the line."""
    (without, with_), (rtt_without, rtt_with) = found.carried_bps, found.rtt_us
    rows = [("carried", f"{without / 1e6:.1f} Mb/s", f"{with_ / 1e6:.1f} Mb/s", changed(found.carried))]
    if found.rtt is not None:
        rows.append(("RTT", f"{rtt_without / 1000:.1f} ms", f"{rtt_with / 1000:.1f} ms", changed(found.rtt)))
        rows.append(("round trips a minute", f"{per_minute(rtt_without):.0f}", f"{per_minute(rtt_with):.0f}", ""))
    heads = ("", "WITHOUT", "WITH AIRBOUND", "CHANGE (95 %)")
    return "\n".join([table(heads, rows), "", verdict(found), "", line(found, cell, version)])


def verdict(found: Result) -> str:
    """Whether it is worth it here."""
    carried, rtt = found.carried.verdict, found.rtt.verdict if found.rtt is not None else 0
    if carried < 0:
        return f"It costs throughput here: {_REPORT}"
    if carried > 0 and rtt > 0:
        return f"More is carried, and round trips are longer: {_REPORT}"
    if carried > 0 or rtt < 0:
        return (
            "It is worth it here: "
            + ("more is carried" if carried > 0 else "no difference in what is carried")
            + (", and round trips are shorter." if rtt < 0 else ".")
        )
    if rtt > 0:
        return f"Round trips are longer with it: {_REPORT}"
    return (
        "No difference was found: with one sender, or a wire that is slower than the air, there is none to find."
        " `airbound explain CELL` says what is limited there, or why nothing is."
    )


def line(found: Result, cell: operations_pb2.Cell, version: str) -> str:
    """All of it, to paste somewhere."""
    band = BAND_NAMES.get(cell.band)
    radio = f"{band} GHz, " if band else ""
    rtt = f", RTT {changed(found.rtt)}" if found.rtt is not None else ""
    return (
        f"airbound {version} check: carried {changed(found.carried)}{rtt}; {radio}policy {printable(cell.policy)},"
        f" {found.senders:.1f} senders of {cell.stations} stations, {found.pairs} pairs of turns of {TURN_S} s,"
        f" {SETTLED_S} s of each not counted"
    )


def changed(change: Change) -> str:
    """In percent, with its interval."""
    if not change.verdict:
        return f"no difference found ({change.low:+.0%} to {change.high:+.0%})"
    return f"{change.mean:+.0%} ({change.low:+.0%} to {change.high:+.0%})"


def as_json(found: Result | None) -> str:
    """The figures; null if there are none."""
    return json.dumps(None if found is None else dataclasses.asdict(found), indent=2)
