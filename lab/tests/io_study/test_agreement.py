# SPDX-License-Identifier: Apache-2.0
"""Two records of the same requests."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.errors import LabError, UsageError
from airbound_lab.io_study import agreement
from airbound_lab.io_study.design import Design
from airbound_lab.io_study.records import Kind, Request


def request(
    phase: str, issued_us: int, completed_us: int, kind: Kind, sector: int, sectors: int, *, forced: bool = False
) -> Request:
    return Request(
        phase, issued_us, completed_us, kind, forced=forced, metadata=kind is Kind.WRITE, sector=sector,
        sectors=sectors, issuer="",
    )  # fmt: skip


WRITE = request("insert", 47_298, 47_332, Kind.WRITE, 16_840, 32)
FLUSH = request("", 47_332, 47_963, Kind.FLUSH, 0, 0)
FORCED = request("insert", 47_963, 47_990, Kind.WRITE, 16_872, 8, forced=True)


def line(request: Request, **changes: Any) -> str:
    """What `airbound-phone io --json` writes of a request."""
    flags = [name for name, has in (("fua", request.forced), ("sync", True), ("metadata", request.metadata)) if has]
    record = {
        "time_ns": request.issued_us * 1000 - 100, "event": "request", "times": 1, "seen": "whole",
        "latency_ns": (request.completed_us - request.issued_us) * 1000, "kind": request.kind.value,
        "flags": "+".join(flags), "sector": request.sector, "bytes": request.sectors * 512,
    }  # fmt: skip
    return json.dumps(record | changes)


def test_equal_requests_agree_in_any_order() -> None:
    fsync = line(WRITE, event="fsync", kind="fsync")
    found = agreement.compare([WRITE, FLUSH, FORCED], [line(FORCED), fsync, line(FLUSH), line(WRITE)])
    assert found == agreement.Agreement(3, (), ())
    found.check()


def test_what_was_before_the_first_of_io_is_not_compared() -> None:
    before = replace(WRITE, phase="")
    assert agreement.compare([before, FLUSH, FORCED], [line(FLUSH), line(FORCED)]) == agreement.Agreement(2, (), ())


def test_a_phase_is_compared_from_its_beginning() -> None:
    found = agreement.compare([WRITE, FLUSH, FORCED], [line(FLUSH), line(FORCED)])
    assert (found.both, len(found.only_text)) == (2, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"sector": 16_848}, {"bytes": 4096}, {"kind": "read"}, {"flags": "sync"}, {"flags": "sync+metadata+fua"},
        {"latency_ns": 35_000}, {"time_ns": 47_299_000},
    ],
    ids=str,
)  # fmt: skip
def test_any_difference_is_one(change: dict[str, Any]) -> None:
    earlier = request("", 40_000, 40_001, Kind.READ, 8, 8)
    found = agreement.compare([earlier, WRITE], [line(earlier), line(WRITE, **change)])
    assert (found.both, len(found.only_text), len(found.only_io)) == (1, 1, 1)
    with pytest.raises(LabError, match="1 requests of the kernel's text are not in airbound-phone io, 1 are: Seen"):
        found.check()


def test_a_request_too_many_or_too_few_is_a_difference() -> None:
    with pytest.raises(LabError, match="1 requests of airbound-phone io are not in the kernel's text"):
        agreement.compare([WRITE], [line(WRITE), line(WRITE)]).check()
    with pytest.raises(LabError, match="1 requests of the kernel's text are not in airbound-phone io"):
        agreement.compare([WRITE, FLUSH], [line(WRITE)]).check()
    with pytest.raises(LabError, match="have no request"):
        agreement.compare([], []).check()


@pytest.mark.parametrize("change", [{"event": "lost", "times": 9}, {"seen": "begin"}], ids=str)
def test_a_gap_is_no_agreement(change: dict[str, Any]) -> None:
    with pytest.raises(LabError, match="line 2 of airbound-phone io is a gap, or a part of a request"):
        agreement.compare([WRITE], [line(WRITE), line(FLUSH, **change)])


@given(st.text(max_size=100))
def test_a_line_that_is_no_record_is_named(text: str) -> None:
    with pytest.raises(LabError, match=r"line 1 of airbound-phone io is no record"):
        agreement.compare([], [text])


def test_the_power_is_not_cut_while_both_record() -> None:
    with pytest.raises(UsageError, match="no record to compare"):
        Design(cuts=3, phone_io="/build/airbound-phone")
