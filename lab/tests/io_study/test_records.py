# SPDX-License-Identifier: Apache-2.0
"""The reader of the kernel's record of requests."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbound_lab.errors import LabError
from airbound_lab.io_study import records
from airbound_lab.io_study.records import Kind, Request

HEADER = "# tracer: nop\n#\n"
LINES = """\
 storage_init.py-1       [000] .....     0.047000: block_rq_issue: 259,0 RM 1024 () 550 + 2 be,0,4 [storage_init.py]
          <idle>-0       [000] d.h..     0.047200: block_rq_complete: 259,0 RM () 550 + 2 be,0,4 [0]
 storage_init.py-1       [000] .....     0.047271: tracing_mark_write: begin insert
 storage_init.py-1       [000] .....     0.047271: block_rq_issue: 259,0 WS 4096 () 49384 + 8 be,0,4 [storage_init.py]
   jbd2/tdisk0-8-38      [000] .....     0.047298: block_rq_issue: 259,0 WSM 16384 () 16840 + 32 be,0,3 [jbd2/tdisk0-8]
          <idle>-0       [000] d.h..     0.047295: block_rq_complete: 259,0 WS () 49384 + 8 be,0,4 [0]
          <idle>-0       [000] d.h..     0.047332: block_rq_complete: 259,0 WSM () 16840 + 32 be,0,3 [0]
    kworker/0:1H-37      [000] .....     0.047332: block_rq_issue: 259,0 FF 0 () 0 + 0 none,0,0 [kworker/0:1H]
          <idle>-0       [000] d.h..     0.047963: block_rq_complete: 259,0 FF () 18446744073709551615 + 0 none,0,0 [0]
    kworker/0:1H-37      [000] .....     0.047963: block_rq_issue: 259,0 WFSM 4096 () 16872 + 8 be,0,3 [kworker/0:1H]
          <idle>-0       [000] d.h..     0.047990: block_rq_complete: 259,0 WFSM () 16872 + 8 be,0,3 [0]
          <idle>-0       [000] d.h..     0.047990: block_rq_complete: 259,0 WFSM () 16872 + 0 be,0,3 [0]
 storage_init.py-1       [000] .....     0.048000: tracing_mark_write: end insert
""".splitlines()


def test_requests_have_their_times_kinds_and_phase() -> None:
    assert list(records.requests([HEADER, *LINES])) == [
        request(47271, 47295, Kind.WRITE, 49384, 8, "storage_init.py"),
        request(47298, 47332, Kind.WRITE, 16840, 32, "jbd2/tdisk0-8", metadata=True),
        request(47332, 47963, Kind.FLUSH, 0, 0, "kworker/0:1H"),
        request(47963, 47990, Kind.WRITE, 16872, 8, "kworker/0:1H", forced=True, metadata=True),
    ]


def request(
    issued_us: int,
    completed_us: int,
    kind: Kind,
    sector: int,
    sectors: int,
    issuer: str,
    *,
    forced: bool = False,
    metadata: bool = False,
) -> Request:
    return Request("insert", issued_us, completed_us, kind, forced, metadata, sector, sectors, issuer)


def test_what_is_before_the_first_mark_counts_for_nothing() -> None:
    assert list(records.requests(LINES[:2])) == []


@pytest.mark.parametrize(
    ("letters", "kind"),
    [
        ("R", (Kind.READ, False, False)), ("RA", (Kind.READ, False, False)), ("RAM", (Kind.READ, False, True)),
        ("WS", (Kind.WRITE, False, False)), ("WFS", (Kind.WRITE, True, False)), ("WSM", (Kind.WRITE, False, True)),
        ("FWFSM", (Kind.WRITE, True, True)), ("FF", (Kind.FLUSH, False, False)), ("D", (Kind.DISCARD, False, False)),
        ("DS", (Kind.DISCARD, False, False)),
    ],
)  # fmt: skip
def test_letters_are_kinds(letters: str, kind: tuple[Kind, bool, bool]) -> None:
    assert records.kind_of(letters) == kind


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("block_rq_issue", "no event"),
        (LINES[0].replace("block_rq_issue", "block_plug"), "block_plug, which nobody asked for"),
        (LINES[0].replace("550 + 2", "550 plus 2"), "of another form"),
        (LINES[1].replace("[0]", "[-5]"), "failed with error -5"),
        (LINES[2].replace("begin", "middle of"), "unknown mark"),
    ],
)
def test_a_line_of_another_kernel_is_an_error_that_names_it(line: str, why: str) -> None:
    with pytest.raises(LabError, match=f"line 3.*{why}" if "block_plug" not in why else why):
        list(records.requests(["#", "#", line]))


def test_letters_of_another_kernel_are_an_error() -> None:
    with pytest.raises(LabError, match="'X'"):
        records.kind_of("X")


@given(st.text(max_size=200))
def test_no_line_is_read_as_something_else(line: str) -> None:
    found: list[Request] = []
    with contextlib.suppress(LabError):
        found = list(records.requests([line]))
    assert found == []
