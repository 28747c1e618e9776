# SPDX-License-Identifier: Apache-2.0
"""A check's result in words: whether it is worth it, and one line that says all of it. Made once, for the command and
for an access point's page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from airbound.core.check.course import SETTLED_S, TURN_S

if TYPE_CHECKING:
    from airbound.core.check.figures import Change, Result

_REPORT = "`airbound explain CELL` says why bounds are what they are; please report it."


class Checked(NamedTuple):
    """What was checked, for the line."""

    band: str  # "5", in GHz; empty if it is not known
    policy: str
    stations: int
    version: str  # of the controller


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


def line(found: Result, checked: Checked) -> str:
    """All of it, to paste somewhere."""
    radio = f"{checked.band} GHz, " if checked.band else ""
    rtt = f", RTT {changed(found.rtt)}" if found.rtt is not None else ""
    return (
        f"airbound {checked.version} check: carried {changed(found.carried)}{rtt}; {radio}policy {checked.policy},"
        f" {found.senders:.1f} senders of {checked.stations} stations, {found.pairs} pairs of turns of {TURN_S} s,"
        f" {SETTLED_S} s of each not counted"
    )


def changed(change: Change) -> str:
    """In percent, with its interval."""
    if not change.verdict:
        return f"no difference found ({change.low:+.0%} to {change.high:+.0%})"
    return f"{change.mean:+.0%} ({change.low:+.0%} to {change.high:+.0%})"
