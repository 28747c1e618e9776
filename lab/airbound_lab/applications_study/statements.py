# SPDX-License-Identifier: Apache-2.0
"""What the paper states, and whether it is so here; pure."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airbound_lab.applications_study import published
from airbound_lab.applications_study.design import PHONES
from airbound_lab.settings.application import Photos

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airbound_lab.applications_study.measures import Alone, Video

FLAT_SHARE = 0.8
"""A throughput that falls by less has no large difference."""
NEAR = 2.0
"""Times what is needed: near it."""
MOST = 0.5


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that the paper states."""

    figure: str
    stated: str
    measured: str
    agrees: bool


def of_alone(found: Mapping[str, Alone]) -> list[Statement]:
    """Section 6, by the application's name."""
    statements = []
    for name, figure in (("live", "Fig 4"), ("file", "Fig 5")):
        if one := found.get(name):
            text = f"{'settles' if one.settled else 'does not settle'}, at most {one.cwnd_max_segs}"
            statements.append(Statement(figure, f"{name}: the window rises soon, then stays", text, one.settled))
    falls = Photos().count - 1
    for name, one in found.items():
        if name.startswith("photos"):
            text = f"{one.falls} times at its initial value again"
            statements.append(Statement("Fig 6", f"{name}: falls after each of ten", text, one.falls >= falls))
    return statements


def of_throughput(tcp: Mapping[int, float], udp: Mapping[int, float]) -> list[Statement]:
    """Section 7.1: Mb/s of the TCP phone by the number of phones, from 3 phones on."""
    statements = []
    beside_tcp, beside_udp = (
        {n: mbps for n, mbps in sorted(found.items()) if published.FEWEST_PHONES <= n <= PHONES} for found in (tcp, udp)
    )
    if len(beside_tcp) > 1:
        low, high = min(beside_tcp.values()), max(beside_tcp.values())
        text = f"{low:.2f} to {high:.2f} Mb/s"
        statements.append(Statement("Fig 8", "beside TCP: no large difference", text, low >= FLAT_SHARE * high))
    if len(beside_udp) > 1:
        values = list(beside_udp.values())
        falls = all(after <= before for before, after in itertools.pairwise(values))
        text = ", ".join(f"{mbps:.2f}" for mbps in values)
        statements.append(Statement("Fig 8", "beside UDP: the lower, the more phones", f"{text} Mb/s", falls))
    if PHONES in beside_udp:
        mbps = beside_udp[PHONES]
        stated = f"beside 7 with UDP: near the least that live video needs, {published.NEEDED_MBPS:g} Mb/s"
        near = published.NEEDED_MBPS / NEAR <= mbps <= published.NEEDED_MBPS * NEAR
        statements.append(Statement("Fig 8", stated, f"{mbps:.2f} Mb/s", near))
    return statements


def of_video(sender: str, trials: Sequence[Video]) -> list[Statement]:
    """Section 7.2, of one kind of sender."""
    if not trials:
        return []
    so = sum(published.FEW <= trial.total <= published.MANY for trial in trials)
    stated = f"{sender}: {published.FEW} to {published.MANY} interruptions in most trials"
    unsettled = sum(not trial.settled for trial in trials)
    return [
        Statement("table 2", stated, f"in {so} of {len(trials)}", so > MOST * len(trials)),
        Statement(
            "Fig 12", f"{sender}: the window does not settle", f"in {unsettled} of {len(trials)}",
            unsettled > MOST * len(trials),
        ),
    ]  # fmt: skip


def rows(statements: Sequence[Statement]) -> list[list[str]]:
    """Heading and a row for each statement."""
    return [["", "stated", "measured", "agrees"]] + [
        [each.figure, each.stated, each.measured, "yes" if each.agrees else "NO"] for each in statements
    ]
