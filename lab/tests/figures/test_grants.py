# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from airbound import reason_text
from airbound_lab.figures import grants
from airbound_lab.figures.grants import Grants, Refusal

PHONES = {"10.0.0.11": 1, "10.0.0.12": 2, "10.0.0.13": 3}
AIR = reason_text.sentence({"code": "live_air", "before": 0.28, "after": 0.42, "limit": 0.4})
FALSE = reason_text.sentence({"code": "takes_all", "limit": 60.0})


def line(name: str, what: str, kind: str = "flows") -> str:
    return f"2026-11-27T12:00:00.123Z info {kind} {name}: {what}\n"


def test_who_was_granted_and_whom_it_was_refused() -> None:
    log = (
        line("10.0.0.11", "uid 10001 to 10.0.4.1 as video 8.0 % of the air admitted: the category for video")
        + line("10.0.0.12", AIR)
        + line("10.0.0.13", "uid 10003 to 10.0.4.1 as video: the category for video")
        + line("10.0.0.13", f"released: {FALSE}")
        + line("10.0.0.13", f"released: {AIR}")
    )
    assert grants.parse(log, PHONES) == Grants((1, 3), (Refusal(2, AIR), Refusal(3, FALSE)))


def test_other_lines_say_nothing_of_it() -> None:
    log = (
        line("10.0.0.11", "all to all UDP at 3.5 Mb/s: UDP has 3.5 Mb/s")
        + line("10.0.0.12", "released: no live flow")
        + line("10.0.0.99", AIR)
        + line("10.0.0.11", "1..12 segs to 10.0.4.1: as video", kind="bounds")
        + "Traceback (most recent call last):\n"
    )
    assert grants.parse(log, PHONES) == Grants()
